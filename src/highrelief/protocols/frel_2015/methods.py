"""The methods that the paper compares, by its names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ensemble import EnsembleWeighting
from ...fisher import FisherScore
from ...frel import FREL
from ...lmba import Lmba
from ...relief import Relief, ReliefF
from ...variance_reduction import VarianceReduction

#: m: members of an ensemble; a: share of the samples of each.
N_MEMBERS, SHARE_OF_MEMBER = 20, 0.9

_LOG_L2: Mapping[str, Any] = {"loss": "log", "penalty": "l2", "alpha": 1.0}
_LOG_L1: Mapping[str, Any] = {"loss": "log", "penalty": "l1", "alpha": 0.01}
_SQUARE_L2: Mapping[str, Any] = {"loss": "square", "penalty": "l2", "alpha": 0.1}

#: Figure 3: "regular" methods, in the paper's order; FREL by Algorithm 1, λ as in section IV-C.
PLAIN: Mapping[str, Any] = {
    "Lmba": Lmba(),
    "Relief": Relief(),
    "ReliefF": ReliefF(n_neighbors=10),
    "Fisher": FisherScore(),
    "Log+L2": FREL(**_LOG_L2),
    "Log+L1": FREL(**_LOG_L1),
    "Square+L2": FREL(**_SQUARE_L2),
}
#: Figures 1, 4 and 5: methods "designed to improve stability", by what is inside the ensemble.
_INSIDE: Mapping[str, Any] = {f"En-{name}": PLAIN[name] for name in PLAIN if name != "Lmba"}
STABLE = (*_INSIDE, "VR-Lmba")
#: Not in the paper: ensembles around the minimum of eq. (2), which Algorithm 1 does not reach.
_MINIMISED: Mapping[str, Any] = {
    "En-Log+L2, minimised": FREL(solver="exact", **_LOG_L2),
    "En-Log+L1, minimised": FREL(solver="exact", **_LOG_L1),
    "En-Square+L2, minimised": FREL(solver="exact", **_SQUARE_L2),
}
MINIMISED = tuple(_MINIMISED)


def ensemble(member: Any, n_members: int = N_MEMBERS) -> EnsembleWeighting:
    """Algorithm 2 around a weighter."""
    return EnsembleWeighting(member, n_estimators=n_members, max_samples=SHARE_OF_MEMBER)


def method(name: str, *, n_members: int = N_MEMBERS) -> Any:
    """A method by its name in the paper; ensembles with so many members."""
    if name == "VR-Lmba":
        return VarianceReduction(Lmba())
    inside = {**_INSIDE, **_MINIMISED}
    return ensemble(inside[name], n_members) if name in inside else PLAIN[name]
