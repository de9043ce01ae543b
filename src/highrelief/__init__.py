"""highrelief: which features matter, when they act only together.

The family of local-margin feature weighters for scikit-learn: selectors with one weight per feature in
``feature_weights_`` and a ranking in ``ranking_``, and a classifier to put behind them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import plots as plots
    from . import stability as stability
    from .inspection.interactions import interactions as interactions
    from .inspection.report.report import comparison_report as comparison_report
    from .inspection.report.report import report as report
    from .methods.dann import DANN
    from .methods.fisher import FisherScore
    from .methods.frel import FREL
    from .methods.gflip import GFlip
    from .methods.hknn import HKNNClassifier
    from .methods.im4e import IM4E
    from .methods.irelief import IRelief
    from .methods.lfe import LFE
    from .methods.lhr import LHRelief
    from .methods.lmba import Lmba
    from .methods.logo import LOGO
    from .methods.online import OnlineIRelief
    from .methods.relief import Relief, ReliefF
    from .methods.rrelieff import RReliefF
    from .methods.simba import Simba
    from .methods.surf import SURF, MultiSURF, MultiSURFStar, SURFStar
    from .saving import load as load
    from .saving import save as save
    from .selection.cross_validation import CrossValidatedSelector
    from .selection.elimination import IterativeElimination
    from .selection.ensemble import EnsembleWeighting
    from .selection.error_control import ErrorControlledSelector
    from .selection.kernel_width import KernelWidthCV
    from .selection.redundancy import RedundancyFilter
    from .selection.variance_reduction import VarianceReduction


__version__ = "0.1.0"

__all__ = [
    "DANN",
    "FREL",
    "IM4E",
    "LFE",
    "LOGO",
    "SURF",
    "CrossValidatedSelector",
    "EnsembleWeighting",
    "ErrorControlledSelector",
    "FisherScore",
    "GFlip",
    "HKNNClassifier",
    "IRelief",
    "IterativeElimination",
    "KernelWidthCV",
    "LHRelief",
    "Lmba",
    "MultiSURF",
    "MultiSURFStar",
    "OnlineIRelief",
    "RReliefF",
    "RedundancyFilter",
    "Relief",
    "ReliefF",
    "SURFStar",
    "Simba",
    "VarianceReduction",
]

# Numba and scikit-learn are imported when the first of these is asked for (PEP 562).
_HOMES = {
    "DANN": "methods.dann",
    "FREL": "methods.frel",
    "LFE": "methods.lfe",
    "LOGO": "methods.logo",
    "CrossValidatedSelector": "selection.cross_validation",
    "EnsembleWeighting": "selection.ensemble",
    "ErrorControlledSelector": "selection.error_control",
    "FisherScore": "methods.fisher",
    "HKNNClassifier": "methods.hknn",
    "GFlip": "methods.gflip",
    "IM4E": "methods.im4e",
    "IRelief": "methods.irelief",
    "IterativeElimination": "selection.elimination",
    "KernelWidthCV": "selection.kernel_width",
    "LHRelief": "methods.lhr",
    "Lmba": "methods.lmba",
    "MultiSURF": "methods.surf",
    "MultiSURFStar": "methods.surf",
    "OnlineIRelief": "methods.online",
    "RReliefF": "methods.rrelieff",
    "RedundancyFilter": "selection.redundancy",
    "Relief": "methods.relief",
    "ReliefF": "methods.relief",
    "SURF": "methods.surf",
    "SURFStar": "methods.surf",
    "Simba": "methods.simba",
    "VarianceReduction": "selection.variance_reduction",
}
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
    return sorted({*globals(), *__all__, *_FUNCTIONS, *_MODULES} - {"Any", "TYPE_CHECKING", "import_module"})
