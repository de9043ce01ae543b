"""What the meta-estimators share: a wrapped estimator, its weights, and the contract around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._dask.collections import gathered, is_dask_table
from .._engine.parameters import constraints, one_of
from .._engine.scaling import ColumnRanges, MissingMask, Scaling
from .abilities import categories_parameter, takes_categories, takes_measurements, takes_missing
from .categorical import (
    CATEGORIES_IN_MEMORY,
    as_columns,
    chosen_features,
    numbered,
    refuse_text,
    refuse_to_multiply,
)
from .folds import RULES, check_folds, warn_of_fewer_folds
from .selector import WeighterTags, WeightSelector
from .validation import (
    IN_MEMORY,
    Table,
    as_rows,
    check_classification_targets,
    check_X_y,
    checked_dask,
    checked_sample_weight,
    is_dask_backed,
    label_codes,
    ranges_of,
    refuse_dask,
    refuse_single_class,
    scaling_of,
    type_of_target,
    validate_data,
    warn_user,
)
from .weighter import FeatureWeighter

#: Metadata of a fit, such as ``sample_weight``.
Told = dict[str, Any]


@dataclass(frozen=True)
class MetaTable(Table):
    """Checked input of the fit of a meta-estimator, samples of weight 0 left out.

    ``codes`` is all 0 where y does not hold classes; ``ranges`` is None where the wrapped estimator is not
    one of ours.
    """

    #: Of the columns, or None.
    ranges: Any
    #: (n_samples,) what the wrapped estimator is to be told.
    y: Any = None
    #: What else those inside are to be told, by their names; an entry for each sample.
    told: dict[str, Told] = field(default_factory=dict)

    def __sizeof__(self) -> int:
        """Bytes, by which joblib's backend of Dask decides what it sends once and not with every fit."""
        return object.__sizeof__(self) + int(getattr(self.X, "nbytes", 0))

    @property
    def n_samples(self) -> int:
        """Number of samples that count."""
        return int(self.X.shape[0])

    def told_to(self, name: str, rows: Any = slice(None)) -> Told:
        """What the fit of one inside is told of some of the samples, beside their classes."""
        return {each: values[rows] for each, values in self.told.get(name, {}).items()}


class MetaWeighter(MetaEstimatorMixin, WeightSelector):
    """Base of the meta-estimators: the contract of a weighter around any estimator that weighs features.

    What can be wrapped: a weighter of this package, or any estimator of scikit-learn that has
    ``feature_importances_`` or ``coef_`` after its fit (see :func:`weights_of`). What kind of input is taken
    (sparse, with missing values), and whether ``y`` is needed, is up to the wrapped estimator. It is cloned
    and never fitted itself.

    A subclass implements ``fit``: it asks :meth:`_check_fit` for the checked table, fits clones of
    ``self.estimator``, and ends with :meth:`_set_weights`.

    Parameters
    ----------
    estimator : estimator
        What is wrapped.
    n_features_to_select : int, float or None
        As for any weighter; that of the wrapped estimator plays no part.
    weighted : bool, "manhattan" or "euclidean"
        As for any weighter, with the ``scale`` and the metric of the wrapped one. An estimator that is not
        of this package has neither: only False is possible.
    n_jobs : int or None
        How many threads or, around an estimator that is not of this package, workers of joblib.
    verbose : int
        1 shows progress on long work.
    """

    # Why tables that Dask holds are not worked on where they are; None: they are, if the wrapped one is ours.
    _refuses_dask: str | None = IN_MEMORY

    estimator: Any
    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Any,
        *,
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.weighted = weighted
        self.n_jobs = n_jobs
        self.verbose = verbose

    # What the wrapped estimator says

    @property
    def _weighter(self) -> FeatureWeighter | None:
        """The weighter of ours in the middle, if there is one."""
        inside = self.estimator
        if isinstance(inside, MetaWeighter):
            return inside._weighter
        return inside if isinstance(inside, FeatureWeighter) else None

    @property
    def _own_metric(self) -> str:  # type: ignore[override]
        return "manhattan" if self._weighter is None else self._weighter._own_metric

    @property
    def _types(self) -> Sequence[type] | None:
        """What a weighter of ours works on as it is; None leaves other estimators what they are given."""
        return None if self._weighter is None else self._weighter._types

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self.estimator)
        tags.input_tags = wrapped.input_tags
        tags.target_tags = wrapped.target_tags
        tags.order_dependent = getattr(wrapped, "order_dependent", False)
        tags.feature_order_dependent = getattr(wrapped, "feature_order_dependent", False)
        tags.continuous_target = getattr(wrapped, "continuous_target", False)
        tags.categories = getattr(wrapped, "categories", False)
        return tags

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.weighted is not False and self._weighter is None:
            raise ValueError(
                f"weighted={self.weighted!r} needs a weighter of highrelief inside, whose scaling and metric"
                f" it takes; {type(self.estimator).__name__} has none. Use weighted=False."
            )

    # Who inside is told what

    def get_metadata_routing(self) -> MetadataRouter:
        """Whom ``fit`` tells of what it is told, where metadata is routed; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            What ``fit`` itself takes, and the fit of ``estimator``.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def _told(self, given: Told) -> dict[str, Told]:
        """What those inside are to be told, by their names, of what ``fit`` is given.

        As they have requested, where metadata is routed; otherwise the wrapped estimator must take it all,
        but for the groups, which are for those that draw samples.
        """
        if not given:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            # Each is told by one method: its fit, or the split of folds.
            return {name: dict(*methods.values()) for name, methods in routed.items()}
        refused = [name for name in given if name != "groups" and not has_fit_parameter(self.estimator, name)]
        if refused:
            raise TypeError(
                f"The fit of {type(self.estimator).__name__}, which is inside {type(self).__name__}, does not"
                f" take {refused[0]}."
            )
        taken = {name: value for name, value in given.items() if has_fit_parameter(self.estimator, name)}
        return {"estimator": taken}

    def _check_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **metadata: ArrayLike | None,
    ) -> MetaTable:
        """Judge the input of ``fit``, set ``classes_`` where y holds them, return what is to be weighed.

        ``metadata``: what ``fit`` is told beside the weights, an entry for each sample.
        """
        self._forget()
        _check_wrapped(self.estimator)
        n_threads = self._n_threads
        samples, target = self._checked(X, y, reset=True)
        given = {"sample_weight": sample_weight, **metadata}
        told = self._told({name: value for name, value in given.items() if value is not None})
        kept_weight, kept = checked_sample_weight(sample_weight, samples)
        self._check_parameters(int(kept.sum()))
        if not kept.all():
            samples, target = samples[kept], None if target is None else target[kept]
            if is_dask_table(samples):
                samples = samples.persisted()
        codes = self._set_classes(target, samples.shape[0])
        ranges = None if self._weighter is None else ranges_of(_as_rows(samples), n_threads)
        table = MetaTable(
            samples,
            codes,
            kept_weight,
            kept,
            ranges,
            y=target,
            told=_of_kept(told, sample_weight, kept_weight, kept),
        )
        self._set_scaling(table)
        return table

    def _checked(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> tuple[Any, Any]:
        """Samples and what they are labeled with, as far as this is not up to the wrapped estimator.

        Estimators that are not ours judge sparse tables and missing values themselves: before scikit-learn
        1.7 their tags do not always say what they take.
        """
        if is_dask_backed(X):
            return self._checked_dask(X, y, reset, min_samples)
        y = gathered(y)
        tags = get_tags(self.estimator)
        ours = self._weighter is not None
        self._check_categories()
        labeled = y is not None or tags.target_tags.required
        checked = validate_data(
            self,
            X,
            y if labeled else "no_validation",
            accept_sparse=("csr", "csc") if tags.input_tags.sparse or not ours else False,
            dtype=None if self._types is None else list(self._types),
            ensure_all_finite=("allow-nan" if tags.input_tags.allow_nan else True) if ours else False,
            ensure_min_samples=min_samples,
            reset=reset,
            **({"multi_output": tags.target_tags.multi_output} if labeled else {}),
        )
        return checked if labeled else (checked, None)

    def _checked_dask(self, X: Any, y: Any, reset: bool, min_samples: int) -> tuple[Any, Any]:
        """The same of a table that Dask holds, which members find with the workers."""
        self._refuse_dask(X)
        samples, target, _ = checked_dask(self, X, y, reset=reset, min_samples=min_samples, types=self._types)
        return samples.persisted(), target

    def _refuse_dask(self, X: Any) -> None:
        """Raise if Dask holds X and it cannot be worked on there, by this or by what is wrapped."""
        name = type(self).__name__
        refuse_dask(X, name, self._refuses_dask)
        inside, weighter = type(self.estimator).__name__, self._weighter
        if weighter is None:
            refuse_dask(X, f"{name} around {inside}", f"{inside} is not a weighter of highrelief.")
        elif isinstance(self.estimator, MetaWeighter) and is_dask_backed(X):
            self.estimator._refuse_dask(X)
        elif is_dask_backed(X):
            refuse_dask(X, f"{name} around {inside}", weighter._refuses_dask)
            if getattr(weighter, "categorical_features", None) is not None:
                refuse_dask(X, f"{name} around {inside}", CATEGORIES_IN_MEMORY)

    def _check_categories(self) -> None:
        """Raise if members could not tell which features are categorical: they get arrays, of numbers."""
        chosen = getattr(self._weighter, "categorical_features", None)
        if chosen is not None and np.asarray(chosen).dtype.kind not in "biu" and np.size(chosen):
            raise ValueError(
                f"{type(self._weighter).__name__}(categorical_features={chosen!r}) is fitted to parts of the"
                " table, as arrays: categorical_features must be a mask or indices here, and the categories"
                " in X numbers."
            )

    def _set_classes(self, y: Any, n_samples: int) -> NDArray[np.int64]:
        """Store the classes, if that is what y holds, and return each sample's place among them."""
        if hasattr(self, "classes_"):
            del self.classes_
        if y is None or takes_measurements(self.estimator):
            return np.zeros(n_samples, dtype=np.int64)
        if type_of_target(y) not in ("binary", "multiclass"):
            return np.zeros(n_samples, dtype=np.int64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _set_scaling(self, table: MetaTable) -> None:
        """Scale as the wrapped weighter does, by all samples."""
        if hasattr(self, "_scaling"):
            del self._scaling
        if self._weighter is not None and table.ranges is not None:
            self._scaling = scaling_by(
                _as_rows(table.X), self._weighter.scale, table.sample_weight, table.ranges, self._n_threads
            )
        elif self.weighted is not False:
            raise ValueError(
                f"weighted={self.weighted!r} needs a weighter of highrelief inside; use weighted=False."
            )

    def _warn_of_stop(self, n_done: int, n_all: int, unit: str) -> None:
        """Warn if a callback stopped the fit after some of its members or folds."""
        if n_done < n_all:
            warn_user(
                f"{type(self).__name__} was stopped by a callback after {n_done} of {n_all} {unit}.",
                UserWarning,
            )

    def _set_weights(self, weights: NDArray[np.float64]) -> Self:
        """Store the weights, and what follows from them."""
        self.feature_weights_ = weights
        return self


def scaling_by(
    X: Any,
    scale: str | None,
    sample_weight: NDArray[np.float64] | None,
    ranges: ColumnRanges,
    n_threads: int = 1,
) -> Scaling:
    """Scaling of the features of a table of any kind, in which values may be missing."""
    missing_mask = None
    if isinstance(X, np.ndarray) and not ranges.finite:
        missing_mask, X = MissingMask.extract(X, n_threads)
        ranges = ranges_of(X)
    return scaling_of(X, scale, sample_weight, ranges, missing_mask)


def _as_rows(X: Any) -> Any:
    """A table of any kind; a sparse one as it is worked on."""
    return as_rows(X) if sparse.issparse(X) else X


def _of_kept(
    told: dict[str, Told],
    sample_weight: ArrayLike | None,
    kept_weight: NDArray[np.float64] | None,
    kept: NDArray[np.bool_],
) -> dict[str, Told]:
    """The same for the samples that count; weights that are all 1 need not be told."""
    found: dict[str, Told] = {}
    for who, metadata in told.items():
        of_samples: Told = {}
        for name, value in metadata.items():
            if value is sample_weight:
                of_samples |= {} if kept_weight is None else {name: kept_weight}
                continue
            values = np.asarray(gathered(value))
            if values.shape[:1] != kept.shape:
                raise ValueError(
                    f"{name} must have an entry for each of the {kept.size} samples; got an array of shape"
                    f" {values.shape}."
                )
            of_samples[name] = values[kept]
        found[who] = of_samples
    return found


def _check_wrapped(estimator: Any) -> None:
    """Raise unless ``estimator`` is an object that can be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator={estimator!r} must be an estimator, such as ReliefF().")


def wrapped_has(method: str) -> Callable[[MetaWeighter], bool]:
    """Return a check for ``available_if``: whether the wrapped estimator has a method."""

    def check(meta: MetaWeighter) -> bool:
        # The AttributeError of what is wrapped says more than a bare False.
        getattr(meta.estimator, method)
        return True

    return check


class SingleFitWeighter(MetaWeighter):
    """Base of the meta-estimators for classes whose weights are those of one clone, ``estimator_``."""

    estimator_: Any

    def _check_classes(self, y: NDArray[Any]) -> None:
        """Raise unless y holds two classes or more, and the wrapped estimator is told of them."""
        if y is None or takes_measurements(self.estimator):
            raise TypeError(
                f"{type(self).__name__} compares samples of different classes; estimator={self.estimator!r}"
                " is not told of any."
            )
        check_classification_targets(y)
        refuse_single_class(type(self).__name__, self.classes_)

    def _clone_for_all(self) -> Any:
        """A clone; one of ours has the threads to itself, unless it says how many it wants."""
        member = clone(self.estimator)
        ours = self._weighter is not None
        if ours and self.n_jobs is not None and getattr(member, "n_jobs", 0) is None:
            member.set_params(n_jobs=self.n_jobs)
        return member

    @available_if(wrapped_has("margins"))
    def margins(self, X: ArrayLike, y: ArrayLike, batches: ArrayLike | None = None) -> NDArray[np.float64]:
        """Margins of samples by ``estimator_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, with all features.
        y : array-like of shape (n_samples,)
            Their classes.
        batches : array-like of shape (n_samples,), default=None
            Their batches, if the wrapped weighter takes them.

        Returns
        -------
        margins : array of shape (n_samples,)
            As the wrapped weighter defines them.
        """
        check_is_fitted(self)
        samples, classes = self._checked(X, y, reset=False)
        more = {} if batches is None else {"batches": batches}
        return np.asarray(self.estimator_.margins(self._columns_of_fit(samples), classes, **more))

    def _columns_of_fit(self, X: Any) -> Any:
        """Return the columns of X that ``estimator_`` was fitted to."""
        return X


class CrossValidatedWeighter(SingleFitWeighter):
    """Base of the meta-estimators that choose a value by its scores in the folds of ``cv``."""

    cv: Any
    rule: str | None

    _constraints = constraints(cv=check_folds, rule=one_of(*RULES))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how ``fit`` routes metadata; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            To ``fit`` itself, to the fit of ``estimator``, and to the splits of ``cv``.
        """
        router = super().get_metadata_routing()
        if hasattr(self.cv, "get_n_splits"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _fold_groups(self, table: MetaTable, groups: ArrayLike | None) -> NDArray[np.int64] | None:
        """Return the groups that folds keep together; where metadata is routed, ``cv`` must request them."""
        codes = label_codes("groups", groups, table.kept)
        requested = "splitter" not in table.told or "groups" in table.told["splitter"]
        return codes if requested else None

    def _warn_of_folds(self, n_folds: int, choice: str, fallback: str) -> None:
        """Warn if there is no fold, or if there are fewer folds than ``cv``."""
        if n_folds == 0:
            warn_user(
                f"cv gives no fold {choice} (of two classes and different samples): {fallback}.", UserWarning
            )
        else:
            warn_of_fewer_folds(self.cv, n_folds)


def innermost(fitted: Any) -> Any:
    """Return the last step of a fitted pipeline, the best estimator of a search; anything else as it is."""
    while hasattr(fitted, "steps") or hasattr(fitted, "best_estimator_"):
        fitted = fitted.best_estimator_ if hasattr(fitted, "best_estimator_") else fitted.steps[-1][1]
    return fitted


def fit_inside(fitted: Any) -> Any:
    """The fitted estimator in the middle of meta-estimators that have a single fit to all samples."""
    while hasattr(fitted, "estimator_"):
        fitted = innermost(fitted.estimator_)
    return fitted


def ranked_by(fitted: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a fitted estimator ranks the features by: its weights, unless a weighter of ours knows better."""
    inside = innermost(fitted)
    return np.asarray(inside._ranked_by) if isinstance(inside, WeightSelector) else weights


def weights_of(fitted: Any, n_features: int) -> NDArray[np.float64]:
    """One weight per feature, larger = better, of any fitted estimator that has them.

    ``feature_weights_``, ``feature_importances_`` or the absolute ``coef_`` summed over classes, the first
    that is there; of a pipeline those of its last step, of a search those of its best estimator.

    Parameters
    ----------
    fitted : estimator
        A fitted estimator.
    n_features : int
        How many features it was fitted to.

    Returns
    -------
    weights : array of shape (n_features,)
        The weights.
    """
    inside = innermost(fitted)
    for name in ("feature_weights_", "feature_importances_", "coef_"):
        if hasattr(inside, name):
            found = getattr(inside, name)
            break
    else:
        raise ValueError(
            f"{type(fitted).__name__} weighs no features: it has neither feature_weights_ nor"
            " feature_importances_ nor coef_ after its fit."
        )
    weights = np.array(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)
    if name == "coef_":
        weights = np.abs(weights).reshape(-1, weights.shape[-1]).sum(axis=0)
    if weights.shape != (n_features,):
        raise ValueError(
            f"{name} of {type(inside).__name__} has the shape {weights.shape}; one weight for each of the"
            f" {n_features} features of X is needed."
        )
    return weights


# Categories of any kind for meta-estimators whose fits get arrays of numbers.


class MixedSingleFitWeighter(SingleFitWeighter):
    """Base of meta-estimators that tell what they fit which columns of an array of numbers are categories."""

    # Which features are categorical; None: the wrapped weighter takes all for numbers.
    _is_categorical: NDArray[np.bool_] | None = None

    def _checked(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> tuple[Any, Any]:
        """As any meta-estimator; but categories of any kind become numbers."""
        if is_dask_backed(X):
            self._is_categorical = None if reset else self._is_categorical
            return super()._checked(X, y, reset=reset, min_samples=min_samples)
        y = gathered(y)
        parameter = categories_parameter(self.estimator)
        chosen = self.estimator.get_params()[parameter] if parameter else None
        if self._weighter is not None and chosen is not None:
            return self._numbered(X, y, chosen, reset, min_samples)
        if reset:
            self._is_categorical = None
        try:
            return super()._checked(X, y, reset=reset, min_samples=min_samples)
        except (TypeError, ValueError) as error:
            if takes_categories(self.estimator):
                refuse_text(X, [], error)
            raise

    def _numbered(self, X: Any, y: Any, chosen: Any, reset: bool, min_samples: int) -> tuple[Any, Any]:
        X = as_columns(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset or self._is_categorical is None:
            self._is_categorical = chosen_features(chosen, X, getattr(self, "feature_names_in_", None))
        assert self._types is not None
        checked: tuple[Any, Any] = check_X_y(
            numbered(X, self._is_categorical, self._types),
            y,
            dtype=None,
            ensure_all_finite="allow-nan" if takes_missing(self.estimator) else True,
            ensure_min_samples=min_samples,
            estimator=self,
        )
        return checked

    def _told_of_categories(self, features: Any = slice(None)) -> Any:
        """A clone that is told which of some features are categories."""
        member = self._clone_for_all()
        if self._is_categorical is not None:
            member.set_params(**{categories_parameter(member): self._is_categorical[features]})
        return member

    def _factors(self) -> NDArray[np.float64]:
        refuse_to_multiply(self, self._is_categorical)
        return super()._factors()


# Which features are real, and how that was decided.


#: What is bounded: the expected share of false features among those kept, or the probability of any.
CONTROLS = ("fdr", "fwer")


@dataclass(frozen=True)
class Decision:
    """Which features are kept, and the evidence."""

    #: (n_features,) kept or not.
    support: NDArray[np.bool_]
    #: (n_features,) what was compared: weights, selection probabilities, or weights minus those of knockoffs.
    statistic: NDArray[np.float64]
    pvalues: NDArray[np.float64] | None = None
    qvalues: NDArray[np.float64] | None = None
    selection_probability: NDArray[np.float64] | None = None
    #: The least value of the statistic that is kept; inf: none is.
    threshold: float = np.inf
