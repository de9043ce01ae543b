"""The methods that are compared, and how each is tuned on the training samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ...irelief import IRelief
from ...relief import ReliefF
from ...simba import Simba
from ..judges import error
from .samples import Samples

#: Kernel widths to choose from; of equally good ones the largest, which converges best.
WIDTHS = (5.0, 2.0, 1.0, 0.5, 0.3, 0.2, 0.1)
#: RELIEF-F's numbers of nearest hits and misses to choose from.
NEAREST = (1, 3, 5, 10, 15, 20)

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """A way to weigh features, with the values of its parameter that there are to choose from."""

    name: str
    values: tuple[float, ...]
    weigh: Callable[[Samples, float], Weights]


def irelief(samples: Samples, sigma: float, *, margin: str = "nearest") -> Weights:
    """I-RELIEF's weights; where the iteration does not settle, those of its last step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = IRelief(sigma=sigma, margin=margin, scale=None, n_jobs=1).fit(*samples)
    return np.asarray(model.feature_weights_)


def irelief_1(samples: Samples, sigma: float) -> Weights:
    """The same with the margin of RELIEF-F, eq. (20)."""
    return irelief(samples, sigma, margin="prior")


def relieff(samples: Samples, nearest: float) -> Weights:
    """RELIEF-F's weights, which may be negative."""
    return np.asarray(ReliefF(n_neighbors=int(nearest), scale=None, n_jobs=1).fit(*samples).feature_weights_)


def simba(samples: Samples, n_starts: float) -> Weights:
    """Simba's weights, of several starts with five passes each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Simba(n_restarts=int(n_starts), n_epochs=5, scale=None, n_jobs=1, random_state=0)
        return np.asarray(model.fit(*samples).feature_weights_)


IRELIEF = Method("I-RELIEF", WIDTHS, irelief)
IRELIEF_1 = Method("I-RELIEF-1", WIDTHS, irelief_1)
RELIEF = Method("RELIEF", NEAREST, relieff)
SIMBA = Method("Simba", (5,), simba)


def compared(n_classes: int) -> tuple[Method, ...]:
    """Those that the paper compares: for more than two classes both margins, and not Simba."""
    return (IRELIEF, RELIEF, SIMBA) if n_classes == 2 else (IRELIEF, RELIEF, IRELIEF_1)


def weighted_error(w: Weights, learn: Samples, judge: Samples, k: int) -> float:
    """Error of k-NN in the weighted space, d² = Σ w (x − x')²; what has no positive weight is left out."""
    factors = np.sqrt(np.maximum(w, 0.0))
    return error(learn[0] * factors, learn[1], judge[0] * factors, judge[1], k)
