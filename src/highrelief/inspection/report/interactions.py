"""Interactions of the best features, measured for a report and described in sentences."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..._engine.limits import limits
from ...plots.drawing import counted
from ..interactions import InteractionTable, Pair, TooLongError, interactions_within
from .contents import Interactions, TwoFeatures
from .features import Weights
from .inputs import ReportInputs
from .wording import is_one_by_one, listed, percent, title

#: Features that are left out one by one.
N_FEATURES = 12
#: Share of a weight from which on its loss counts as large.
_MUCH = 0.5
#: Pairs in the table, and pairs named in a sentence.
N_PAIRS, N_NAMED = 15, 3


def measure_interactions(
    inputs: ReportInputs,
    weights: Weights,
    *,
    requested: bool | None,
    resamples: int,
    random_state: Any,
    n_jobs: int | None,
) -> InteractionTable | str:
    """Measure the interactions of the best features; return a sentence with the reason if that fails.

    ``requested``: True or False as the user set it; None measures only within
    ``limits.interaction_seconds``.
    """
    reason = _reason_not_measured(inputs, weights, requested=requested)
    if reason is not None:
        return reason
    values = inputs.X[:, inputs.order[:N_FEATURES]].astype(np.float64)
    varies = np.nanmin(values, axis=0, initial=np.inf) < np.nanmax(values, axis=0, initial=-np.inf)
    best = inputs.order[:N_FEATURES][varies]
    if best.size < 2:
        return "Interactions were not measured: it takes two features that vary."
    try:
        with warnings.catch_warnings():
            # With too few samples for halves, a sentence of the report says that noise is unknown.
            warnings.simplefilter("ignore")
            return interactions_within(
                None if requested else limits.interaction_seconds,
                inputs.unfitted,
                inputs.X,
                inputs.y,
                features=best.tolist(),
                n_features=N_FEATURES,
                n_resamples=resamples,
                sample_weight=None,
                groups=inputs.groups,
                batches=inputs.batches,
                n_jobs=n_jobs,
                random_state=random_state,
            )
    except TooLongError:
        return (
            f"Interactions were not measured: to weigh the best {N_FEATURES} features again and again, each"
            f" time without one of them, takes longer than {limits.interaction_seconds:g} seconds here."
            " interactions=True, or --interactions, asks for it."
        )
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"Interactions were not measured: {sentence[0].lower()}{sentence[1:]}."


def _reason_not_measured(inputs: ReportInputs, weights: Weights, *, requested: bool | None) -> str | None:
    if requested is False:
        return "Interactions were not measured: this was switched off."
    if is_one_by_one(inputs.estimator):
        return (
            f"The {title(inputs.estimator)} weighs each feature alone: no weight depends on another feature."
        )
    if not weights.comparable:
        return "Interactions were not measured: what the method gives are no weights that can grow less."
    return None


def named_interactions(inputs: ReportInputs, table: InteractionTable) -> Interactions:
    """Return the interactions with feature names, the strongest pairs and sentences."""
    # The loss of a weight within noise is meaningless.
    losses, clear = np.where(table.weighs[:, np.newaxis], table.losses, np.nan), table.clear
    pairs = [each for each in table.pairs() if _is_known(each)]
    is_clear = [each for each in pairs if each.first_is_clear or each.second_is_clear]
    listed_pairs = (is_clear or pairs if clear is None else is_clear)[:N_PAIRS]
    found = Interactions(
        [inputs.feature_names[j] for j in table.features],
        [int(inputs.ranks[j]) for j in table.features],
        [[None if np.isnan(each) else float(each) for each in row] for row in losses],
        None if clear is None else clear.tolist(),
        [_named(inputs, each) for each in listed_pairs],
        [],
    )
    return replace(found, words=_sentences(inputs, table, found))


def _is_known(pair: Pair) -> bool:
    return bool(np.isfinite(pair.loss_of_first) or np.isfinite(pair.loss_of_second))


def _named(inputs: ReportInputs, pair: Pair) -> TwoFeatures:
    of_first, of_second = (
        None if np.isnan(each) else float(each) for each in (pair.loss_of_first, pair.loss_of_second)
    )
    found = TwoFeatures(
        inputs.feature_names[pair.first],
        inputs.feature_names[pair.second],
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


def interacting_pairs(found: Interactions) -> list[TwoFeatures]:
    """Return the pairs in which one feature clearly loses at least half of its weight without the other."""
    return [each for each in found.pairs if each.kind == "act together"]


def describe_pairs(pairs: list[TwoFeatures]) -> str:
    """Describe interacting pairs and the losses of each feature, in a sentence."""
    sentences = []
    for each in pairs:
        losses = " and ".join(f"{name} {percent(min(loss, 1.0))}" for name, loss in _clear_losses(each))
        sentences.append(f"{each.first} and {each.second} ({losses})")
    pairs_in_words = listed(sentences, N_NAMED)
    return (
        f"Features that act together, and what part of its weight each loses without the other:"
        f" {pairs_in_words}."
    )


def _clear_losses(pair: TwoFeatures) -> list[tuple[str, float]]:
    """Return the features of a pair that clearly lose weight without the other, and the losses."""
    sides = (
        (pair.first, pair.loss_of_first, pair.first_is_clear),
        (pair.second, pair.loss_of_second, pair.second_is_clear),
    )
    return [(name, loss) for name, loss, clear in sides if clear and loss is not None and loss > 0.0]


def _sentences(inputs: ReportInputs, table: InteractionTable, found: Interactions) -> list[str]:
    n_shown = counted(table.features.size, "feature")
    sentences = [
        f"{title(inputs.estimator)} weighed the best {n_shown} again, by these alone, and each time without"
        " one of them. Where a weight disappears, the two act together; where it grows, they say the same and"
        " share the credit."
    ]
    if table.noise is None:
        return [*sentences, "How much of this is noise was not measured: small parts mean nothing."]
    interacting = interacting_pairs(found)
    less = [each for each in found.pairs if each.kind == "act together in part"]
    same = [each for each in found.pairs if each.kind == "say the same"]
    if interacting:
        sentences.append(describe_pairs(interacting))
    else:
        sentences.append(
            "No two of them are seen to act together: none clearly loses half of its weight without another."
        )
    if less:
        losses = [
            f"{name} {percent(loss)} without {each.second if name == each.first else each.first}"
            for each in less
            for name, loss in _clear_losses(each)
        ]
        sentences.append(f"Some lose a smaller part of their weight: {listed(losses, N_NAMED)}.")
    if same:
        names = [f"{each.first} and {each.second}" for each in same]
        sentences.append(f"{listed(names, N_NAMED)} say the same: without one, the other weighs more.")
    sentences.append(
        f"What is faint is within noise, measured on {table.n_resamples} halves of the samples: chance makes"
        " any of all these pairs stand out in at most about one of twenty tables. Pairs of which one is not"
        " among the best are not seen."
    )
    return sentences
