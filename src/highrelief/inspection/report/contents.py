"""Contents of a report as plain values: all that the page shows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Estimate:
    """An estimate and its 95 % confidence interval; None where unknown."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class FeatureTable:
    """All features, ordered by rank."""

    names: list[str]
    ranks: list[int]
    weights: list[float]
    kept: list[bool]
    #: Ranks by ``univariate_score``.
    univariate_ranks: list[int]
    #: 5 % and 95 % quantile of the rank under resampling; None without resampling.
    rank_low: list[float] | None
    rank_high: list[float] | None
    #: Share of the resamples in which the feature is among the best ``Stability.n_best``.
    frequency: list[float] | None
    #: Sentences about the weights.
    words: list[str]
    #: Share of missing values; None if no value is missing.
    missing: list[float] | None = None
    #: Name of the univariate baseline.
    univariate_score: str = "the Fisher score"


@dataclass(frozen=True)
class Convergence:
    """Convergence of an iterative method."""

    #: One number per step, described by ``meaning``.
    steps: list[float]
    meaning: str
    #: Stopping tolerance; None if the method has none.
    tolerance: float | None
    converged: bool
    #: Length of the cycle of the weights; 0 if there is none.
    cycle_length: int
    words: list[str]
    #: Whether the number of steps is fixed and all were run.
    scheduled: bool = False


@dataclass(frozen=True)
class Stability:
    """Stability of the ranking over random halves of the samples."""

    n_resamples: int
    #: Share of the samples in each resample.
    share: float
    #: Number of features that count as the best.
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
    """Margins of the samples under the weights."""

    names: list[str]
    #: Index of the class in ``Contents.classes``.
    classes: list[int]
    margins: list[float | None]
    #: I-RELIEF's probability that the label is wrong; None for methods without.
    outlier_probability: list[float | None] | None
    #: Indices of the samples that are likely mislabeled, the likeliest first, and the evidence.
    suspects: list[int]
    reasons: list[str]
    words: list[str]
    #: Number of suspects, including those not listed.
    n_suspects: int = 0


@dataclass(frozen=True)
class Distribution:
    """The values of one of the best features, class by class (in the order of ``Contents.classes``)."""

    feature: str
    rank: int
    #: Minimum, quartiles and maximum; empty for a class without values.
    boxes: list[list[float]]
    #: Values; for large classes an evenly spaced subset of the sorted values.
    points: list[list[float]]
    #: Of a categorical feature: the most frequent levels, and their shares within each class.
    levels: list[str] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Member:
    """A member of a group of redundant features."""

    name: str
    rank: int
    #: Correlation with the representative of the group; of categories Cramér's V.
    similarity: float


@dataclass(frozen=True)
class SimilarFeatures:
    """A group of redundant features, represented by the best of them."""

    representative: str
    rank: int
    #: The others, from the best on.
    members: list[Member]


@dataclass(frozen=True)
class Correlations:
    """Pearson's correlations of the best features, in clustered order."""

    names: list[str]
    ranks: list[int]
    matrix: list[list[float | None]]
    #: Names of the redundant features, by group.
    groups: list[list[str]]
    words: list[str]
    #: The groups with ranks and similarities.
    similar: list[SimilarFeatures] = field(default_factory=list)
    #: Whether the selection keeps only one feature of each group.
    filtered: bool = False


@dataclass(frozen=True)
class TwoFeatures:
    """Two of the best features, and the share of its weight that each loses without the other."""

    first: str
    second: str
    loss_of_first: float | None
    loss_of_second: float | None
    #: Whether the loss is beyond noise.
    first_is_clear: bool
    second_is_clear: bool
    #: By the losses beyond noise: "interact", "interact in part", "redundant"; or "".
    kind: str = ""


@dataclass(frozen=True)
class Interactions:
    """Share of the weight of each of the best features that it loses without another one."""

    names: list[str]
    ranks: list[int]
    #: Losses of the row's feature without the column's, and which are beyond noise; None: not measured.
    losses: list[list[float | None]]
    clear: list[list[bool]] | None
    #: The strongest pairs, the strongest first.
    pairs: list[TwoFeatures]
    words: list[str]


@dataclass(frozen=True)
class PairPicture:
    """The classes of the samples by the values of two features."""

    first: str
    second: str
    #: Of features with few values: their labels, and the number of samples of each class, (classes, first,
    #: second).
    first_levels: list[str] = field(default_factory=list)
    second_levels: list[str] = field(default_factory=list)
    counts: list[list[list[int]]] = field(default_factory=list)
    #: Of other features: the values of the samples of each class.
    points: list[list[list[float]]] = field(default_factory=list)


@dataclass(frozen=True)
class SampleMap:
    """The values of the best features over the samples, in units of their standard deviation."""

    features: list[str]
    #: Indices of the samples, class by class, and the class of each.
    samples: list[int]
    names: list[str]
    classes: list[int]
    #: (features, samples); None where missing.
    values: list[list[float | None]]


@dataclass(frozen=True)
class Answer:
    """One answer to how many features to keep, and the question that it answers."""

    question: str
    #: Number of features; None if it was not computed.
    n_features: int | None
    how: str
    recommended: bool = False


@dataclass(frozen=True)
class Finding:
    """What the first screen shows: which features stand out, how many to keep, how far to trust it."""

    headline: str
    #: Evidence, in sentences.
    sentences: list[str]
    #: "Keep 2 of 1,000 features", and the reason.
    keep: str
    reason: str
    #: "high", "moderate", "low" or "unknown", and the reason.
    trust: str
    trust_reason: str
    #: Number of recommended features; None if there is no recommendation.
    n_features: int | None
    #: Smallest weight that would be recommended; None if unknown.
    threshold: float | None
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True)
class Reference:
    """A paper to cite."""

    text: str
    bibtex: str
    #: URL of the paper; None if it has no DOI.
    address: str | None


@dataclass(frozen=True)
class Origin:
    """Provenance of the report: parameters, data, versions, times and references."""

    #: Names and values of the parameters, as Python literals.
    parameters: dict[str, str]
    #: File, shape and SHA-256 of the data.
    data: dict[str, str]
    versions: dict[str, str]
    #: Date, and duration of each step.
    time: dict[str, str]
    #: Shell command or Python code that reproduces the report; None if unknown.
    again: str | None
    references: list[Reference]


@dataclass(frozen=True)
class Contents:
    """Contents of the report of a ranking."""

    title: str
    #: Title of the method, name of its class, and a description in one or two sentences.
    method: str
    method_class: str
    method_words: str
    classes: list[str]
    class_sizes: list[int]
    #: Self-contained summary, in sentences.
    summary: list[str]
    #: Key figures: name and value ("Samples", "72").
    facts: list[tuple[str, str]]
    features: FeatureTable
    convergence: Convergence | None
    stability: Stability | None
    samples: Samples | None
    distributions: list[Distribution]
    correlations: Correlations | None
    origin: Origin
    interactions: Interactions | None = None
    finding: Finding | None = None
    pair_pictures: list[PairPicture] = field(default_factory=list)
    sample_map: SampleMap | None = None
    #: Notes on how the data was read, and warnings of the fit.
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: Reasons why sections are absent, by section ("convergence": "ReliefF does not iterate.").
    absent: dict[str, str] = field(default_factory=dict)
    #: For a continuous target, a sentence that defines the tertiles in ``classes``.
    tertiles: str = ""
