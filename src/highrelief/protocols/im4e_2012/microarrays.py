"""Tables 3 and 4: five gene expression sets, features chosen in the training folds, and on all samples.

The paper chooses features by internal cross-validation. What it reports for the breast cancers is so far
above what comes of that here that features may have been chosen on all samples: this is shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..beside import Results
from ..experiment import Cell, Outcome
from ..sets import DataSet
from .chi_square import best_features
from .folds import ByFolds, Fold, standardised
from .halving import Halving
from .learners import MARGIN_LEARNERS, Choice, best_settings, chosen
from .rivals import RIVALS
from .uci import two_classes

#: What the paper calls the sets. The 4,948 genes are those of van 't Veer's 24,481 that Michiels (2005) kept.
SHORT = {
    "breast_vantveer": "Breast",
    "breast_vantveer_4948": "Breast, 4,948 genes",
    "colon_alon": "Colon",
    "gli_85": "GLI",
    "myeloma_tian": "Myeloma",
    "prostate_singh": "Prostate",
}
METHODS_3 = (
    "LOGO", "RFF", "SIM", "RLF", "ADT", "GFP", "SVM1", "SVM2", "SVM3", "SVMP", "SVMR", "I-M4E"
)  # fmt: skip
METHODS_4 = ("BN", "NBC", "IB1", "IB3", "RBF", "I-M4E")
_BREAST_3 = (87.21, 94.92, 92.37, 91.46, 86.88, 92.71, 92.33, 90.25, 90.87, 86.88, 92.08, 94.08)
_ROWS_3 = {
    "breast_vantveer": _BREAST_3,
    "breast_vantveer_4948": _BREAST_3,
    "colon_alon": (81.83, 83.21, 80.17, 80.50, 76.04, 79.67, 82.00, 80.33, 77.00, 69.58, 81.37, 85.50),
    "gli_85": (84.89, 87.72, 85.61, 84.78, 83.69, 87.97, 90.53, 90.64, 90.75, 76.06, 89.44, 89.75),
    "myeloma_tian": (93.92, 97.79, 94.94, 96.25, 76.52, 97.68, 79.00, 79.23, 79.17, 79.17, 79.17, 98.77),
    "prostate_singh": (89.83, 88.16, 85.84, 86.59, 86.97, 87.39, 91.51, 92.16, 92.30, 83.01, 69.86, 88.13),
}
_BREAST_4 = (85.38, 77.88, 86.96, 86.13, 85.21, 92.04)
_ROWS_4 = {
    "breast_vantveer": _BREAST_4,
    "breast_vantveer_4948": _BREAST_4,
    "colon_alon": (78.25, 62.63, 71.54, 77.88, 72.63, 82.71),
    "gli_85": (84.86, 82.42, 89.75, 89.08, 84.61, 90.81),
    "myeloma_tian": (74.09, 60.30, 90.03, 92.97, 70.65, 97.38),
    "prostate_singh": (65.53, 56.20, 84.11, 87.86, 55.71, 92.26),
}
#: Accuracies in per cent, means of 100 folds.
TABLE_3 = {name: dict(zip(METHODS_3, row, strict=True)) for name, row in _ROWS_3.items()}
TABLE_4 = {name: dict(zip(METHODS_4, row, strict=True)) for name, row in _ROWS_4.items()}
#: Their last rows: wins/ties/losses against I-M4E on the five sets.
_STANDINGS_3 = "1/0/4 1/1/3 0/0/5 0/0/5 0/0/5 0/0/5 2/0/3 2/0/3 2/0/3 0/0/5 0/1/4"
STANDINGS_3 = dict(zip(METHODS_3[:-1], _STANDINGS_3.split(), strict=True))
STANDINGS_4 = dict.fromkeys(METHODS_4[:-1], "0/0/5")

#: What chi-square keeps.
N_CHI_SQUARE = 2000
#: Where features were chosen.
IN_FOLDS, ON_ALL = "chosen in the training folds", "chosen on all samples, those of the test too"
#: The paper's rule for LOGO alone: what eq. (10) makes of its weights is in Table 5.
HALVED = (
    *(replace(each, rules=each.rules[:1]) for each in MARGIN_LEARNERS.values()),
    RIVALS["SVM"],
    RIVALS["CART"],
)


class _OnGenes(ByFolds):
    """What both tables share: features chosen in the training folds, and beside it on all samples."""

    datasets = tuple(SHORT)
    labels = SHORT
    reasons = (
        "Breast: the set at hand has 4,948 of the 24,481 genes, and every method is far below the paper's."
        " Where features are ranked on all samples (Table 3) the machines come up to it: the paper's may have"
        " been chosen so, from more genes.",
        "The paper does not say how genes were scaled; ours are standardised by the training folds, missing"
        " values being the mean. Weka's own classifiers scale to [0, 1], and so do those beside them here.",
        "Prostate: 34 of the 136 arrays are about nine times brighter; nothing is done about it, nor does the"
        " paper say that anything was.",
        "Naive Bayes is scikit-learn's; Weka's bounds the deviations from below by the steps between values,"
        " which may matter with thousands of features.",
        "LOGO and I-M4E stop after 5 and 20 steps where they do not settle, and their width is chosen by five"
        " internal folds with all features; the paper gives neither.",
    )
    #: As the paper numbers it.
    number: str

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        return [
            self.table(f"{self.number}, features {part}", self.accuracies(outcomes, part))
            for part in (IN_FOLDS, ON_ALL)
        ]


class Table3(_OnGenes):
    """Table 3."""

    name = "im4e-table3"
    number = "Table 3"
    title = "Accuracy on gene expression sets, features halved, 10 x 10-fold cross-validation"
    columns = (*METHODS_3, "CART")
    published = TABLE_3
    published_standings = STANDINGS_3
    #: Since 2 RELIEF's features rank by weights below 0, too.
    version = 2

    def seconds(self, cell: Cell) -> float:
        return {"colon_alon": 20.0, "breast_vantveer_4948": 40.0}.get(cell.dataset, 120.0)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        X, y = two_classes(data)
        fold = Fold(X, y, cell.repeat).in_single_precision()
        everything = standardised(X, X)[0].astype(np.float32), y
        choices: dict[str, dict[str, Choice]] = {IN_FOLDS: {}, ON_ALL: {}}
        for learner in HALVED:
            for setting, rules in best_settings(learner, fold.known, fold.y).items():
                for part, samples in ((IN_FOLDS, None), (ON_ALL, everything)):
                    halving = Halving(learner, setting, ranked_by=samples)
                    choices[part] |= halving.choices(fold.known, fold.y, fold.new, rules)
        return {part: fold.outcome(each) for part, each in choices.items()}


class Table4(_OnGenes):
    """Table 4."""

    name = "im4e-table4"
    number = "Table 4"
    title = (
        "Accuracy on gene expression sets with 2,000 features by chi-square, 10 x 10-fold cross-validation"
    )
    columns = METHODS_4
    published = TABLE_4
    published_standings = STANDINGS_4

    def seconds(self, cell: Cell) -> float:
        return {"colon_alon": 3.0, "breast_vantveer_4948": 4.0}.get(cell.dataset, 8.0)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        X, y = two_classes(data)
        fold = Fold(X, y, cell.repeat).in_single_precision()
        kept = {
            IN_FOLDS: best_features(fold.known, fold.y, N_CHI_SQUARE),
            ON_ALL: best_features(standardised(X, X)[0], y, N_CHI_SQUARE),
        }
        found = {}
        for part, features in kept.items():
            choices: dict[str, Choice] = {}
            for learner in (MARGIN_LEARNERS["I-M4E"], RIVALS["IB"]):
                choices |= chosen(learner, fold.known[:, features], fold.y, fold.new[:, features])
            found[part] = fold.outcome(choices)
        return found
