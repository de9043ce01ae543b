"""highrelief: which features matter, when they act only together.

The family of local-margin feature weighters for scikit-learn: every class here is a selector with one
weight per feature in ``feature_weights_`` and a ranking in ``ranking_``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import stability as stability
    from .ensemble import EnsembleWeighting
    from .fisher import FisherScore
    from .frel import FREL
    from .im4e import IM4E
    from .irelief import IRelief
    from .irelief_online import OnlineIRelief
    from .lhr import LHRelief
    from .lmba import Lmba
    from .logo import LOGO
    from .relief import Relief, ReliefF
    from .variance_reduction import VarianceReduction

__version__ = "0.1.0.dev0"

__all__ = [
    "FREL",
    "IM4E",
    "LOGO",
    "EnsembleWeighting",
    "FisherScore",
    "IRelief",
    "LHRelief",
    "Lmba",
    "OnlineIRelief",
    "Relief",
    "ReliefF",
    "VarianceReduction",
]

# Numba and scikit-learn are imported when the first of these is asked for (PEP 562).
_HOMES = {
    "FREL": "frel",
    "LOGO": "logo",
    "EnsembleWeighting": "ensemble",
    "FisherScore": "fisher",
    "IM4E": "im4e",
    "IRelief": "irelief",
    "LHRelief": "lhr",
    "Lmba": "lmba",
    "OnlineIRelief": "irelief_online",
    "Relief": "relief",
    "ReliefF": "relief",
    "VarianceReduction": "variance_reduction",
}
_MODULES = ("datasets", "stability")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES} - {"Any", "TYPE_CHECKING", "import_module"})
