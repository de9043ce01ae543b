"""Margins of the samples, and which of them look as if their label were wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bases.meta import fit_inside
from ..bases.suspects import LIKELY, suspects
from .contents import Samples
from .given import Given
from .methods import is_one_by_one
from .sentences import counted, listed, number, percent

#: How often this happens where labels are right: 27 tables of scikit-learn, UCI, IDA and microarrays.
USUAL = (
    "Each is a hard sample, or one with a wrong label: look at it again. In well-known tables, the labels of"
    " which are taken for right, 0 to 18 % of the samples are named so, 4 % on median."
)
#: The most samples that are named.
_NAMED = 50
#: Share of negative margins from which on they say more about the classes than about single samples.
_MANY = 0.2


def samples(given: Given) -> Samples | str:
    """Margins and suspects; or why there are none, in a sentence."""
    estimator = given.estimator
    if given.measured:
        return "The target is a number: samples have no classes, and so no margins between them."
    if not hasattr(estimator, "margins"):
        if is_one_by_one(estimator):
            return "The method knows no neighbours, so that samples have no margins by it."
        return "The method gives samples no margins."
    if not np.any(estimator.feature_weights_ > 0.0):
        return "No feature weighs more than 0: under such weights, margins of samples mean nothing."
    more = {} if given.batches is None else {"batches": given.batches}
    margins = np.asarray(estimator.margins(given.table, given.y, **more), dtype=np.float64)
    probability = getattr(fit_inside(estimator), "outlier_proba_", None)
    if probability is None:
        chosen, reasons, told = _by_margin(given, margins)
    else:
        chosen, reasons, told = _by_probability(given, margins, np.asarray(probability))
    if given.numbered:
        told.append("Samples are numbered from 1, in the order of the table.")
    return Samples(
        given.sample_names,
        given.codes.tolist(),
        _known(margins),
        None if probability is None else _known(probability),
        chosen[:_NAMED].tolist(),
        reasons,
        told,
        int(chosen.size),
    )


def _by_probability(
    given: Given, margins: NDArray[np.float64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Samples whose label I-RELIEF takes for wrong, the likeliest first."""
    chosen = suspects(probability, margins, given.codes)
    reasons = [
        f"probability {probability[n]:.2f} that the label {given.classes[given.codes[n]]} is wrong; margin"
        f" {number(margins[n])}"
        for n in chosen[:_NAMED]
    ]
    told = [
        "The probability that a label is wrong is I-RELIEF's: the share of the sample's neighbourhood, under"
        " the weights, that belongs to other classes. The margin says how much farther other classes are"
        f" than its own. Named are samples whose probability is above {LIKELY:g}, also if all classes counted"
        " as equally large, and whose margin is below 0: they are nearer to another class."
    ]
    told.append(_how_many(given, chosen, "may be mislabelled", "may be mislabelled"))
    if chosen.size:
        told.append(USUAL)
    with np.errstate(invalid="ignore"):
        others = int(np.count_nonzero(probability > LIKELY) - chosen.size)
    if others:
        told.append(
            f"{counted(others, 'more sample')} {'has' if others == 1 else 'have'} a probability above"
            f" {LIKELY:g} and {'is' if others == 1 else 'are'} not named: by margin nearer to the own class"
            " after all, or among other classes only because those have more samples."
        )
    return chosen, reasons, told + _caution(given, chosen)


def _by_margin(given: Given, margins: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[str], list[str]]:
    """Samples that are nearer to another class, the most negative first."""
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(margins < 0.0)
    chosen = places[np.argsort(margins[places], kind="stable")]
    own = [given.classes[code] for code in given.codes[chosen[:_NAMED]]]
    reasons = [
        f"margin {number(margin)}: nearer to another class than to its own, {label}"
        for margin, label in zip(margins[chosen[:_NAMED]], own, strict=True)
    ]
    told = [
        "The margin of a sample is how much farther other classes are than its own, under the weights. Below"
        " 0 it is nearer to another class: a hard sample, at the border between classes or odd, or one with a"
        " wrong label. The margin does not tell which; I-RELIEF has a probability for it."
    ]
    told.append(_how_many(given, chosen, "has a margin below 0", "have a margin below 0"))
    return chosen, reasons, told + _caution(given, chosen)


def _how_many(given: Given, chosen: NDArray[np.int64], one: str, many: str) -> str:
    if chosen.size == 0:
        return f"No sample {one}."
    names = listed([given.sample_names[n] for n in chosen], 5)
    left = f" The first {_NAMED} are named here." if chosen.size > _NAMED else ""
    verb = one if chosen.size == 1 else many
    return f"{counted(chosen.size, 'sample')} of {len(given.codes):,} {verb}: {names}.{left}"


def _caution(given: Given, chosen: NDArray[np.int64]) -> list[str]:
    """What keeps suspects from being taken for more than they are."""
    told = []
    share = chosen.size / len(given.codes)
    if share > _MANY:
        told.append(
            f"That is {percent(share)} of all samples, more than labels are usually wrong: the classes"
            " overlap, or one surrounds another."
        )
    if given.X.shape[1] > len(given.codes):
        told.append(
            "The weights have seen the labels, and there are more features than samples: margins of new"
            " samples would be smaller."
        )
    return told


def _known(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
