"""Sun (2007), section 7: I-RELIEF against RELIEF-F and Simba.

**UCI sets** (7.2). Each of nine sets is cut 20 times at random into training and test samples, and gets 50
irrelevant features N(0, 1); of the training samples none or a tenth get a wrong label. Features are scaled
to [0, 1]. The number K of neighbours of the classifier is chosen by stratified 10-fold cross-validation on
the training samples, with all features, and kept. By the same folds, the kernel width of I-RELIEF and
RELIEF-F's number of neighbours are those with the least error of k-NN in the weighted space; and then the
number of features is that with the least error of k-NN. Simba has 5 starts of 5 passes. Judged are the test
error (Table 2, Fig. 5) and how well the weights find the original features (Figs. 6 to 9).

**Kernel width** (7.3). Weights and convergence for several widths and starts (Figs. 10, 11).

**Online learning** (7.4). How fast online I-RELIEF comes to the weights of I-RELIEF (Figs. 12, 13).

**Microarrays** (7.5). RELIEF-F, and I-RELIEF with both margins for several classes, by leave-one-out
(Fig. 14).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from .errors import Figure5, Table2
from .microarrays import Figure14
from .online import Figure12, Figure13
from .relevance import Figure6, Figure7, Figure8, Figure9
from .width import Figure10, Figure11

EXPERIMENTS: tuple[Experiment, ...] = (
    Table2(),
    Figure5(),
    Figure6(),
    Figure7(),
    Figure8(),
    Figure9(),
    Figure10(),
    Figure11(),
    Figure12(),
    Figure13(),
    Figure14(),
)
NOT_RUN: Mapping[str, str] = {
    "irelief-table1": "it lists the sizes of the sets (with the rows of Prostate-tumors and SRBCT swapped).",
    "irelief-fig1": "it is the pseudocode of RELIEF.",
    "irelief-fig2": "it is the pseudocode of I-RELIEF.",
    "irelief-fig3": "it is the pseudocode of online I-RELIEF.",
    "irelief-fig4": "it is a drawing of the two operators in the proof of Theorem 4.",
}
