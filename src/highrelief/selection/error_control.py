"""Selection of features at a bounded error rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._dask.collections import gathered
from .._engine.parameters import check_flag, constraints, count, number, one_of, random_generator
from ..base.meta import CONTROLS, Decision, SingleFitWeighter
from ..base.progress import listening, watched, with_callbacks
from ..base.resampling import SEEDS, Workers, fit_to_all
from ..base.selector import best_features
from ..base.training_data import Metadata, TrainingData
from ..base.validation import label_codes, raise_for_dask, warn_user
from ..methods.relief import ReliefF
from .permutation import MOST_REALIGNED, STATISTICS, Exchange, PermutationTest

#: Methods of error control.
METHODS = ("permutation", "stability", "knockoff")

#: Further options of each method.
OPTIONS = {
    "permutation": (),
    "stability": ("n_pairs", "n_best", "assumption"),
    "knockoff": ("marginals", "covariance"),
}

#: Why knockoffs do not support Dask collections.
KNOCKOFFS_IN_MEMORY = "knockoffs follow from the correlations of all features, which are found in memory."

#: Null hypothesis, by method.
NULLS = {
    "permutation": (
        "Null features are jointly independent of the label and of the relevant features (marginal null). If"
        " no feature is relevant, the error rate is at most the level, exactly, for any weighter and any"
        " dependence between features. Otherwise the bound is approximate: the weights of null features are"
        " estimated by permuting their values against the label and the selected features. A feature that is"
        " only correlated with a relevant one is not null."
    ),
    "stability": (
        "The feature is among the best in half of the samples no more often than one drawn at random. This is"
        " a statement about the weighter at half the samples, not about dependence on the label."
    ),
    "knockoff": (
        "The feature is independent of the label given all other features (conditional null). A feature that"
        " is only correlated with a relevant one is null. The bound is as accurate as the feature model."
    ),
}


class ErrorControlledSelector(SingleFitWeighter):
    r"""Select features with a bound on the rate of false discoveries.

    ``control="fdr"`` bounds the expected fraction of false discoveries among the selected features,
    ``control="fwer"`` the probability of any, both by ``level``. The null hypothesis depends on ``method``,
    see ``null_``.

    ``method="permutation"`` compares the weights of features with their weights under B = ``n_permutations``
    permutations of the labels. With :math:`m_j` and :math:`s_j` the mean and the standard deviation of the
    weights of feature j over these and the observed labels, the statistic is :math:`z_j = (w_j - m_j)/s_j`,
    and

    .. math:: p_j = \frac{1 + \#\{(b, i) : z_i^{(b)} \ge z_j\}}{1 + B d}

    pools the d features: 200 permutations of 20,000 features resolve p-values down to 2.5e-7. These enter the
    Benjamini-Hochberg procedure. As dependent features may violate its bound, no q-value is below the
    fraction of labelings, permuted and observed, whose lowest q-value is as low. For the family-wise error,
    the step-down maxT of Westfall and Young compares :math:`z_j` with the largest of each permutation.

    Relevant features may change the weights of noise. Hence a second round (``keep_found``): the features
    selected in the first stay aligned with the labels, the rows of all others are permuted against both, and
    :math:`z_j` is compared with those of the others. If no feature was selected there is no second round:
    under the global null the first round is exact.

    The weights of iterative methods are normalized, so that noise has weights of the same size. Their
    statistic is the weight times the mean margin, see ``statistic``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A weighter, or any estimator of scikit-learn that has ``feature_importances_`` or ``coef_`` after its
        fit; None is ``ReliefF()``. It is cloned, never fitted itself, once for every permutation; Relief and
        ReliefF without missing values compute all permutations at once, many times faster.
    method : {"permutation", "stability", "knockoff"}, default="permutation"
        The method: permuted labels; agreement of halves of the samples
        (:func:`~highrelief.selection.stability_selection.decide_by_stability`); knockoffs, copies of the
        features that are independent of the labels
        (:func:`~highrelief.selection.knockoffs.decide_by_knockoffs`).
    control : {"fdr", "fwer"}, default="fdr"
        The false discovery rate, or the family-wise error rate.
    level : float, default=0.1
        The largest value of this rate, in (0, 1).
    n_permutations : int, default=200
        B, the number of permutations. At levels below 1/(B + 1) no feature is selected.
    statistic : {"auto", "weights", "margins"}, default="auto"
        The statistic of permutations: the weights, or the weights times the mean margin under them. "auto":
        "margins" for weighters of this package that have them, but for Relief and ReliefF, whose weights are
        margins.
    keep_found : bool, default=True
        Whether there is a second round, of at most 200 fits. Not with whole groups, see ``fit``.
    options : dict or None, default=None
        Further arguments of :func:`~highrelief.selection.stability_selection.decide_by_stability`, such as
        ``{"n_pairs": 100}``, or of :func:`~highrelief.selection.knockoffs.decide_by_knockoffs`; none for
        permutations.
    n_features_to_select : int, float or None, default=None
        None: the decision, which may select no feature. A number, or a fraction of the features, is selected
        instead, and may be set after ``fit``.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns (as ``estimator`` does) and multiplies them by the
        weights, or their square roots for "euclidean"; True is the metric of ``estimator``. Only around a
        weighter of this package.
    n_jobs : int or None, default=None
        Number of concurrent fits: in threads if ``estimator`` is of this package, otherwise, and with
        ``joblib.parallel_config("dask")``, by joblib. Results are identical for any value. A Dask-backed X is
        fitted on its workers: None, or −1, means two fits at a time per worker, as far as memory allows.
    verbose : int, default=0
        1 shows how many fits are done.
    random_state : int, RandomState or None, default=None
        Which permutations are drawn, of the rows in the order they are given; more of them leave the first
        ones as they are.

    Attributes
    ----------
    pvalues_ : array of shape (n_features,)
        Of permutations: each feature's own with "fdr", adjusted for all features with "fwer" (the lowest
        level at which it is kept). Methods that have none raise an AttributeError.
    qvalues_ : array of shape (n_features,)
        The lowest false discovery rate at which a feature is selected; with "fdr" only.
    selection_probability_ : array of shape (n_features,)
        Share of the halves that put the feature among the best; by "stability" only.
    statistic_ : array of shape (n_features,)
        What was compared.
    threshold_ : float
        The smallest statistic that is selected; inf if none is.
    n_features_ : int
        Number of selected features.
    null_ : str
        The null hypothesis, and when the bound holds.
    feature_weights_ : array of shape (n_features,)
        Weights by all samples.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = largest weight; equal weights share the lowest number.
    estimator_ : estimator
        The clone that weighted all samples.
    execution_ : dict
        Who made the fits, how many at a time; whether permutations took them "all at once" or by "refits".
    classes_ : array of shape (n_classes,)
        The classes, if y holds class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Westfall, P. and Young, S. (1993). Resampling-based multiple testing. Wiley.

    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful
    approach to multiple testing. Journal of the Royal Statistical Society B 57(1), 289-300.

    Phipson, B. and Smyth, G. (2010). Permutation p-values should never be zero. Statistical Applications in
    Genetics and Molecular Biology 9(1), 39.

    Examples
    --------
    >>> from highrelief import ErrorControlledSelector, ReliefF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=100, random_state=0)
    >>> selector = ErrorControlledSelector(ReliefF(), level=0.05, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    """

    _refuses_dask = None
    _constraints = constraints(
        method=one_of(*METHODS),
        control=one_of(*CONTROLS),
        level=number(above=0.0, below=1.0),
        n_permutations=count(),
        statistic=one_of(*STATISTICS),
        keep_found=check_flag,
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "permutation",
        control: str = "fdr",
        level: float = 0.1,
        n_permutations: int = 200,
        statistic: str = "auto",
        keep_found: bool = True,
        options: dict[str, Any] | None = None,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.method = method
        self.control = control
        self.level = level
        self.n_permutations = n_permutations
        self.statistic = statistic
        self.keep_found = keep_found
        self.options = options
        self.random_state = random_state

    @property
    def _wrapped(self) -> Any:
        return ReliefF() if self.estimator is None else self.estimator

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.options is not None and not isinstance(self.options, Mapping):
            raise TypeError(f"options={self.options!r} must be None, or a dict of arguments by their names.")
        if self.options and self.method == "permutation":
            raise ValueError(f"options={self.options!r} are for stability and knockoff, not for permutation.")
        unknown = sorted(set(self.options or ()) - set(OPTIONS[self.method]))
        if unknown:
            raise ValueError(
                f"options={self.options!r}: {', '.join(unknown)} cannot be among them; method={self.method!r}"
                f" has {', '.join(OPTIONS[self.method])}."
            )
        if self.statistic == "margins" and not hasattr(self._wrapped, "margins"):
            raise ValueError(
                f"statistic={self.statistic!r} needs an estimator that has margins, and"
                f" {type(self._wrapped).__name__} has none; use 'weights'."
            )

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Weigh the features, and decide which are real.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, or another target of ``estimator``.
        sample_weight : array-like of shape (n_samples,), default=None
            Handed on to the fits of ``estimator``. A weight stays with its sample when labels are permuted.
        groups : array-like of shape (n_samples,), default=None
            By permutation: labels are exchanged within each group (such as a matched pair, or a family) only.
            If all samples of a group have the same label, in every group (such as those of one patient),
            whole groups exchange their labels instead. By "stability": groups are kept together. Also handed
            on to the fits, if ``estimator`` takes them.
        batches : array-like of shape (n_samples,), default=None
            Handed on to the fits, if ``estimator`` takes them. Labels are permuted within each batch only.

        Returns
        -------
        self : object
            The fitted selector.
        """
        data = self._check_fit(X, y, sample_weight, groups=groups, batches=batches)
        if data.y is None:
            raise ValueError("ErrorControlledSelector needs y: what features are, or are not, related to.")
        if hasattr(self, "classes_"):
            self._check_classes(data.y)
        random = random_generator("random_state", self.random_state)
        # Drawn first: the weights do not depend on the method.
        seed = int(random.randint(SEEDS))
        # The progress of a selection is that of its permutations, not of the first fit.
        with listening(lambda done, total: None):
            weights = fit_to_all(self, data, seed)
        if self.method == "permutation":
            decision = self._by_permutation(data, groups, batches, random)
        else:
            arguments = {"sample_weight": sample_weight, "groups": groups, "batches": batches}
            metadata: Metadata = {
                name: np.asarray(gathered(each))[data.included]
                for name, each in arguments.items()
                if each is not None
            }
            decision = self._by_others(data, metadata, random)
        self._decision = decision
        self.statistic_, self.threshold_ = decision.statistic, decision.threshold
        self.null_ = NULLS[self.method]
        return self._set_weights(weights)

    def _by_permutation(
        self, data: TrainingData, groups: Any, batches: Any, random: np.random.RandomState
    ) -> Decision:
        levels = label_codes("batches", batches, data.included)
        exchange = Exchange.among(data.y, label_codes("groups", groups, data.included), levels)
        seeds = random.randint(SEEDS, size=self.n_permutations)
        again = min(self.n_permutations, MOST_REALIGNED) if self.keep_found else 0
        with watched(self, total=self.n_permutations + again) as progress:
            test = PermutationTest(
                self.estimator_,
                data,
                exchange,
                self.statistic,
                self._weighter,
                self.n_jobs,
                progress.advance,
            )
            how = "all at once" if test.all_at_once else "refits"
            self.execution_ = self._workers(data, self.n_permutations).execution | {"permutations": how}
            decision = test.decide(seeds, self.control, self.level, keep_found=self.keep_found)
        least = 1.0 / (1 + self.n_permutations)
        if least > self.level:
            warn_user(
                f"n_permutations={self.n_permutations} cannot resolve p-values below {least:.2g}: nothing can"
                f" be kept at level={self.level}. At least {int(np.ceil(1.0 / self.level)) - 1} are needed.",
                UserWarning,
            )
        return decision

    def _workers(self, data: TrainingData, n_fits: int) -> Workers:
        return Workers.for_fits(data.X, n_fits, ours=self._weighter is not None, n_jobs=self.n_jobs)

    def _refuse_dask(self) -> None:
        if self.method == "knockoff":
            raise_for_dask(f"{type(self).__name__}(method='knockoff')", KNOCKOFFS_IN_MEMORY)
        super()._refuse_dask()

    def _by_others(self, data: TrainingData, metadata: Metadata, random: np.random.RandomState) -> Decision:
        """Decide by stability selection or knockoffs, whose modules are imported on demand."""
        common: dict[str, Any] = {
            "control": self.control,
            "level": self.level,
            "n_jobs": self.n_jobs,
            "random_state": int(random.randint(SEEDS)),
            **(self.options or {}),
        }
        if self.method == "stability":
            from .stability_selection import N_PAIRS, decide_by_stability  # noqa: PLC0415

            decision = decide_by_stability(self._wrapped, data.X, data.y, **common, **metadata)
            self.execution_ = self._workers(data, 2 * common.get("n_pairs", N_PAIRS)).execution
            return decision
        from .knockoffs import decide_by_knockoffs  # noqa: PLC0415

        self.execution_ = self._workers(data, 1).execution
        return decide_by_knockoffs(self._wrapped, data.X, data.y, **common, **metadata)

    # Results

    def _get_support_mask(self) -> NDArray[np.bool_]:
        """Return the decision, or the features of ``n_features_to_select`` instead."""
        check_is_fitted(self)
        if self.n_features_to_select is None:
            return self._decision.support
        return best_features(self._ranked_by, self.n_features_to_select)

    @property
    def n_features_(self) -> int:
        """Number of features that the decision selects."""
        check_is_fitted(self)
        return int(self._decision.support.sum())

    def _evidence(self, name: str) -> NDArray[np.float64]:
        check_is_fitted(self)
        found: NDArray[np.float64] | None = getattr(self._decision, name)
        if found is None:
            raise AttributeError(
                f"There are no {name}_ by method={self.method!r} with control={self.control!r}."
            )
        return found

    @property
    def pvalues_(self) -> NDArray[np.float64]:
        """p-values; adjusted for all features with ``control="fwer"``."""
        return self._evidence("pvalues")

    @property
    def qvalues_(self) -> NDArray[np.float64]:
        """The lowest false discovery rates at which features are kept."""
        return self._evidence("qvalues")

    @property
    def selection_probability_(self) -> NDArray[np.float64]:
        """Shares of the halves that put features among the best."""
        return self._evidence("selection_probability")
