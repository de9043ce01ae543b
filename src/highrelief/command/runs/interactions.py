"""``interactions.csv``: what becomes of the weight of each of the best features without another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interaction_table import InteractionTable
from .files import csv_text, write_text
from .record import as_text
from .watching import NOBODY, Watcher

if TYPE_CHECKING:
    from .rank import Ranking

#: What the file is called.
INTERACTIONS = "interactions.csv"
_HEADER = ("feature", "without", "weight", "weight_without", "loss", "noise", "beyond_noise")


def interactions_of(
    ranking: Ranking, *, n_jobs: int | None = None, watcher: Watcher = NOBODY
) -> InteractionTable | str:
    """Weigh the best features of a ranking again without one another; or why not, in a sentence."""
    from ...reports.findings import found_interactions  # noqa: PLC0415  the fit need not wait for it

    request, table = ranking.request, ranking.table
    with watcher.working("Weighing the best features without one another"):
        return found_interactions(
            ranking.estimator,
            table.X,
            table.y,
            asked=request.interactions,
            resamples=request.resamples,
            random_state=request.seed,
            n_jobs=n_jobs,
            groups=table.groups,
            batches=table.batches,
            feature_names=table.feature_names,
            words=table.levels,
        )


def write_interactions(ranking: Ranking, found: InteractionTable | str, folder: Path) -> list[str]:
    """Write ``interactions.csv``, and what it holds into ``run.json``; returns the names of the files."""
    record = ranking.record()
    record["result"]["interactions"] = found if isinstance(found, str) else _as_json(ranking, found)
    texts = {"run.json": as_text(record)}
    if isinstance(found, str):
        (folder / INTERACTIONS).unlink(missing_ok=True)
    else:
        texts[INTERACTIONS] = csv_text(_HEADER, _rows(ranking, found))
    for name, text in texts.items():
        write_text(folder / name, text, force=True)
    return list(texts)[1:]


def _rows(ranking: Ranking, found: InteractionTable) -> Iterator[tuple[object, ...]]:
    """One row for each two features, in this order; nothing where something is not known."""
    names = [ranking.table.feature_names[j] for j in found.features]
    losses, clear = found.losses, found.clear
    for i, name in enumerate(names):
        for j, other in enumerate(names):
            if i != j:
                beyond = "" if clear is None else "yes" if clear[i, j] else "no"
                noise = None if found.noise is None else found.noise[i, j]
                numbers = (found.weights[i], found.weights_without[i, j], losses[i, j], noise)
                yield (name, other, *(_number(each) for each in numbers), beyond)


def _number(value: Any) -> float | str:
    return "" if value is None or np.isnan(value) else float(value)


def _as_json(ranking: Ranking, found: InteractionTable) -> dict[str, Any]:
    """What is beyond noise, pair by pair."""
    names = ranking.table.feature_names
    clear = [each for each in found.pairs() if each.first_is_clear or each.second_is_clear]
    return {
        "features": [names[j] for j in found.features],
        "halves": found.n_resamples,
        "beyond_noise": [
            {
                "first": names[each.first],
                "second": names[each.second],
                "loss_of_first": _number(each.loss_of_first),
                "loss_of_second": _number(each.loss_of_second),
            }
            for each in clear
        ],
    }
