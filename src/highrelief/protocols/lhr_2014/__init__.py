"""Cai, Ruan, Ng and Akutsu (2014), "Results and discussion": LHR against I-RELIEF, LOGO and gene rankings.

First on Fermat's spiral, whose two features are hidden among up to 10,000 irrelevant ones (``spiral``), then
on nine gene sets by leave-one-out (``genes``). What is selected is judged by five classifiers
(``classifiers``): SVM, LDA, naive Bayes, k-NN and HKNN; what they have to choose is chosen by five folds of
the training samples. LHR has k = 7 and λ = 10⁻³ throughout. Rankings by one gene are in ``single_genes``,
mRMR is in ``mrmr``, and what the paper printed in ``published``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from . import genes, spiral

EXPERIMENTS: tuple[Experiment, ...] = (
    spiral.Figure1(),
    spiral.Table1(),
    spiral.Table2(),
    genes.Table4(),
    genes.Table5(),
    genes.Figure2(),
)
NOT_RUN: Mapping[str, str] = {
    "lhr-table3": "it lists the gene sets with their numbers of genes and samples; nothing is measured.",
}
