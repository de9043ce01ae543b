"""Sun and Wu (2008), section 5: LFE against RELIEF-F, DANN, NCA and PCA, by nearest neighbours.

Each set is cut 20 times into training and test samples, and gets ten irrelevant features N(0, 1). Features
are scaled to [0, 1]. The number K of neighbours of the classifier is chosen by 10-fold cross-validation on
the training samples, with all features, and kept. What else a method has to choose (RELIEF-F's and LFE's
number of neighbours M, the number of components of LFE and DANN) is chosen by the same folds. For NCA the
paper takes the number of components with the least mean test error; so do we, for NCA alone.

Images (section 5.2) get no irrelevant features; they are also judged by an SVM with RBF kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from . import images, uci

EXPERIMENTS: tuple[Experiment, ...] = (
    images.Figure1(),
    uci.Table2(),
    uci.Figure2(),
    uci.Figure3(),
    images.Figure4(),
    uci.Table3(),
)
NOT_RUN: Mapping[str, str] = {"lfe-table1": "it lists the sizes of the sets."}
