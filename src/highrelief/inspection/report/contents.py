"""What stands in a report, as plain values: the page shows this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Estimate:
    """A number and the interval that holds it with 95 % confidence; None where it cannot be told."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class FeatureTable:
    """All features, the best first."""

    names: list[str]
    ranks: list[int]
    weights: list[float]
    kept: list[bool]
    #: Rank by what ``alone`` says, which looks at each feature alone.
    ranks_alone: list[int]
    #: 5 % and 95 % quantile of the rank under resampling; None without resampling.
    rank_low: list[float] | None
    rank_high: list[float] | None
    #: Share of the resamples in which the feature is among the best ``Stability.n_best``.
    frequency: list[float] | None
    #: What is to be said of the weights, in sentences.
    words: list[str]
    #: Share of the values that is missing; None if nothing is.
    missing: list[float] | None = None
    #: What ranks features alone.
    alone: str = "the Fisher score"


@dataclass(frozen=True)
class Convergence:
    """How a method came to rest."""

    #: One number for each step; what it is stands in ``meaning``.
    steps: list[float]
    meaning: str
    #: Where the method stops; None if it has no such bound.
    tolerance: float | None
    converged: bool
    #: Steps after which the weights come back; 0 if they do not.
    cycle_length: int
    words: list[str]
    #: The number of steps is fixed, and all were made: there is no rest to come to.
    scheduled: bool = False


@dataclass(frozen=True)
class Stability:
    """How much the ranking depends on which samples were drawn."""

    n_resamples: int
    #: Share of the samples in each.
    share: float
    #: How many features count as the best.
    n_best: int
    #: Spearman's rank correlation over all features; Nogueira's stability of the best.
    ranking: Estimate
    selection: Estimate
    #: Nogueira's stability of the best 1, 2, 5, 10, … features.
    sizes: list[int]
    by_size: list[Estimate]
    words: list[str]


@dataclass(frozen=True)
class Samples:
    """Margins of the samples under the weights, each among all others."""

    names: list[str]
    #: Place of its class in ``Contents.classes``.
    classes: list[int]
    margins: list[float | None]
    #: I-RELIEF's probability that the label is wrong; None for methods without.
    outlier_probability: list[float | None] | None
    #: Places of the samples that are likely mislabeled, the likeliest first, and what speaks for it.
    suspects: list[int]
    reasons: list[str]
    words: list[str]
    #: How many suspects there are, named or not.
    n_suspects: int = 0


@dataclass(frozen=True)
class Distribution:
    """The values of one of the best features, class by class (in the order of ``Contents.classes``)."""

    feature: str
    rank: int
    #: Least, lower quartile, median, upper quartile, most; nothing for a class without values.
    boxes: list[list[float]]
    #: Single values; for large classes some of them, drawn evenly over their order.
    points: list[list[float]]
    #: Of words: the most frequent, and of the known values of each class the share that each has.
    levels: list[str] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Member:
    """A feature of a group that says the same."""

    name: str
    rank: int
    #: Correlation with the representative of the group; of categories Cramér's V.
    similarity: float


@dataclass(frozen=True)
class SimilarFeatures:
    """A group of features that say much the same, and the best of them."""

    representative: str
    rank: int
    #: The others, from the best on.
    members: list[Member]


@dataclass(frozen=True)
class Correlations:
    """Pearson's correlations of the best features, those that go together side by side."""

    names: list[str]
    ranks: list[int]
    matrix: list[list[float | None]]
    #: Features that say much the same, as names.
    groups: list[list[str]]
    words: list[str]
    #: The same groups, by the best of each.
    similar: list[SimilarFeatures] = field(default_factory=list)
    #: Whether the others of each group were left out of what is kept.
    filtered: bool = False


@dataclass(frozen=True)
class TwoFeatures:
    """Two of the best features, and what part of its weight each loses without the other, if known."""

    first: str
    second: str
    loss_of_first: float | None
    loss_of_second: float | None
    #: Whether it is more than noise.
    first_is_clear: bool
    second_is_clear: bool
    #: By the losses beyond noise: "act together", "act together in part", "say the same"; or "".
    kind: str = ""


@dataclass(frozen=True)
class Interactions:
    """How much of the weight of each of the best features disappears when another is left out."""

    names: list[str]
    ranks: list[int]
    #: Losses, of the row without the column, and which of them are more than noise; None: not measured.
    losses: list[list[float | None]]
    clear: list[list[bool]] | None
    #: The strongest, the strongest first.
    pairs: list[TwoFeatures]
    words: list[str]


@dataclass(frozen=True)
class Reference:
    """A paper to cite."""

    text: str
    bibtex: str
    #: Address of the paper; None if it has no DOI.
    address: str | None


@dataclass(frozen=True)
class Origin:
    """What the report was made from and with."""

    #: Names and values of the parameters, as Python writes them.
    parameters: dict[str, str]
    #: What is known of the data: file, shape, SHA-256.
    data: dict[str, str]
    versions: dict[str, str]
    #: When, and how long each part took.
    time: dict[str, str]
    #: What does the same again, as a shell or Python reads it; None if it is not known.
    again: str | None
    references: list[Reference]


@dataclass(frozen=True)
class Contents:
    """A report."""

    title: str
    #: The method as papers call it, its class, and what it does in one or two sentences.
    method: str
    method_class: str
    method_words: str
    classes: list[str]
    class_sizes: list[int]
    #: What was done and found, in sentences: a stranger understands the result from these alone.
    summary: list[str]
    #: Figures that stand out: name and value ("Samples", "72").
    facts: list[tuple[str, str]]
    features: FeatureTable
    convergence: Convergence | None
    stability: Stability | None
    samples: Samples | None
    distributions: list[Distribution]
    correlations: Correlations | None
    origin: Origin
    interactions: Interactions | None = None
    #: What was decided about the data when it was read, and what the fit warned of.
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: Why a part is absent, by its name ("convergence": "ReliefF does not iterate.").
    absent: dict[str, str] = field(default_factory=dict)
    #: Where the target is a number: what ``classes`` are then, in a sentence.
    thirds: str = ""
