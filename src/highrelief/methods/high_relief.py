"""HighRelief: features that matter alone, in pairs or in larger groups, and how many of them to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, log_ndtr
from scipy.stats import false_discovery_control, rankdata

from .._engine.categories import MOST_LEVELS, level_counts
from .._engine.limits import limits
from .._engine.parameters import constraints, number, optional, random_generator
from .._engine.threads import even_ranges, run_all
from ..base.categorical import CategoricalFeaturesMixin
from ..base.progress import watched, with_callbacks
from ..base.selector import best_first
from ..base.training_data import TrainingData
from ..base.validation import FLOAT_TYPES, type_of_target
from ..base.weighter import FeatureWeighter
from .pair_scan import Levels, Scan, discretized, merged_codes, n_steps, scan_pairs, single_statistics
from .relief import ReliefF
from .rrelieff import ContinuousTargetMixin, RReliefF
from .smooth_tests import (
    MOST_STEPS,
    N_FUNCTIONS,
    Functions,
    SmoothTests,
    functions_of,
    smooth_tests,
)

#: Components, in the order of the columns of ``evidence_``.
COMPONENTS = ("single", "conditional", "interaction", "local")
_INTERACTION, _LOCAL = 2, 3
#: Scans of the table, plain and stratified, which share ``level``.
N_SCANS = 2
#: Columns that are tested by themselves at a time.
_COLUMNS_AT_ONCE = 256
#: Quantile bins of a continuous target.
_TARGET_BINS = 3
#: Features of a scan with permuted labels, and the values of the null distribution to collect.
_NULL_FEATURES = 128
_NULL_VALUES = 512
_MOST_PERMUTATIONS = 40
#: The same for the elimination, which takes longer.
_LOCAL_NULL_VALUES = 100
_LOCAL_PERMUTATIONS = (2, 4)
#: Share of the null distribution that its exponential tail continues.
_TAIL = 0.2
#: Observations of rate 1 that join those of the tail.
_PRIOR = 10.0
#: Shares of the features that stay in a round of elimination: while there are many, and then.
_MANY_FEATURES = 256
_STAY = (0.5, 0.7)
#: Groups in which candidates are shuffled, and how often.
_GROUPS = 8
_SHUFFLES = 2
#: Standard deviations of a null weight by which a candidate must exceed itself when shuffled.
_VERIFIED = 5.0
#: Neighbors of the prediction, samples they are searched in, and features it is made from.
_NEIGHBORS = 10
_REFERENCES = 2000
_PREDICTORS = 16
_ROWS_AT_ONCE = 256
#: Nanoseconds of one pair of features and two classes, and per sample: of levels, and if any are numbers.
_LEVEL_PAIR, _LEVEL_SAMPLE = 30.0, 0.04
_NUMBER_PAIR, _NUMBER_SAMPLE = 250.0, 1.3
#: Work by default, per squared sample and feature, and its limits.
_WORK = 8.0
_LEAST_WORK = 3e7
#: Passes over all pairs of samples of an elimination, and samples that it has at least.
_PASSES = 5.0
_LEAST_LOCAL = 100
_TINY = np.finfo(np.float64).tiny


class HighRelief(CategoricalFeaturesMixin, FeatureWeighter):
    r"""HighRelief: one fit that finds features of any order, and how many to keep.

    A feature may be informative by itself, together with one other feature, or only within a larger
    group, and a strong mechanism may hide a second one. Four components look for these; each turns into
    p-values by permuted labels, and the features that remain significant after correction are kept.

    1. **Scan** of all pairs. Three statistics per feature: of the feature by itself (``"single"``), the
       largest given a partner (``"conditional"``), the largest of the interaction with a partner
       (``"interaction"``). If all features are levels, such as genotypes, they are those of
       :class:`PairScan`. Otherwise a number by itself is tested by its ranks (Kruskal and Wallis), and pairs
       by smooth functions (Neyman 1937): with weights :math:`w_k = 0.9^k`, functions
       :math:`f_k(x) = \cos(k \pi u)`, k = 1, …, 6, of the relative rank u of x, scaled to mean 0 and mean
       square 1, and residuals r of the class, :math:`T_{ij} = \sum_{kl} w_k w_l (\sum_n r_n f_k(x_{ni})
       f_l(x_{nj}))^2` for an interaction, and :math:`S_j + T_{ij}` with :math:`S_j = \sum_k w_k (\sum_n r_n
       f_k(x_{nj}))^2` for feature j given i. Levels beside numbers have one function each.
    2. **Elimination** (``"local"``). ReliefF with 10 neighbors in rounds: of more than 256 features half
       stay, then 70 %, until two are left. The statistic is the largest weight of the feature in any round.
       Integers of at most 10 distinct values are categories here, as by
       ``categorical_features="auto"``.
    3. **p-values.** Labels are permuted (within batches), and the statistics of all features under permuted
       labels form the null distribution of the component, continued beyond its 80 % quantile by an
       exponential tail: for the scan in -log of the normal tail probability of z, with a rate shrunk toward
       1, for the elimination in the weight. Permuted scans visit 128 random features; a maximum over fewer
       partners is corrected to that over all. The p-value of a feature is 4 times its smallest of the four.
    4. **Verification.** Where many samples have the same values, ReliefF gives weights to noise as soon as
       other features matter. All features that pass by then are weighted once more without the others, with
       their columns shuffled in turn; the local component counts only if the weight exceeds its mean when
       shuffled by 5 standard deviations of a null weight.
    5. **Stratified scan.** The scan is repeated within strata of samples for which k-NN on the features
       found so far predicts the same class, with labels permuted within the strata: a mechanism that was
       hidden by another appears. Each of the two scans has half of ``level``.

    A feature is kept if its p-value, times the number of features and of scans, is at most ``level``. Then
    the probability that a table without any signal gives one is at most ``level``, up to the approximation of
    the tails. Features that are kept are ranked by their weight in the elimination, all others by p-value.

    Parameters
    ----------
    level : float, default=0.1
        Familywise error rate: bound on the probability of keeping a feature that does not matter.
    max_work : float or None, default=None
        Bound on the work of a scan, in units of about a nanosecond on one core; if all pairs take more, those
        of the features of largest ReliefF weight are scanned, as ``execution_`` reports. None: 8·n²·p for n
        samples and p features, about four times the work of :class:`IRelief`, within 3e7 and 2e11. The
        elimination uses a random part of the samples if it would take more than 2e11.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Features whose values are levels without an order. "from_dtype": the columns of a DataFrame that
        contain categories or text. "auto": these, columns of at most two values, and integers of at most
        10 distinct values. None: none; the scans and the elimination take the same columns as levels, whose
        order counts only where rare ones are merged.
    n_features_to_select : int, float or None, default=None
        None keeps the features of ``support_``, which may be none; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How numbers are scaled for ReliefF, and by ``transform`` if ``weighted``.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows progress on long work.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        From 1 to 2 for the features of ``support_``: 1 + local weight / largest local weight among them, 1 if
        it is not positive. For others the share, below 1, of the evidence, -log p, that would be needed.
    feature_importances_ : array of shape (n_features,)
        The same.
    support_ : array of shape (n_features,)
        Mask of the recommended features.
    n_features_ : int
        Their number.
    pvalues_ : array of shape (n_features,)
        p-values, corrected for components and scans, not for the number of features.
    adjusted_pvalues_ : array of shape (n_features,)
        The same times the number of features (Bonferroni), which control the familywise error rate.
    qvalues_ : array of shape (n_features,)
        Smallest false discovery rate (Benjamini and Hochberg) at which the feature is found.
    found_by_ : array of shape (n_features,)
        First of the components, in the order of ``evidence_``, by which the feature is recommended,
        ``"stratified"`` if the stratified scan found it; ``""`` if it is not recommended.
    partner_ : array of shape (n_features,)
        Index of the best partner of a recommended feature that the conditional component found, or that
        the interaction component finds too; -1 otherwise.
    local_weight_ : array of shape (n_features,)
        Largest weight of ReliefF in the rounds of elimination.
    evidence_ : array of shape (n_features, 4)
        -log of the uncorrected p-values of the components: single, conditional, interaction, local.
    execution_ : dict
        What was done: ``n_scanned`` features (of the rest only single ones were looked at), ``n_local``
        samples of the elimination, permutations, the strata of the stratified scan (0: none), ``complete``.
    ranking_ : array of shape (n_features,)
        1 = best; features of equal weight and p-value share the lowest number.
    classes_ : array of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``fit`` does not support sample weights, which the counts of a scan do not have; :class:`IRelief` and
    :class:`ReliefF` do. Nor does it support groups: samples count as independent. Average those of one group,
    such as a patient, or use :class:`ErrorControlledSelector`, which permutes whole groups.

    References
    ----------
    Neyman, J. (1937). "Smooth" test for goodness of fit. Skandinavisk Aktuarietidskrift 20, 149-199.

    Urbanowicz, R., Olson, R., Schmitt, P., Meeker, M. and Moore, J. (2018). Benchmarking relief-based feature
    selection methods for bioinformatics data mining. Journal of Biomedical Informatics 85, 168-188.

    Moore, J. and White, B. (2007). Tuning ReliefF for genome-wide genetic analysis. EvoBIO, LNCS 4447.

    Examples
    --------
    >>> from highrelief import HighRelief
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> model = HighRelief(random_state=0).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.partner_[:2]
    array([1, 0])
    """

    _allows_missing = True
    # Labels are permuted.
    _order_dependent = True
    _types = (*FLOAT_TYPES, np.int8, np.uint8, np.bool_)
    _finds_levels = True
    _refuses_dask = "it works on tables in memory; ReliefF, IRelief and IterativeElimination take them."

    _constraints = constraints(level=number(above=0.0, below=1.0), max_work=optional(number(above=0.0)))
    # The method of the elimination.
    _local_method: type[ReliefF | RReliefF] = ReliefF

    def __init__(
        self,
        *,
        level: float = 0.1,
        max_work: float | None = None,
        categorical_features: Any = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.level = level
        self.max_work = max_work
        self.categorical_features = categorical_features
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> Self:
        """Look for features that matter.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. NaN is allowed.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Batches of the samples, such as laboratories: information is that within batches, neighbors are of
            the same batch, and labels are permuted within batches.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        data = self._check_fit(X, y, batches=batches)
        table = _table_of(data, ~self._constant, *self._targets(data), self._n_threads)
        generator = random_generator("random_state", self.random_state)
        search = _Search(
            table,
            self._local_method,
            level=self.level,
            max_work=self.max_work,
            scale=self.scale,
            generator=generator,
            n_threads=self._n_threads,
        )
        with watched(self, total=search.most_steps) as progress:
            found = search.run(progress.advance)
        self.execution_ = {
            "n_scanned": search.n_scanned,
            "n_local": search.rows.size,
            "n_permutations": search.n_permutations,
            "n_local_permutations": search.n_local_permutations,
            "n_strata": found.n_strata,
            "complete": search.n_scanned == len(table.is_level) and search.rows.size == data.n_samples,
        }
        return self._set_results(found)

    def _validate_target(self, y: NDArray[Any]) -> NDArray[Any]:
        if y.dtype.kind == "f" and type_of_target(y) == "continuous":
            raise ValueError(
                f"Unknown label type: continuous. {type(self).__name__} needs classes in y; for a continuous"
                " target use HighReliefRegressor."
            )
        return super()._validate_target(y)

    def _targets(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the classes 0, 1, … of the scans, and the target of the elimination."""
        return data.codes, data.codes

    def _set_results(self, found: _Findings) -> Self:
        """Set the attributes; constant features have those of noise."""
        varies = ~self._constant
        features = np.flatnonzero(varies)

        def of_all(values: NDArray[Any], of_constant: Any) -> NDArray[Any]:
            everywhere = np.full((varies.size, *values.shape[1:]), of_constant, values.dtype)
            everywhere[varies] = values
            return everywhere

        p = np.minimum(1.0, N_SCANS * np.exp(-found.best))
        self.support_, self.n_features_ = of_all(found.passes, False), int(np.count_nonzero(found.passes))
        self.pvalues_ = of_all(p, 1.0)
        self.adjusted_pvalues_ = of_all(np.minimum(1.0, features.size * p), 1.0)
        self.qvalues_ = of_all(false_discovery_control(p), 1.0)
        names = np.array([*COMPONENTS, "stratified"])
        self.found_by_ = of_all(np.where(found.passes, names[found.component], ""), "")
        has_partner = found.passes & (found.partner >= 0)
        self.partner_ = of_all(np.where(has_partner, features[found.partner], -1), -1)
        self.local_weight_, self.evidence_ = of_all(found.local_weight, 0.0), of_all(found.evidence, 0.0)
        above_0 = np.where(found.passes, np.maximum(found.local_weight, 0.0), 0.0)
        share = np.clip(found.best / found.needed, 0.0, np.nextafter(1.0, 0.0))
        weights = np.where(found.passes, 1.0 + above_0 / max(above_0.max(), _TINY), share)
        self._set_weights(of_all(weights, 0.0))
        # Of equal weights the smaller p-value comes first.
        both = np.column_stack([self.feature_weights_, of_all(found.best, 0.0)])
        self._ranked = np.unique(both, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
        return self

    @property
    def _ranked_by(self) -> NDArray[np.float64]:
        return self._ranked

    def _get_support_mask(self) -> NDArray[np.bool_]:
        if self.n_features_to_select is None and self.__sklearn_is_fitted__():
            return self.support_
        return super()._get_support_mask()


class HighReliefRegressor(ContinuousTargetMixin, HighRelief):
    """HighRelief for a continuous target.

    The components are those of :class:`HighRelief`. The elimination weighs features by :class:`RReliefF` with
    the ranks of the target (equal targets have their mean rank). The scans, which count, take the tertiles of
    the target as classes: with m of n targets below and e equal to one, its class is
    ⌊3 (2 m + e) / (2 n)⌋. That is an approximation: what moves the target only within a tertile is left to
    the elimination. Results depend on the order of the targets only, so that neither outliers nor an
    increasing transformation, such as a logarithm, change them. p-values follow from permuted targets, for
    which the tertiles are no approximation.

    Parameters
    ----------
    level : float, default=0.1
        Familywise error rate: bound on the probability of keeping a feature that does not matter.
    max_work : float or None, default=None
        Bound on the work of a scan, in units of about a nanosecond on one core, as in :class:`HighRelief`.
        None: 8·n²·p for n samples and p features, within 3e7 and 2e11.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Features whose values are levels without an order. "from_dtype": the columns of a DataFrame that
        contain categories or text. "auto": these, columns of at most two values, and integers of at most
        10 distinct values. None: none; the scans and the elimination take the same columns as levels, whose
        order counts only where rare ones are merged.
    n_features_to_select : int, float or None, default=None
        None keeps the features of ``support_``, which may be none; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How numbers are scaled for RReliefF, and by ``transform`` if ``weighted``.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows progress on long work.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        From 1 to 2 for the features of ``support_``: 1 + local weight / largest local weight among them, 1 if
        it is not positive. For others the share, below 1, of the evidence, -log p, that would be needed.
    feature_importances_ : array of shape (n_features,)
        The same.
    support_ : array of shape (n_features,)
        Mask of the recommended features.
    n_features_ : int
        Their number.
    pvalues_ : array of shape (n_features,)
        p-values, corrected for components and scans, not for the number of features.
    adjusted_pvalues_ : array of shape (n_features,)
        The same times the number of features (Bonferroni), which control the familywise error rate.
    qvalues_ : array of shape (n_features,)
        Smallest false discovery rate (Benjamini and Hochberg) at which the feature is found.
    found_by_ : array of shape (n_features,)
        First of the components, in the order of ``evidence_``, by which the feature is recommended,
        ``"stratified"`` if the stratified scan found it; ``""`` if it is not recommended.
    partner_ : array of shape (n_features,)
        Index of the best partner of a recommended feature that the conditional component found, or that
        the interaction component finds too; -1 otherwise.
    local_weight_ : array of shape (n_features,)
        Largest weight of RReliefF in the rounds of elimination.
    evidence_ : array of shape (n_features, 4)
        -log of the uncorrected p-values of the components: single, conditional, interaction, local.
    execution_ : dict
        What was done, as in :class:`HighRelief`.
    ranking_ : array of shape (n_features,)
        1 = best; features of equal weight and p-value share the lowest number.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``fit`` does not support sample weights, which the counts of a scan do not have; :class:`RReliefF`
    does. Nor does it support groups: samples count as independent. Average those of one group,
    such as a patient, or use :class:`ErrorControlledSelector`, which permutes whole groups.

    References
    ----------
    Robnik-Šikonja, M. and Kononenko, I. (2003). Theoretical and empirical analysis of ReliefF and
    RReliefF. Machine Learning 53.

    Urbanowicz, R., Olson, R., Schmitt, P., Meeker, M. and Moore, J. (2018). Benchmarking relief-based feature
    selection methods for bioinformatics data mining. Journal of Biomedical Informatics 85, 168-188.

    Examples
    --------
    >>> import numpy as np
    >>> from highrelief import HighReliefRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = X[:, 3] * X[:, 7] + 0.1 * X[:, 11]
    >>> HighReliefRegressor(random_state=0).fit(X, y).get_support(indices=True)
    array([ 3,  7, 11])
    """

    _local_method = RReliefF
    _for_classes = "HighRelief"

    def _targets(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        ranks = rankdata(data.y)
        return _tertiles(ranks), ranks


# The table


class _Table(NamedTuple):
    """Validated samples as both components take them."""

    #: (n_samples, n_features) numbers, and codes of categories; NaN where a value is missing.
    X: NDArray[Any]
    #: (n_features,) whether the values are levels, not numbers.
    is_level: NDArray[np.bool_]
    #: (features that are levels, n_samples) their levels, rare ones merged; -1 where a value is missing.
    codes: NDArray[np.int8]
    #: (n_samples,) classes 0, 1, …
    y: NDArray[np.int64]
    #: (n_samples,) target of the elimination: the classes, or numbers.
    target: NDArray[Any]
    #: (n_samples,) batches 0, 1, …, or None.
    batches: NDArray[np.int64] | None

    def codes_of(self, features: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the levels of those features that are levels."""
        return self.codes[(np.cumsum(self.is_level) - 1)[features[self.is_level[features]]]]

    def levels_of(self, features: NDArray[np.int64]) -> Levels:
        """Return features that are levels."""
        return Levels(self.codes_of(features), np.arange(features.size)[:, np.newaxis])

    def functions_of(self, features: NDArray[np.int64], strata: NDArray[np.int64] | None) -> Functions:
        """Return features as functions."""
        return functions_of(self.X[:, features], self.codes_of(features), self.is_level[features], strata)


def _table_of(
    data: TrainingData,
    varies: NDArray[np.bool_],
    y: NDArray[np.int64],
    target: NDArray[Any],
    n_threads: int,
) -> _Table:
    """Return the features that vary."""
    encoding, X = data.encoding, data.observed
    is_category = np.zeros(varies.size, bool)
    if encoding is not None:
        is_category, numbers = encoding.is_categorical, X[:, encoding.first[~encoding.is_categorical]]
        X = np.empty((len(X), encoding.n_features))
        X[:, ~is_category], X[:, is_category] = numbers, encoding.observed
    X, is_category = X[:, varies], is_category[varies]
    is_level = is_category | (level_counts(X) <= MOST_LEVELS)
    # Integers are merged with their neighbors, categories with any.
    is_number = ~is_category[is_level]
    codes = np.empty((is_level.sum(), len(X)), np.int8)
    codes[is_number] = discretized(X[:, is_level & ~is_category], (), n_threads).codes
    if encoding is not None:
        codes[~is_number] = [
            merged_codes(each, ordered=False) for each in encoding.codes[varies[encoding.features]]
        ]
    batches = None if data.batch_constraint is None else data.batch_constraint.batches
    return _Table(X, is_level, codes, y, target, batches)


def _tertiles(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the tertile 0, 1 or 2 of each value, as :class:`PairScan` bins numbers; empty ones left out."""
    twice_rank = (2.0 * rankdata(values)).astype(np.int64) - 1
    return np.unique(_TARGET_BINS * twice_rank // (2 * values.size), return_inverse=True)[1]


# The search


class _ScanEvidence(NamedTuple):
    """What a scan finds."""

    #: (n_features, 3) -log p of the single, the conditional and the interaction component.
    evidence: NDArray[np.float64]
    #: (n_features, 3) best partner in each, -1 if there is none.
    partners: NDArray[np.int64]


class _LocalWeights(NamedTuple):
    """Weights of an elimination, (n_features,)."""

    #: Of the first round.
    first: NDArray[np.float64]
    #: Largest of the rounds that the feature was in.
    largest: NDArray[np.float64]


class _Findings(NamedTuple):
    """What the search finds, one entry per feature."""

    #: (n_features, 4) -log p of the components in the first scan.
    evidence: NDArray[np.float64]
    #: Evidence of the best component, corrected for their number; ≥ 0.
    best: NDArray[np.float64]
    #: Index of this component; their number for the stratified scan.
    component: NDArray[np.int64]
    #: Its partner, -1 if it has none.
    partner: NDArray[np.int64]
    #: Largest weight in the rounds of elimination.
    local_weight: NDArray[np.float64]
    #: Whether ``best`` is at least ``needed``.
    passes: NDArray[np.bool_]
    needed: float
    #: Strata of the stratified scan; 0 if there was none.
    n_strata: int


class _Search:
    """The search for features in one table."""

    def __init__(
        self,
        table: _Table,
        local_method: type[ReliefF | RReliefF],
        *,
        level: float,
        max_work: float | None,
        scale: str | None,
        generator: np.random.RandomState,
        n_threads: int,
    ) -> None:
        self.table, self.local_method, self.scale = table, local_method, scale
        self.is_continuous = local_method is RReliefF
        self.generator, self.n_threads = generator, n_threads
        n_samples, n_features = table.X.shape
        self.n_classes = _TARGET_BINS if self.is_continuous else int(table.y.max()) + 1
        self.needed = float(np.log(N_SCANS * n_features / level))
        self.n_scanned = _n_scanned(n_samples, table.is_level, self.n_classes, max_work)
        self.n_null = min(n_features, _NULL_FEATURES)
        self.n_permutations = min(-(-_NULL_VALUES // self.n_null), _MOST_PERMUTATIONS)
        least, most = _LOCAL_PERMUTATIONS
        self.n_local_permutations = min(max(-(-_LOCAL_NULL_VALUES // n_features), least), most)
        self.round_sizes = _round_sizes(n_features)
        # Samples of the elimination.
        n_local = max(_LEAST_LOCAL, int(np.sqrt(limits.search_work / (_PASSES * n_features))))
        self.rows = np.arange(n_samples)
        if n_local < n_samples:
            self.rows = np.sort(generator.choice(n_samples, n_local, replace=False))
        of_scan = MOST_STEPS
        if table.is_level.all():
            of_scan = n_steps(table.levels_of(np.arange(self.n_scanned)))
        self.most_steps = (1 + self.n_local_permutations) * len(self.round_sizes) + N_SCANS * (of_scan + 1)
        self.advance: Callable[[], object] = lambda: None

    def run(self, advance: Callable[[], object]) -> _Findings:
        """Search; ``advance`` is called after each step."""
        self.advance = advance
        table = self.table
        weights = self._eliminate(table.target)
        null = [
            self._eliminate(table.target[self._permutation(table.batches)])
            for _ in range(self.n_local_permutations)
        ]
        scanned = np.sort(best_first(weights.first, self.n_scanned))
        first = self._scan_evidence(table.y, table.batches, scanned)
        largest = weights.largest
        local = tail_evidence(largest, np.array([each.largest for each in null]))
        evidence = np.column_stack([first.evidence, local])
        refuted = self._refuted(evidence, spread=float(np.mean([each.first.std() for each in null])))
        counted = evidence.copy()
        counted[refuted, _LOCAL] = 0.0
        best = _corrected(counted)
        component, partner = self._found_by(counted, first.partners)
        passes, n_strata = best >= self.needed, 0
        if passes.any() and not passes.all():
            predictors = np.flatnonzero(passes)[best_first(best[passes], _PREDICTORS)]
            y, strata = (
                self._residuals(predictors) if self.is_continuous else (table.y, self._strata(predictors))
            )
            n_strata = int(strata.max()) + 1
            n_batches = 1 if table.batches is None else int(table.batches.max()) + 1
            # If all samples have the same prediction, the second scan would be the first one.
            if n_strata > n_batches or self.is_continuous:
                second = self._scan_evidence(y, strata, scanned)
                again = _corrected(second.evidence)
                better = ~passes & (again > best)
                best = np.where(better, again, best)
                partner = np.where(better, self._found_by(second.evidence, second.partners)[1], partner)
                component = np.where(better, len(COMPONENTS), component)
                passes = best >= self.needed
        return _Findings(evidence, best, component, partner, largest, passes, self.needed, n_strata)

    def _found_by(
        self, evidence: NDArray[np.float64], partners: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the component that finds each feature, and the partner.

        The component is the first by which the feature passes, or the one with the most evidence if it passes
        by none. The partner is that of the component, or of the interaction if that passes too.
        """
        passes = evidence - np.log(evidence.shape[1]) >= self.needed
        component = np.where(passes.any(axis=1), passes.argmax(axis=1), evidence.argmax(axis=1))
        of_component = np.where(component < partners.shape[1], component, 0)
        with_partner = np.where(passes[:, _INTERACTION], _INTERACTION, of_component)
        return component, np.take_along_axis(partners, with_partner[:, np.newaxis], axis=1)[:, 0]

    def _refuted(self, evidence: NDArray[np.float64], spread: float) -> NDArray[np.int64]:
        """Return the features whose local component does not count.

        They would pass, but their weight among all features that would is that of noise: the same, up to 5
        times the ``spread`` of a weight under permuted labels, if the feature is shuffled.
        """
        would_pass = evidence - np.log(len(COMPONENTS)) >= self.needed
        features = np.flatnonzero(would_pass.any(axis=1))
        # Neighbors of RReliefF are near whatever their targets: noise gets no positive weight.
        if not would_pass[:, _LOCAL].any() or self.is_continuous:
            return features[:0]
        X, y = self._columns(features), self.table.target[self.rows]
        effect = self._weights(X, y, features)
        for _ in range(_SHUFFLES):
            rows, order = self.generator.permutation(len(X)), self.generator.permutation(features.size)
            for group in np.array_split(order, min(features.size, _GROUPS)):
                shuffled = X.copy()
                shuffled[:, group] = X[np.ix_(rows, group)]
                effect[group] -= self._weights(shuffled, y, features)[group] / _SHUFFLES
        return features[would_pass[features, _LOCAL] & (effect <= _VERIFIED * spread)]

    # Scan

    def _scan_evidence(
        self, y: NDArray[np.int64], strata: NDArray[np.int64] | None, scanned: NDArray[np.int64]
    ) -> _ScanEvidence:
        """Scan the pairs of some features, within strata, and all features by themselves."""
        n_features = len(self.table.is_level)
        statistics, partners = np.zeros((n_features, 3)), np.full((n_features, 3), -1)
        statistics[scanned], among = self._scan(y, strata, scanned, self.advance)
        partners[scanned] = np.where(among >= 0, scanned[among], -1)
        rest = np.setdiff1d(np.arange(n_features), scanned)
        if rest.size:
            statistics[rest, 0] = self._single(rest, y, strata)
        null = np.empty((self.n_permutations, self.n_null, 3))
        for each in null:
            features = np.sort(self.generator.choice(n_features, self.n_null, replace=False))
            each[:] = self._scan(y[self._permutation(strata)], strata, features)[0]
        self.advance()
        more_partners = max(n_features - 1, 1) / max(self.n_null - 1, 1)
        evidence = [
            tail_evidence(statistics[:, which], null[..., which], prior=_PRIOR, n_times=n_times)
            for which, n_times in enumerate((1.0, more_partners, more_partners))
        ]
        return _ScanEvidence(np.column_stack(evidence), partners)

    def _scan(
        self,
        y: NDArray[np.int64],
        strata: NDArray[np.int64] | None,
        features: NDArray[np.int64],
        advance: Callable[[], object] = lambda: None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return -log p of the three components of some features, and the partners."""
        table = self.table
        options: Any = {"strata": strata, "n_threads": self.n_threads, "advance": advance}
        found: Scan | SmoothTests
        if table.is_level.all():
            found = scan_pairs(table.levels_of(features), y, self.n_classes, **options)
            single = _normal_evidence(found.single)
        else:
            found = smooth_tests(table.functions_of(features, strata), y, self.n_classes, **options)
            single = self._single(features, y, strata)
        of_pairs = _normal_evidence(np.column_stack([found.conditional, found.interaction]))
        partners = [np.full(features.size, -1), found.partner, found.interaction_partner]
        return np.column_stack([single, of_pairs]), np.column_stack(partners)

    def _single(
        self, features: NDArray[np.int64], y: NDArray[np.int64], strata: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        """Return -log p of single features: of levels by their information, of numbers by their ranks."""
        table, evidence = self.table, np.empty(features.size)
        levels = np.flatnonzero(table.is_level[features])
        if levels.size:
            of_levels = table.levels_of(features[levels])
            z = single_statistics(
                of_levels, np.arange(levels.size), y, self.n_classes, strata, self.n_threads
            )
            evidence[levels] = _normal_evidence(z)
        numbers = np.flatnonzero(~table.is_level[features])
        within = np.zeros(len(y), np.int64) if strata is None else strata

        def of_numbers(start: int, end: int) -> None:
            some = numbers[start:end]
            evidence[some] = rank_evidence(table.X[:, features[some]], y, within, self.n_classes)

        n_blocks = -(-numbers.size // _COLUMNS_AT_ONCE)
        run_all(of_numbers, even_ranges(numbers.size, n_blocks), self.n_threads)
        return evidence

    def _permutation(self, strata: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return a permutation of the samples, within strata."""
        n_samples = len(self.table.X)
        if strata is None:
            return self.generator.permutation(n_samples)
        permutation = np.empty(n_samples, np.int64)
        permutation[np.argsort(strata, kind="stable")] = np.lexsort(
            (self.generator.random_sample(n_samples), strata)
        )
        return permutation

    # Elimination

    def _eliminate(self, target: NDArray[Any]) -> _LocalWeights:
        """Return the weights in the rounds of elimination."""
        target, remaining = target[self.rows], np.arange(len(self.table.is_level))
        first = weights = self._weights(self._columns(remaining), target, remaining)
        largest = first.copy()
        self.advance()
        for size in self.round_sizes[1:]:
            if size < remaining.size:
                # Features of equal weight leave together.
                stays = weights > weights[best_first(weights, size + 1)[-1]]
                if np.count_nonzero(stays) < 2:
                    break
                remaining = remaining[stays]
            weights = self._weights(self._columns(remaining), target, remaining)
            largest[remaining] = np.maximum(largest[remaining], weights)
            self.advance()
        return _LocalWeights(first, largest)

    def _columns(self, features: NDArray[np.int64]) -> NDArray[Any]:
        """Return some features of the samples of the elimination."""
        X = self.table.X
        if self.rows.size == len(X):
            return X if features.size == X.shape[1] else np.take(X, features, axis=1)
        return X[np.ix_(self.rows, features)]

    def _weights(
        self, X: NDArray[Any], target: NDArray[Any], features: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the weights of the local method, 0 if all samples of the elimination are of one class."""
        if (target == target[0]).all():
            return np.zeros(features.size)
        is_level = self.table.is_level[features]
        model = self.local_method(
            categorical_features=is_level,
            scale=self.scale,
            n_jobs=self.n_threads,
        )
        batches = self.table.batches
        return model.fit(X, target, batches=None if batches is None else batches[self.rows]).feature_weights_

    # Stratified scan

    def _strata(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return strata of samples of the same batch and of the same class as predicted by k-NN.

        Votes are relative to the sizes of the classes; samples with the same votes for several classes are a
        stratum.
        """
        likely = np.empty((len(self.table.X), self.n_classes), bool)
        for rows, references, near in self._neighbors(features):
            members = np.eye(self.n_classes)[self.table.y[references]]
            votes = (near @ members) / members.sum(axis=0).clip(1.0)
            likely[rows] = votes >= votes.max(axis=1, keepdims=True) * (1.0 - 1e-9)
        return self._within_batches(likely)

    def _residuals(self, features: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return tertiles of the residuals of k-NN, and strata of the same batch and tertile as predicted."""
        target = self.table.target
        predicted = np.full(target.size, target.mean())
        for rows, references, near in self._neighbors(features):
            n_near = near.sum(axis=1)
            some = n_near > 0
            predicted[rows[some]] = (near[some] @ target[references]) / n_near[some]
        return _tertiles(target - predicted), self._within_batches(_tertiles(predicted)[:, np.newaxis])

    def _within_batches(self, levels: NDArray[Any]) -> NDArray[np.int64]:
        """Return strata of samples of the same batch and with the same row of levels."""
        batches = np.zeros(len(levels)) if self.table.batches is None else self.table.batches
        return np.unique(np.column_stack([batches, levels]), axis=0, return_inverse=True)[1].ravel()

    def _neighbors(
        self, features: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
        """Yield blocks of samples, reference samples, and which of these are near, (block, references).

        The nearest other samples of the same batch are near, and those as far as the last one.
        """
        table, n_samples = self.table, len(self.table.X)
        references = np.arange(n_samples)
        if n_samples > _REFERENCES:
            references = np.sort(self.generator.choice(n_samples, _REFERENCES, replace=False))
        columns = [_Column.of(table.X[:, j], is_level=bool(table.is_level[j])) for j in features]
        for start in range(0, n_samples, _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, n_samples))
            distances = np.zeros((rows.size, references.size))
            for column in columns:
                column.add_differences(rows, references, distances)
            if table.batches is not None:
                distances[table.batches[rows][:, np.newaxis] != table.batches[references]] = np.inf
            distances[rows[:, np.newaxis] == references] = np.inf
            last = min(_NEIGHBORS, references.size - 1) - 1
            farthest = np.partition(distances, last, axis=1)[:, last, np.newaxis]
            yield rows, references, (distances <= farthest * (1.0 + 1e-9)) & (distances < np.inf)


@dataclass(frozen=True)
class _Column:
    """A feature whose differences between samples are in [0, 1], 0.5 if a value is missing."""

    values: NDArray[np.float64]
    missing: NDArray[np.bool_] | None
    is_level: bool

    @classmethod
    def of(cls, x: NDArray[Any], *, is_level: bool) -> _Column:
        """Return the feature scaled to its range."""
        values = x.astype(np.float64)
        missing = np.isnan(values)
        if not is_level:
            low, high = np.nanmin(values), np.nanmax(values)
            values = values / 2.0 - low / 2.0
            values = values / (high / 2.0 - low / 2.0)
        return cls(values, missing if missing.any() else None, is_level)

    def add_differences(
        self, rows: NDArray[np.int64], references: NDArray[np.int64], distances: NDArray[np.float64]
    ) -> None:
        """Add the differences between two sets of samples."""
        a, b = self.values[rows][:, np.newaxis], self.values[references]
        differences = a != b if self.is_level else np.abs(a - b)
        if self.missing is not None:
            unknown = self.missing[rows][:, np.newaxis] | self.missing[references]
            differences = np.where(unknown, 0.5, differences)
        distances += differences


def _n_scanned(n_samples: int, is_level: NDArray[np.bool_], n_classes: int, max_work: float | None) -> int:
    """Return the number of features whose pairs can be scanned."""
    n_features = is_level.size
    if max_work is None:
        max_work = min(max(_WORK * n_samples**2 * n_features, _LEAST_WORK), limits.search_work)
    if is_level.all():
        # Counts are those of classes and, in the stratified scan, of as many strata.
        of_pair, most = (_LEVEL_PAIR + _LEVEL_SAMPLE * n_samples) * (0.5 * n_classes) ** 2, n_features
    else:
        of_pair = (_NUMBER_PAIR + _NUMBER_SAMPLE * n_samples) * (n_classes - 1.0)
        # Functions are there twice, as they are and scaled.
        most = int(limits.function_bytes / (8.0 * N_FUNCTIONS * n_samples))
    return min(n_features, max(2, min(most, int(np.sqrt(2.0 * max_work / of_pair)))))


def _round_sizes(n_features: int) -> list[int]:
    """Return the numbers of features of the rounds of elimination."""
    sizes = [n_features]
    while sizes[-1] > 2:
        stay = _STAY[0] if sizes[-1] > _MANY_FEATURES else _STAY[1]
        sizes.append(max(2, int(stay * sizes[-1])))
    return sizes


# p-values


def _corrected(evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest evidence of each row, corrected for the number of columns (Bonferroni)."""
    return np.maximum(evidence.max(axis=1) - np.log(evidence.shape[1]), 0.0)


def rank_evidence(
    X: NDArray[Any], y: NDArray[np.int64], strata: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """Return -log p of columns by the test of Kruskal and Wallis, within strata.

    Ranks are those within the stratum, divided by its size; their sums by class have the moments that
    permutations of the classes within strata give them. A missing value has the mean rank.
    """
    sums, covariance = np.zeros((X.shape[1], n_classes)), np.zeros((X.shape[1], n_classes, n_classes))
    for stratum in range(int(strata.max()) + 1):
        rows = np.flatnonzero(strata == stratum)
        values = X[rows].astype(np.float64)
        known = ~np.isnan(values)
        ranks = rankdata(np.where(known, values, np.inf), axis=0)
        mean = np.where(known, ranks, 0.0).sum(axis=0) / known.sum(axis=0).clip(1)
        scores = np.where(known, ranks - mean, 0.0) / rows.size
        members = np.eye(n_classes)[y[rows]]
        sizes = members.sum(axis=0)
        sums += scores.T @ members
        variance = (scores**2).sum(axis=0) / max(rows.size - 1, 1)
        of_sizes = np.diag(sizes) - np.outer(sizes, sizes) / rows.size
        covariance += variance[:, np.newaxis, np.newaxis] * of_sizes
    # The sums of all classes add up to 0.
    sums, covariance = sums[:, 1:], covariance[:, 1:, 1:]
    statistic = np.einsum("fc,fcd,fd->f", sums, np.linalg.pinv(covariance, hermitian=True), sums)
    return -np.log(np.maximum(chdtrc(n_classes - 1, statistic), _TINY))


def _normal_evidence(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -log of the probability that a normal deviate exceeds z; its own distribution has the rate 1."""
    return -log_ndtr(-z)


def tail_evidence(
    values: NDArray[np.float64],
    null: NDArray[np.float64],
    *,
    prior: float = 0.0,
    n_times: float = 1.0,
    n_tail: int | None = None,
) -> NDArray[np.float64]:
    """Return -log p of values under a null distribution, of which a sample is given.

    Beyond the largest ``n_tail`` values of the sample, by default the upper fifth, the distribution is
    exponential; ``prior`` observations of rate 1 are added to those of its tail. If ``n_tail`` is given, the
    uncertainty of the rate counts: an exponential value in units of the mean of m others has the distribution
    F(2, 2m). ``n_times``: the value is a maximum over so many times as many as the null.
    """
    null = np.sort(null, axis=None)
    n = null.size
    rate_is_known = n_tail is None
    n_tail = max(int(_TAIL * n), 1) if n_tail is None else n_tail
    start = null[-n_tail - 1] if n > n_tail else null[0]
    excess = float((null[-n_tail:] - start).sum())
    rate = (n_tail + prior) / max(excess + prior, np.finfo(np.float64).tiny)
    as_large = n - np.searchsorted(null, values, side="left")
    in_body = np.log((1.0 + as_large) / (1.0 + n))
    beyond = rate * np.maximum(values - start, 0.0)
    if not rate_is_known:
        beyond = n_tail * np.log1p(beyond / n_tail)
    in_tail = np.log((1.0 + n_tail) / (1.0 + n)) - beyond
    log_p = np.where(values > start, in_tail, in_body)
    if n_times == 1.0:
        return -log_p
    # The probability that one of n_times maxima is as large; of small ones n_times that of one.
    with np.errstate(divide="ignore"):
        of_all = np.log(-np.expm1(n_times * np.log1p(-np.exp(log_p))))
    return -np.where(log_p < -30.0, np.minimum(log_p + np.log(n_times), 0.0), of_all)
