"""Sun (2007), section 7: I-RELIEF against RELIEF-F and Simba."""

from __future__ import annotations

from collections.abc import Mapping

from ..experiment import Experiment
from .errors import Figure5, Table2
from .relevance import Figure6, Figure7, Figure8, Figure9

EXPERIMENTS: tuple[Experiment, ...] = (Table2(), Figure5(), Figure6(), Figure7(), Figure8(), Figure9())
NOT_RUN: Mapping[str, str] = {}
