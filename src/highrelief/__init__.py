"""highrelief: which features matter, when they act only together.

The family of local-margin feature weighters for scikit-learn: selectors with one weight per feature in
``feature_weights_`` and a ranking in ``ranking_``, and a classifier to put behind them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .catalog import ESTIMATORS as _ESTIMATORS

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import plots as plots
    from . import stability as stability
    from .inspection.interactions import interactions as interactions
    from .inspection.report.report import comparison_report as comparison_report
    from .inspection.report.report import report as report
    from .methods.dann import DANN as DANN
    from .methods.fisher import FisherScore as FisherScore
    from .methods.frel import FREL as FREL
    from .methods.gflip import GFlip as GFlip
    from .methods.high_relief import HighRelief as HighRelief
    from .methods.high_relief import HighReliefRegressor as HighReliefRegressor
    from .methods.hknn import HKNNClassifier as HKNNClassifier
    from .methods.im4e import IM4E as IM4E
    from .methods.irelief import IRelief as IRelief
    from .methods.lfe import LFE as LFE
    from .methods.lhr import LHRelief as LHRelief
    from .methods.lmba import Lmba as Lmba
    from .methods.logo import LOGO as LOGO
    from .methods.online import OnlineIRelief as OnlineIRelief
    from .methods.pair_scan import PairScan as PairScan
    from .methods.relief import Relief as Relief
    from .methods.relief import ReliefF as ReliefF
    from .methods.rrelieff import RReliefF as RReliefF
    from .methods.simba import Simba as Simba
    from .methods.surf import SURF as SURF
    from .methods.surf import MultiSURF as MultiSURF
    from .methods.surf import MultiSURFStar as MultiSURFStar
    from .methods.surf import SURFStar as SURFStar
    from .saving import load as load
    from .saving import save as save
    from .selection.cross_validation import CrossValidatedSelector as CrossValidatedSelector
    from .selection.elimination import IterativeElimination as IterativeElimination
    from .selection.ensemble import EnsembleWeighting as EnsembleWeighting
    from .selection.error_control import ErrorControlledSelector as ErrorControlledSelector
    from .selection.kernel_width import KernelWidthCV as KernelWidthCV
    from .selection.redundancy import RedundancyFilter as RedundancyFilter
    from .selection.variance_reduction import VarianceReduction as VarianceReduction

__version__ = "0.1.0"

# Numba and scikit-learn are imported when the first of these is asked for (PEP 562).
_HOMES = {name: each.module for name, each in _ESTIMATORS.items()}
if not TYPE_CHECKING:  # mypy takes a list that is computed for an empty one
    __all__ = list(_HOMES)
_FUNCTIONS = {
    "comparison_report": "inspection.report.report",
    "interactions": "inspection.interactions",
    "load": "saving",
    "report": "inspection.report.report",
    "save": "saving",
}
_MODULES = ("datasets", "plots", "stability")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    home = _HOMES.get(name) or _FUNCTIONS.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    private = {"Any", "TYPE_CHECKING", "catalog", "import_module"}
    return sorted({*globals(), *_HOMES, *_FUNCTIONS, *_MODULES} - private)
