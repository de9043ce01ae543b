"""What Sun (2007) reports in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: Mean and standard deviation over 20 runs, in per cent.
Reported = tuple[float, float]


class Row(NamedTuple):
    """A row of Table 2: errors with some of the training samples mislabelled."""

    noisy: Reported
    irelief: Reported
    relief: Reported
    #: Of the paired t-test between the last two.
    p: float


#: Table 1: training samples of the UCI sets, by the names of their files.
N_TRAIN = {
    "ringnorm": 400,
    "twonorm": 400,
    "waveform": 400,
    "heart": 170,
    "thyroid": 140,
    "diabetis": 468,
    "flare_solar": 666,
    "segmentation": 210,
    "yeast": 500,
}

#: Table 2, first column: k-NN without irrelevant features and wrong labels.
CLEAN: Mapping[str, Reported] = {
    "ringnorm": (39.2, 1.3),
    "twonorm": (3.1, 0.2),
    "waveform": (12.6, 0.7),
    "heart": (17.9, 3.1),
    "thyroid": (4.4, 2.4),
    "diabetis": (28.9, 1.5),
    "flare_solar": (34.8, 2.4),
    "segmentation": (12.5, 1.4),
    "yeast": (43.8, 0.9),
}

#: Table 2, the other columns.
TABLE_2: Mapping[tuple[str, str], Row] = {
    ("ringnorm", "0 %"): Row((45.1, 1.2), (22.0, 1.2), (21.7, 1.1), 0.47),
    ("ringnorm", "10 %"): Row((44.2, 1.1), (28.1, 1.5), (34.0, 4.5), 0.00),
    ("twonorm", "0 %"): Row((4.8, 0.6), (3.1, 0.7), (3.2, 0.5), 0.96),
    ("twonorm", "10 %"): Row((6.4, 0.7), (3.7, 0.7), (6.2, 1.3), 0.00),
    ("waveform", "0 %"): Row((14.2, 1.7), (10.5, 1.1), (11.2, 1.1), 0.03),
    ("waveform", "10 %"): Row((14.7, 1.6), (11.2, 1.2), (12.2, 1.3), 0.00),
    ("heart", "0 %"): Row((19.2, 2.9), (18.8, 3.4), (19.6, 3.2), 0.45),
    ("heart", "10 %"): Row((19.8, 3.9), (19.5, 3.9), (20.9, 3.6), 0.26),
    ("thyroid", "0 %"): Row((24.1, 3.8), (5.8, 3.2), (8.7, 4.3), 0.02),
    ("thyroid", "10 %"): Row((26.0, 4.1), (9.8, 3.8), (11.3, 3.6), 0.20),
    ("diabetis", "0 %"): Row((31.6, 2.6), (27.1, 1.7), (27.0, 2.1), 0.80),
    ("diabetis", "10 %"): Row((31.7, 2.5), (27.2, 2.2), (27.3, 1.8), 0.77),
    ("flare_solar", "0 %"): Row((34.5, 2.6), (34.5, 3.3), (37.1, 3.8), 0.03),
    ("flare_solar", "10 %"): Row((36.1, 1.7), (35.1, 2.1), (38.7, 3.7), 0.00),
    ("segmentation", "0 %"): Row((27.9, 1.7), (17.0, 1.4), (17.7, 1.7), 0.17),
    ("segmentation", "10 %"): Row((29.2, 1.8), (17.3, 1.4), (17.4, 1.2), 0.92),
    ("yeast", "0 %"): Row((65.8, 1.5), (45.0, 1.8), (47.8, 1.4), 0.00),
    ("yeast", "10 %"): Row((66.2, 1.4), (45.5, 1.7), (49.0, 1.9), 0.00),
}
#: At and below this p-value the paper calls a difference one.
SIGNIFICANT = 0.03
#: Wins, ties and losses of I-RELIEF against RELIEF-F at that level.
WINS_TIES_LOSSES = (9, 9, 0)
