"""The base classes of meta-estimators, which wrap an estimator that weights features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from .categorical import CATEGORIES_IN_MEMORY, as_columns, categorical_mask, ordinal_encoded, refuse_text
from .folds import RULES, check_folds, warn_of_fewer_folds
from .selector import (
    WeighterTags,
    WeightSelector,
    categories_parameter,
    suggest_alternatives,
    takes_categories,
    takes_continuous_target,
    takes_missing,
)
from .training_data import Metadata, Samples, TrainingData, column_ranges, column_scaling
from .validation import (
    IN_MEMORY,
    as_csr,
    check_classification_targets,
    check_X_y,
    checked_sample_weight,
    is_dask_backed,
    label_codes,
    raise_for_dask,
    refuse_single_class,
    type_of_target,
    validate_dask,
    validate_data,
    warn_user,
)
from .weighter import FeatureWeighter


class MetaWeighter(MetaEstimatorMixin, WeightSelector):
    """Base of the meta-estimators: weighters that wrap an estimator that weights features.

    The wrapped estimator is a weighter of this package, or any estimator that has ``feature_importances_`` or
    ``coef_`` after its fit (see :func:`weights_of`). It determines what input is supported (sparse, missing
    values), and whether ``y`` is required. It is cloned and never fitted itself.

    A subclass implements ``fit``, which calls :meth:`_check_fit`, fits clones of ``self._wrapped``, and ends
    with ``return self._set_weights(weights)``.

    Parameters
    ----------
    estimator : estimator
        The wrapped estimator.
    n_features_to_select : int, float or None
        As for any weighter; that of the wrapped estimator is ignored.
    weighted : bool, "manhattan" or "euclidean"
        As for any weighter, with the ``scale`` and the metric of the wrapped one. Estimators of other
        packages have neither and need False.
    n_jobs : int or None
        Number of threads or, around an estimator of another package, of joblib's workers.
    verbose : int
        1 shows the progress of long fits.
    """

    # Why Dask collections are not supported; None: they are, if the wrapped estimator supports them.
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

    # Properties of the wrapped estimator

    @property
    def _wrapped(self) -> Any:
        """The wrapped estimator: ``estimator``, or a default where that is None."""
        return self.estimator

    @property
    def _weighter(self) -> FeatureWeighter | None:
        """The innermost estimator, if it is a weighter of this package."""
        inside = self._wrapped
        if isinstance(inside, MetaWeighter):
            return inside._weighter
        return inside if isinstance(inside, FeatureWeighter) else None

    @property
    def _types(self) -> Sequence[type] | None:
        """Types of X that the weighter uses as is; None: the wrapped estimator is not of this package."""
        return None if self._weighter is None else self._weighter._types

    def __sklearn_tags__(self) -> WeighterTags:
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self._wrapped)
        tags.input_tags = wrapped.input_tags
        tags.target_tags = wrapped.target_tags
        tags.order_dependent = getattr(wrapped, "order_dependent", False)
        tags.feature_order_dependent = getattr(wrapped, "feature_order_dependent", False)
        tags.learned_metric = getattr(wrapped, "learned_metric", "manhattan")
        tags.continuous_target = getattr(wrapped, "continuous_target", False)
        tags.categories = getattr(wrapped, "categories", False)
        return tags

    # Fit

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.weighted is not False and self._weighter is None:
            raise ValueError(
                f"weighted={self.weighted!r} needs a weighter of highrelief inside, whose scaling and metric"
                f" it takes; {type(self._wrapped).__name__} has none. Use weighted=False."
            )

    # Metadata

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how ``fit`` routes metadata; see scikit-learn's user guide.

        Returns
        -------
        routing : MetadataRouter
            To ``fit`` itself, and to the fit of ``estimator``.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self._wrapped, method_mapping=mapping)

    def _routed_metadata(self, metadata: Metadata) -> dict[str, Metadata]:
        """Return which metadata of ``fit`` each of the fits and splits inside gets, by their routed names.

        Without metadata routing the fit of the wrapped estimator must accept all of it, except for
        ``groups``, which may be for the drawing of samples only.
        """
        if not metadata:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **metadata)
            # Each has one method: the fit of an estimator, or the split of a splitter.
            return {name: dict(*methods.values()) for name, methods in routed.items()}
        accepted = {name: value for name, value in metadata.items() if has_fit_parameter(self._wrapped, name)}
        refused = [name for name in metadata if name not in accepted and name != "groups"]
        if refused:
            raise TypeError(
                f"The fit of {type(self._wrapped).__name__}, which is inside {type(self).__name__}, does not"
                f" take {refused[0]}."
            )
        return {"estimator": accepted}

    def _check_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        **metadata: ArrayLike | None,
    ) -> TrainingData:
        """Validate the input of ``fit`` and the parameters; set ``classes_``, if y holds classes.

        ``metadata``: other arguments of ``fit`` with one entry per sample.
        """
        self._reset()
        _check_wrapped(self._wrapped)
        n_threads = self._n_threads
        with suggest_alternatives(self, X):
            samples = self._validate_samples(X, y, reset=True)
        passed = {"sample_weight": sample_weight, **metadata}
        routed = self._routed_metadata({name: each for name, each in passed.items() if each is not None})
        weights, included = checked_sample_weight(sample_weight, samples.X)
        self._check_parameters(int(included.sum()))
        if not included.all():
            samples = samples.select(included, n_threads)
            if is_dask_table(samples.X):
                samples.X.persist()
        codes = self._set_classes(samples.y, samples.n_samples)
        if self._weighter is not None:
            samples = replace(samples, known_ranges=column_ranges(_sparse_as_csr(samples.X), n_threads))
        data = TrainingData(
            **vars(samples),
            codes=codes,
            sample_weight=weights,
            included=included,
            metadata=_included_metadata(routed, sample_weight, weights, included),
        )
        self._set_scaling(data)
        return data

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        """Validate X and y, apart from what the wrapped estimator validates.

        Estimators of other packages validate sparse matrices and missing values themselves: before
        scikit-learn 1.7 their tags do not always state what they support.
        """
        if is_dask_backed(X):
            self._refuse_dask()
            samples = validate_dask(self, X, y, reset=reset, min_samples=min_samples, types=self._types)
            samples.X.persist()
            return Samples(X=samples.X, y=samples.y)
        y = gathered(y)
        tags = get_tags(self._wrapped)
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
        return Samples(X=checked[0], y=checked[1]) if labeled else Samples(X=checked, y=None)

    def _refuse_dask(self) -> None:
        """Raise TypeError if this, or an estimator inside, does not support Dask-backed X."""
        name, inside, weighter = type(self).__name__, type(self._wrapped).__name__, self._weighter
        if self._refuses_dask is not None:
            raise_for_dask(name, self._refuses_dask)
        if weighter is None:
            raise_for_dask(f"{name} around {inside}", f"{inside} is not a weighter of highrelief.")
        elif isinstance(self._wrapped, MetaWeighter):
            self._wrapped._refuse_dask()
        else:
            chosen = getattr(weighter, "categorical_features", None)
            reason = weighter._dask_refusal() or (None if chosen is None else CATEGORIES_IN_MEMORY)
            if reason is not None:
                raise_for_dask(f"{name} around {inside}", reason)

    def _check_categories(self) -> None:
        """Raise ValueError if members, which get arrays, could not know which features are categorical."""
        chosen = getattr(self._weighter, "categorical_features", None)
        if chosen is not None and np.asarray(chosen).dtype.kind not in "biu" and np.size(chosen):
            raise ValueError(
                f"{type(self._weighter).__name__}(categorical_features={chosen!r}) is fitted to parts of the"
                " table, as arrays: categorical_features must be a mask or indices here, and the categories"
                " in X numbers."
            )

    def _set_classes(self, y: Any, n_samples: int) -> NDArray[np.int64]:
        """Set ``classes_``, if y holds classes, and return the index of each sample's class."""
        if hasattr(self, "classes_"):
            del self.classes_
        has_classes = y is not None and not takes_continuous_target(self._wrapped)
        if not has_classes or type_of_target(y) not in ("binary", "multiclass"):
            return np.zeros(n_samples, dtype=np.int64)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _set_scaling(self, data: TrainingData) -> None:
        """Set the scaling of the wrapped weighter, computed from all samples."""
        if hasattr(self, "_scaling"):
            del self._scaling
        if self._weighter is not None:
            self._scaling = column_scaling(
                _sparse_as_csr(data.X),
                self._weighter.scale,
                data.sample_weight,
                data.ranges,
                n_threads=self._n_threads,
            )
        elif self.weighted is not False:
            raise ValueError(
                f"weighted={self.weighted!r} needs a weighter of highrelief inside; use weighted=False."
            )

    def _warn_of_stop(self, n_done: int, n_all: int, what: str) -> None:
        """Warn if a callback stopped the fit after some of its members or folds (``what``)."""
        if n_done < n_all:
            warn_user(
                f"{type(self).__name__} was stopped by a callback after {n_done} of {n_all} {what}.",
                UserWarning,
            )

    def _set_weights(self, weights: NDArray[np.float64]) -> Self:
        """Set ``feature_weights_``."""
        self.feature_weights_ = weights
        return self


def _sparse_as_csr(X: Any) -> Any:
    return as_csr(X) if sparse.issparse(X) else X


def _included_metadata(
    routed: dict[str, Metadata],
    sample_weight: ArrayLike | None,
    weights: NDArray[np.float64] | None,
    included: NDArray[np.bool_],
) -> dict[str, Metadata]:
    """Return the metadata of the included samples, without sample weights that are all 1."""
    selected: dict[str, Metadata] = {}
    for receiver, metadata in routed.items():
        selected[receiver] = {}
        for name, value in metadata.items():
            if value is sample_weight:
                if weights is not None:
                    selected[receiver][name] = weights
                continue
            values = np.asarray(gathered(value))
            if values.shape[:1] != included.shape:
                raise ValueError(
                    f"{name} must have an entry for each of the {included.size} samples; got an array of"
                    f" shape {values.shape}."
                )
            selected[receiver][name] = values[included]
    return selected


def _check_wrapped(estimator: Any) -> None:
    """Raise unless ``estimator`` is an object that can be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator={estimator!r} must be an estimator, such as ReliefF().")


def wrapped_has(method: str) -> Callable[[MetaWeighter], bool]:
    """Return a check for ``available_if``: whether the wrapped estimator has a method."""

    def check(meta: MetaWeighter) -> bool:
        # Its AttributeError is more informative than False.
        getattr(meta._wrapped, method)
        return True

    return check


class SingleFitWeighter(MetaWeighter):
    """Base of the meta-estimators whose weights are those of one fitted clone, ``estimator_``."""

    estimator_: Any

    def _check_classes(self, y: NDArray[Any]) -> None:
        """Raise unless y holds at least two classes, and the wrapped estimator uses class labels."""
        if y is None or takes_continuous_target(self._wrapped):
            raise TypeError(
                f"{type(self).__name__} compares samples of different classes; estimator={self.estimator!r}"
                " does not receive them."
            )
        check_classification_targets(y)
        refuse_single_class(type(self).__name__, self.classes_)

    def _clone_for_all(self) -> Any:
        """Return a clone; a weighter of this package without ``n_jobs`` gets that of the meta-estimator."""
        member = clone(self._wrapped)
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
        samples = self._validate_samples(X, y, reset=False)
        metadata = {} if batches is None else {"batches": batches}
        return np.asarray(self.estimator_.margins(self._columns_of_fit(samples.X), samples.y, **metadata))

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

    def _fold_groups(self, data: TrainingData, groups: ArrayLike | None) -> NDArray[np.int64] | None:
        """Return the groups that folds keep together; where metadata is routed, ``cv`` must request them."""
        codes = label_codes("groups", groups, data.included)
        requested = "splitter" not in data.metadata or "groups" in data.metadata["splitter"]
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
    """Return the last step of a fitted pipeline, the best estimator of a search, or the estimator itself."""
    while hasattr(fitted, "steps") or hasattr(fitted, "best_estimator_"):
        fitted = fitted.best_estimator_ if hasattr(fitted, "best_estimator_") else fitted.steps[-1][1]
    return fitted


def fit_inside(fitted: Any) -> Any:
    """Return the innermost ``estimator_`` of nested meta-estimators that have one."""
    while hasattr(fitted, "estimator_"):
        fitted = innermost(fitted.estimator_)
    return fitted


def ranked_by(fitted: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values by which a fitted estimator ranks the features: its weights, or a finer order."""
    inside = innermost(fitted)
    return np.asarray(inside._ranked_by) if isinstance(inside, WeightSelector) else weights


def weights_of(fitted: Any, n_features: int) -> NDArray[np.float64]:
    """Return one weight per feature, larger = better, of any fitted estimator that has them.

    The weights are ``feature_weights_``, ``feature_importances_`` or the absolute ``coef_`` summed over
    classes, in this order of preference; of a pipeline those of its last step, of a search those of its best
    estimator.

    Parameters
    ----------
    fitted : estimator
        A fitted estimator.
    n_features : int
        Number of features it was fitted to.

    Returns
    -------
    weights : array of shape (n_features,)
        The weights.
    """
    inside = innermost(fitted)
    for name in ("feature_weights_", "feature_importances_", "coef_"):
        if hasattr(inside, name):
            attribute = getattr(inside, name)
            break
    else:
        raise ValueError(
            f"{type(fitted).__name__} weighs no features: it has neither feature_weights_ nor"
            " feature_importances_ nor coef_ after its fit."
        )
    dense = attribute.toarray() if sparse.issparse(attribute) else attribute
    weights = np.array(dense, dtype=np.float64)
    if name == "coef_":
        weights = np.abs(weights).reshape(-1, weights.shape[-1]).sum(axis=0)
    if weights.shape != (n_features,):
        raise ValueError(
            f"{name} of {type(inside).__name__} has the shape {weights.shape}; one weight for each of the"
            f" {n_features} features of X is needed."
        )
    return weights


# Categorical features


class CategoricalSingleFitWeighter(SingleFitWeighter):
    """Base of the meta-estimators that encode categories and pass on which columns are categorical."""

    def _validate_samples(self, X: Any, y: Any, *, reset: bool, min_samples: int = 2) -> Samples:
        if is_dask_backed(X):
            self._is_categorical = None if reset else self._is_categorical
            return super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
        y = gathered(y)
        parameter = categories_parameter(self._wrapped)
        chosen = self._wrapped.get_params()[parameter] if parameter else None
        if self._weighter is not None and chosen is not None:
            return self._encoded_samples(X, y, chosen, reset, min_samples)
        if reset:
            self._is_categorical = None
        try:
            return super()._validate_samples(X, y, reset=reset, min_samples=min_samples)
        except (TypeError, ValueError) as error:
            if takes_categories(self._wrapped):
                refuse_text(X, [], error)
            raise

    def _encoded_samples(self, X: Any, y: Any, chosen: Any, reset: bool, min_samples: int) -> Samples:
        """Validate X and y, and replace categories of any type by numbers."""
        X = as_columns(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset or self._is_categorical is None:
            self._is_categorical = categorical_mask(chosen, X, getattr(self, "feature_names_in_", None))
        assert self._types is not None
        X, y = check_X_y(
            ordinal_encoded(X, self._is_categorical, self._types),
            y,
            dtype=None,
            ensure_all_finite="allow-nan" if takes_missing(self._wrapped) else True,
            ensure_min_samples=min_samples,
            estimator=self,
        )
        return Samples(X=X, y=y)

    def _clone_for_features(self, features: Any = slice(None)) -> Any:
        """Return a clone whose parameter states which of some features are categorical."""
        member = self._clone_for_all()
        if self._is_categorical is not None:
            member.set_params(**{categories_parameter(member): self._is_categorical[features]})
        return member


# Decisions of error control


#: The error rate that is bounded: the expected fraction of false discoveries, or the probability of any.
CONTROLS = ("fdr", "fwer")


@dataclass(frozen=True)
class Decision:
    """The selected features, and the evidence for each."""

    #: (n_features,) mask of the selected features.
    support: NDArray[np.bool_]
    #: (n_features,) weights, selection probabilities, or weights minus those of knockoffs.
    statistic: NDArray[np.float64]
    pvalues: NDArray[np.float64] | None = None
    qvalues: NDArray[np.float64] | None = None
    selection_probability: NDArray[np.float64] | None = None
    #: The smallest statistic that is selected; inf: no feature is selected.
    threshold: float = np.inf
