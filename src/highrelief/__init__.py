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
    from .cv_selector import CrossValidatedSelector
    from .dann import DANN
    from .elimination import IterativeElimination
    from .ensemble import EnsembleWeighting
    from .error_control import ErrorControlledSelector
    from .fisher import FisherScore
    from .frel import FREL
    from .gflip import GFlip
    from .hknn import HKNNClassifier
    from .im4e import IM4E
    from .im4e_cv import IM4ECV
    from .interaction_table import interactions as interactions
    from .irelief import IRelief
    from .irelief_cv import IReliefCV
    from .irelief_online import OnlineIRelief
    from .lfe import LFE
    from .lhr import LHRelief
    from .lmba import Lmba
    from .logo import LOGO
    from .logo_cv import LOGOCV
    from .redundancy import RedundancyFilter
    from .relief import Relief, ReliefF
    from .reports.comparison_report import comparison_report as comparison_report
    from .reports.report import report as report
    from .rrelieff import RReliefF
    from .saving import load as load
    from .saving import save as save
    from .simba import Simba
    from .surf import SURF, MultiSURF, MultiSURFStar, SURFStar
    from .variance_reduction import VarianceReduction

__version__ = "0.1.0"

__all__ = [
    "DANN",
    "FREL",
    "IM4E",
    "IM4ECV",
    "LFE",
    "LOGO",
    "LOGOCV",
    "SURF",
    "CrossValidatedSelector",
    "EnsembleWeighting",
    "ErrorControlledSelector",
    "FisherScore",
    "GFlip",
    "HKNNClassifier",
    "IRelief",
    "IReliefCV",
    "IterativeElimination",
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
    "DANN": "dann",
    "FREL": "frel",
    "LFE": "lfe",
    "LOGO": "logo",
    "LOGOCV": "logo_cv",
    "CrossValidatedSelector": "cv_selector",
    "EnsembleWeighting": "ensemble",
    "ErrorControlledSelector": "error_control",
    "FisherScore": "fisher",
    "HKNNClassifier": "hknn",
    "GFlip": "gflip",
    "IM4E": "im4e",
    "IM4ECV": "im4e_cv",
    "IRelief": "irelief",
    "IReliefCV": "irelief_cv",
    "IterativeElimination": "elimination",
    "LHRelief": "lhr",
    "Lmba": "lmba",
    "MultiSURF": "surf",
    "MultiSURFStar": "surf",
    "OnlineIRelief": "irelief_online",
    "RReliefF": "rrelieff",
    "RedundancyFilter": "redundancy",
    "Relief": "relief",
    "ReliefF": "relief",
    "SURF": "surf",
    "SURFStar": "surf",
    "Simba": "simba",
    "VarianceReduction": "variance_reduction",
}
_FUNCTIONS = {
    "comparison_report": "reports.comparison_report",
    "interactions": "interaction_table",
    "load": "saving",
    "report": "reports.report",
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
