"""Li, Si, Zhou, Huang and Chen (2015), section IV: how stable rankings of genes are, and how accurate.

Four sets of microarrays: few samples, thousands of genes. FREL comes in three forms, by Algorithm 1: log loss
with L2 (λ = 1), log loss with L1 (λ = 0.01) and square loss with L2 (λ = 0.1). Beside them stand Relief,
ReliefF with 10 neighbours, the Fisher score and Lmba. What is to be stable is put into ensembles
(Algorithm 2, m = 20 members on 0.9 of the samples), Lmba into variance reduction.

*Stability*: c = 10 subsets of 0.9 of the samples are drawn without replacement; each gives a ranking (of an
ensemble the mean of its members' ranks); all pairs are compared by eq. (22). The paper feeds averaged ranks
into a formula for ranks; we show that, and what comes out when they are ranked again first.
*Accuracy*: 10-fold cross-validation; features are ranked on the training folds, and the best 50 are judged by
1-NN, 3-NN, a linear and a polynomial SVM. *Trade-off*: the harmonic mean of the two.

The paper's sets are used as they are: features are scaled to [0, 1] by the training samples, of the 136
prostate samples 34 come from a brighter series, and the samples are visited in the order of the file.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from .accuracy import Figure3, Figure4
from .stability import Figure1, Figure2
from .trade_off import Figure5

EXPERIMENTS: tuple[Experiment, ...] = (Figure1(), Figure2(), Figure3(), Figure4(), Figure5())
#: All that is published are Figures 1 to 5.
NOT_RUN: Mapping[str, str] = {}
