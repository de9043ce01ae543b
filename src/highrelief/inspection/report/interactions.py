"""Which of the best features act together."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ...plots.drawing import counted
from ..interactions import InteractionTable, Pair, TooLongError, interactions_within
from .contents import Interactions, TwoFeatures
from .features import Weights
from .inputs import Given
from .wording import is_one_by_one, listed, percent, title

#: Features that are left out one by one.
N_FEATURES = 12
#: Seconds that this may take where nobody asked for it.
PATIENCE = 10.0
#: Part of a weight that is much of it.
_MUCH = 0.5
#: Pairs that are listed, and that are named in words.
N_PAIRS, N_NAMED = 15, 3


def measured(
    given: Given,
    weights: Weights,
    *,
    asked: bool | None,
    resamples: int,
    random_state: Any,
    n_jobs: int | None,
) -> InteractionTable | str:
    """What becomes of weights without another feature; or why that is not known, in a sentence.

    ``asked``: whether the user wants it; None: if it does not take long.
    """
    reason = _why_not(given, weights, asked=asked)
    if reason is not None:
        return reason
    values = given.X[:, given.order[:N_FEATURES]].astype(np.float64)
    varies = np.nanmin(values, axis=0, initial=np.inf) < np.nanmax(values, axis=0, initial=-np.inf)
    best = given.order[:N_FEATURES][varies]
    if best.size < 2:
        return "Interactions were not measured: it takes two features that vary."
    try:
        with warnings.catch_warnings():
            # Too few samples for halves: then the words say that noise is not known.
            warnings.simplefilter("ignore")
            return interactions_within(
                None if asked else PATIENCE,
                given.unfitted,
                given.X,
                given.y,
                features=best.tolist(),
                n_features=N_FEATURES,
                n_resamples=resamples,
                sample_weight=None,
                groups=given.groups,
                batches=given.batches,
                n_jobs=n_jobs,
                random_state=random_state,
            )
    except TooLongError:
        return (
            f"Interactions were not measured: to weigh the best {N_FEATURES} features again and again, each"
            f" time without one of them, takes longer than {PATIENCE:g} seconds here. interactions=True, or"
            " --interactions, asks for it."
        )
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"Interactions were not measured: {sentence[0].lower()}{sentence[1:]}."


def _why_not(given: Given, weights: Weights, *, asked: bool | None) -> str | None:
    if asked is False:
        return "Interactions were not measured: this was switched off."
    if is_one_by_one(given.estimator):
        return (
            f"The {title(given.estimator)} weighs each feature alone: no weight depends on another feature."
        )
    if not weights.comparable:
        return "Interactions were not measured: what the method gives are no weights that can grow less."
    return None


def interactions(given: Given, table: InteractionTable) -> Interactions:
    """What is found, with names and in words."""
    # Of next to nothing, any part is noise.
    losses, clear = np.where(table.weighs[:, np.newaxis], table.losses, np.nan), table.clear
    pairs = [each for each in table.pairs() if _is_known(each)]
    is_clear = [each for each in pairs if each.first_is_clear or each.second_is_clear]
    listed_pairs = (is_clear or pairs if clear is None else is_clear)[:N_PAIRS]
    found = Interactions(
        [given.feature_names[j] for j in table.features],
        [int(given.ranks[j]) for j in table.features],
        [[None if np.isnan(each) else float(each) for each in row] for row in losses],
        None if clear is None else clear.tolist(),
        [_named(given, each) for each in listed_pairs],
        [],
    )
    return replace(found, words=_words(given, table, found))


def _is_known(pair: Pair) -> bool:
    return bool(np.isfinite(pair.loss_of_first) or np.isfinite(pair.loss_of_second))


def _named(given: Given, pair: Pair) -> TwoFeatures:
    of_first, of_second = (
        None if np.isnan(each) else float(each) for each in (pair.loss_of_first, pair.loss_of_second)
    )
    found = TwoFeatures(
        given.feature_names[pair.first],
        given.feature_names[pair.second],
        of_first,
        of_second,
        bool(pair.first_is_clear),
        bool(pair.second_is_clear),
    )
    return replace(found, kind=_kind(found))


def _kind(pair: TwoFeatures) -> str:
    if not pair.first_is_clear and not pair.second_is_clear:
        return ""
    losses = [loss for _, loss in _clear_losses(pair)]
    if not losses:
        return "say the same"
    return "act together" if max(losses) >= _MUCH else "act together in part"


def acting_together(found: Interactions) -> list[TwoFeatures]:
    """Pairs of which one clearly loses half of its weight, or more, without the other."""
    return [each for each in found.pairs if each.kind == "act together"]


def in_words(pairs: list[TwoFeatures]) -> str:
    """A sentence about pairs that act together, and what each loses without the other."""
    told = []
    for each in pairs:
        losses = " and ".join(f"{name} {percent(min(loss, 1.0))}" for name, loss in _clear_losses(each))
        told.append(f"{each.first} and {each.second} ({losses})")
    pairs_in_words = listed(told, N_NAMED)
    return (
        f"Features that act together, and what part of its weight each loses without the other:"
        f" {pairs_in_words}."
    )


def _clear_losses(pair: TwoFeatures) -> list[tuple[str, float]]:
    """Who of a pair clearly loses weight without the other, and how much."""
    sides = (
        (pair.first, pair.loss_of_first, pair.first_is_clear),
        (pair.second, pair.loss_of_second, pair.second_is_clear),
    )
    return [(name, loss) for name, loss, clear in sides if clear and loss is not None and loss > 0.0]


def _words(given: Given, table: InteractionTable, found: Interactions) -> list[str]:
    n_shown = counted(table.features.size, "feature")
    told = [
        f"{title(given.estimator)} weighed the best {n_shown} again, by these alone, and each time without"
        " one of them. Where a weight disappears, the two act together; where it grows, they say the same and"
        " share the credit."
    ]
    if table.noise is None:
        return [*told, "How much of this is noise was not measured: small parts mean nothing."]
    together = acting_together(found)
    less = [each for each in found.pairs if each.kind == "act together in part"]
    same = [each for each in found.pairs if each.kind == "say the same"]
    if together:
        told.append(in_words(together))
    else:
        told.append(
            "No two of them are seen to act together: none clearly loses half of its weight without another."
        )
    if less:
        losses = [
            f"{name} {percent(loss)} without {each.second if name == each.first else each.first}"
            for each in less
            for name, loss in _clear_losses(each)
        ]
        told.append(f"Some lose a smaller part of their weight: {listed(losses, N_NAMED)}.")
    if same:
        names = [f"{each.first} and {each.second}" for each in same]
        told.append(f"{listed(names, N_NAMED)} say the same: without one, the other weighs more.")
    told.append(
        f"What is faint is within noise, measured on {table.n_resamples} halves of the samples: chance makes"
        " any of all these pairs stand out in at most about one of twenty tables. Pairs of which one is not"
        " among the best are not seen."
    )
    return told
