"""Bei and Hong (2015), section 5: I-M4E against methods of local margins, and against classifiers of Weka.

First, an illustration (``illustration``): a margin can be large and yet hang on one sample, and entropies
see it. Then accuracies by ten times 10-fold cross-validation, a fold being a repeat (``folds``): on gene
expression sets, where every method drops the lower half of its features again and again (``halving``,
Table 3), or chi-square keeps 2,000 of them (``chi_square``, Table 4), both in ``microarrays``; and on two
classes of UCI sets (``uci``, Table 5). Features are standardised by the training samples.

I-M4E classifies by eq. (10); σ is the best of 1, ½, ¼, … in internal cross-validation. RELIEF, Simba and
G-flip go with 1-NN and Euclidean distances, RELIEF-F with k-NN and LOGO with 3-NN and Manhattan distances,
all weighted (``learners``). Of Weka's classifiers those that scikit-learn has are run with Weka's defaults
(``rivals``); alternating trees (ADT), Bayesian networks (BN) and RBF networks are quoted. A method wins
against another if a paired t-test has p < 0.01 and the mean is higher by at least 0.5 %.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from .illustration import Illustration
from .microarrays import Table3, Table4
from .uci import Table5

EXPERIMENTS: tuple[Experiment, ...] = (Illustration(), Table3(), Table4(), Table5())
#: Nothing: ``im4e-fig1`` has both figures and Tables 1 and 2.
NOT_RUN: Mapping[str, str] = {}
