"""Bei and Hong (2012), section 5: I-M4E against other methods of local margins, and against classifiers."""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from .illustration import Illustration
from .microarrays import Table3, Table4
from .uci import Table5

EXPERIMENTS: tuple[Experiment, ...] = (Illustration(), Table3(), Table4(), Table5())
NOT_RUN: Mapping[str, str] = {}
