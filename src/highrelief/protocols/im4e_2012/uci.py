"""Table 5: eleven UCI sets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..beside import Results
from ..experiment import Cell, Outcome
from ..sets import DataSet
from .folds import ByFolds, Fold
from .learners import MARGIN_LEARNERS, Array, Choice, chosen
from .rivals import KERNELS, RIVALS

METHODS = ("ADT", "BN", "IB1", "IB3", "NBC", "RBF", "SMO", "SIM", "GFP", "RLF", "RFF", "LOGO", "I-M4E")
WINE = (70.22, 66.29, 76.30, 70.26, 66.28, 66.58, 69.85, 76.99, 76.55, 77.10, 77.77, 53.99, 78.44)
#: Table 5: accuracies in per cent, means of 100 folds.
_ROWS = {
    "vertebral_column_2c": (
        (82.43, 76.60, 80.85, 77.78, 77.79, 80.31, 78.99, 81.08, 82.02, 84.50, 79.64, 83.65, 82.93)
    ),
    "ecoli": (98.82, 98.67, 97.22, 98.45, 97.70, 98.32, 97.82, 97.57, 97.39, 97.21, 97.82, 98.91, 98.40),
    "glass": (92.52, 92.18, 94.57, 94.86, 90.59, 92.94, 92.63, 94.46, 93.87, 93.95, 93.41, 93.98, 94.39),
    "haberman": (72.91, 71.72, 65.65, 70.13, 74.59, 73.93, 73.11, 64.67, 65.81, 63.99, 69.03, 68.74, 72.32),
    "hayes_roth": (75.35, 38.52, 75.14, 64.42, 67.39, 59.69, 60.52, 79.31, 52.51, 60.84, 76.24, 77.10, 79.59),
    "heart_statlog": (
        (79.94, 82.76, 75.52, 78.91, 83.97, 82.99, 81.24, 75.33, 71.93, 74.72, 81.46, 79.22, 83.28)
    ),
    "ionosphere": (90.23, 89.52, 86.75, 85.70, 82.52, 91.45, 90.74, 89.33, 88.34, 88.62, 90.80, 91.82, 92.09),
    "lymphography": (
        (82.70, 81.49, 75.65, 81.19, 84.09, 83.37, 84.54, 77.60, 65.69, 79.81, 85.75, 85.26, 84.94)
    ),
    "parkinsons": (88.11, 79.59, 95.88, 93.44, 69.92, 80.99, 89.16, 95.69, 94.32, 93.74, 92.79, 94.27, 94.18),
    "wine_quality_white": WINE,
    "wine_quality_red": WINE,
    "wpbc": (75.39, 75.79, 71.18, 74.43, 67.18, 76.15, 77.84, 69.63, 64.43, 67.30, 76.02, 74.96, 76.25),
}
TABLE_5 = {name: dict(zip(METHODS, row, strict=True)) for name, row in _ROWS.items()}
#: Its last row: wins/ties/losses against I-M4E on the eleven sets.
_STANDINGS = "1/1/9 0/2/9 1/1/9 0/2/9 2/0/9 1/3/7 2/1/8 1/2/8 0/1/10 1/2/8 1/1/9 2/4/5"
STANDINGS_5 = dict(zip(METHODS[:-1], _STANDINGS.split(), strict=True))
#: What the paper calls the sets.
SHORT = {
    "vertebral_column_2c": "VC",
    "ecoli": "EC",
    "glass": "GI",
    "haberman": "HS",
    "hayes_roth": "HR",
    "heart_statlog": "SH",
    "ionosphere": "IONO",
    "lymphography": "LYM",
    "parkinsons": "PARK",
    "wine_quality_white": "WQ, white",
    "wine_quality_red": "WQ, red",
    "wpbc": "WPBC",
}
#: Seconds of a fold, measured on one core.
_SECONDS = {"wine_quality_red": 60.0, "wine_quality_white": 460.0}


def two_classes(data: DataSet) -> tuple[Array, Array]:
    """Samples of the two largest classes, but for what the published numbers of 1-NN and 3-NN rule out.

    Of glass they are those of window against other glass. Of Hayes-Roth UCI's training file is taken.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    if data.name == "glass" and y.max() > 1:
        return X, (y > 2).astype(np.int64)
    if data.name == "hayes_roth":
        X, y = X[:132], y[:132]
    largest = np.sort(np.argsort(-np.bincount(y), kind="stable")[:2])
    here = np.isin(y, largest)
    return X[here], (y[here] == largest[1]).astype(np.int64)


class Table5(ByFolds):
    """Table 5."""

    name = "im4e-table5"
    title = "Accuracy on UCI sets, 10 x 10-fold cross-validation"
    datasets = tuple(TABLE_5)
    columns = (*METHODS[:-1], "LOGO, eq. 10", "I-M4E", "CART", *KERNELS)
    published = TABLE_5
    published_standings = STANDINGS_5
    labels = SHORT
    reasons = (
        "The folds of a few cuts of a set share most of their samples: standard errors over folds are only"
        " about right, and the methods of a set tend to be off together.",
        "GI, HR and WQ are guesses from the published accuracies of 1-NN and 3-NN: the two largest classes of"
        " the glass set do not give them, nor do any samples of Hayes-Roth; of the wines the white fit"
        " better than the red, which are at hand.",
        "SMO is the best of five kernels on the set, judged by the test folds as in the paper; ours are"
        " scikit-learn's machines with Weka's defaults, and Weka may have treated features as nominal.",
        "Naive Bayes is scikit-learn's. Weka's rounds values to their mean step, and takes no deviation for"
        " less than a sixth of it. Tried on IONO, where a feature is constant in one class, that gives 82.2,"
        " scikit-learn's 89.2.",
        "RELIEF, Simba and G-flip are used as factors of a Euclidean distance; the paper does not say how"
        " RELIEF's weights entered its 1-NN.",
        "LOGO has its own paper's penalty of 1, and stops after 5 steps; the paper says neither. Its 53.99 on"
        " the wines is hardly more than the share of the larger class of the red ones (51.6), and less than"
        " that of the white ones (60.1).",
    )

    def seconds(self, cell: Cell) -> float:
        return _SECONDS.get(cell.dataset, 5.0)

    def run(self, cell: Cell, data: DataSet) -> Outcome:
        X, y = two_classes(data)
        fold = Fold(X, y, cell.repeat)
        choices: dict[str, Choice] = {}
        for learner in (*MARGIN_LEARNERS.values(), *RIVALS.values()):
            choices |= chosen(learner, fold.known, fold.y, fold.new)
        return fold.outcome(choices)

    def results(self, outcomes: Mapping[Cell, Outcome]) -> list[Results]:
        found = self.accuracies(outcomes)
        for ours in found.values():
            # As the paper does: the kernel that does best on the set.
            ours["SMO"] = max((ours[name] for name in KERNELS), key=lambda each: float(np.mean(each)))
        return [self.table("Table 5", found)]
