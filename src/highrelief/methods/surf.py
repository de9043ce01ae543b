"""SURF, SURF*, MultiSURF, MultiSURF*: mean margins at all samples within a radius."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._engine.parameters import constraints, one_of
from .._engine.radius import RadiusMargins, RadiusNeighborhoods
from ..base.categorical import CategoricalFeaturesMixin
from ..base.progress import watched, with_callbacks
from ..base.weighter import FeatureWeighter

#: Radii below which samples are near, and beyond which they are far; for all samples, or for each.
Radii = tuple[Any, Any]


class _RadiusWeighter(CategoricalFeaturesMixin, FeatureWeighter):
    """Base of the family: distances of all pairs, one or two radii, one sum over pairs."""

    _allows_missing = True
    _constraints = constraints(unpaired=one_of("count", "extend"))

    def __init__(
        self,
        *,
        unpaired: str = "count",
        categorical_features: Any = None,
        class_weight: Any = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
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
        self.unpaired = unpaired
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.batch_neighbors = batch_neighbors

    @abstractmethod
    def _radii(self, pairs: RadiusNeighborhoods) -> Radii:
        """Return the distance below which samples are near, and that beyond which they are far; ∞: none."""

    def _weights(self, margins: RadiusMargins) -> NDArray[np.float64]:
        return margins.mean

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        batches: ArrayLike | None = None,
    ) -> Self:
        """Compute the feature weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a sample of weight s counts as s equal samples.
        batches : array-like of shape (n_samples,), default=None
            The batch of each sample, a name or a number. Features are scaled in each batch by itself, and
            samples are compared as ``batch_neighbors`` determines, also for the radii. A sample without a
            hit, or without a miss, there contributes nothing.

        Returns
        -------
        self : object
            The fitted weighter.
        """
        engine = self._choose_engine(self._check_fit(X, y, sample_weight, batches))
        with watched(self, total=2) as progress:
            pairs = engine.radius_neighborhoods()
            near, far = self._radii(pairs)
            progress.advance()
            margins = pairs.margins(near, far, extended=self.unpaired == "extend")
            self._set_weights(self._weights(margins))
            progress.advance()
        self.execution_ = engine.execution() | {"distances": "stored" if pairs.stored else "recomputed"}
        return self


class SURF(_RadiusWeighter):
    r"""SURF: mean margin at all samples nearer than the mean distance.

    .. math::

        W_j = \frac{1}{N} \sum_n \Bigl( \sum_{c \ne y_n} \frac{P(c)}{1 - P(y_n)} \,
              \underset{y_i = c,\; d_{ni} < T}{\mathrm{mean}} |x_{nj} - x_{ij}|
              \; - \underset{y_i = y_n,\; d_{ni} < T}{\mathrm{mean}} |x_{nj} - x_{ij}| \Bigr), \qquad
        T = \frac{1}{N^2} \sum_n \sum_i d_{ni}

    with the Manhattan distance d; the mean of all distances includes those of every sample to itself, as in
    scikit-rebate. A mean over no sample is left out: a sample without near hits still counts by its near
    misses. Distances equal to T (within 1e-12, for float32 1e-6) are not near, so that the order of the rows
    never matters. A sample without another of its class contributes nothing.

    Parameters
    ----------
    unpaired : {"count", "extend"}, default="count"
        What is done with a sample that has near hits but no near misses, or near misses but no near hits:
        "count", as published, takes the mean that there is; "extend" extends its radius to the nearest hit
        and the nearest miss. Where few features remain, as in :class:`IterativeElimination`, most samples
        have no near miss, and "count" gives the features that separate the classes the lowest weights.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Categorical features: two values differ by 1 if they are not equal. "auto": columns of at most two
        values, of at most 10 whole numbers, such as genotypes, or of text. "from_dtype": the columns of a
        DataFrame that hold categories or text. None: all features are numeric; a warning is issued if "auto"
        would take all of them as categories. []: the same without it.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean and in P(c), each > 0; "balanced" is N/(C·n_c) for the n_c samples
        of a class, so that all C classes contribute equally. Radii do not depend on it.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether samples are compared with those of their own batch
        only, or with those of the other batches only; radii are of these distances.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1] and weights to [−1, 1].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        W; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Greene, C., Penrod, N., Kiralis, J. and Moore, J. (2009). Spatially uniform ReliefF (SURF) for
    computationally-efficient filtering of gene-gene interactions. BioData Mining 2:5.

    Examples
    --------
    >>> from highrelief import SURF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> SURF(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    def _radii(self, pairs: RadiusNeighborhoods) -> Radii:
        return pairs.mean(), np.inf


class SURFStar(SURF):
    r"""SURF*: as SURF, and samples farther than the mean distance count with the opposite sign.

    .. math::

        W_j = \frac{1}{N} \sum_n m_{nj}(d_{ni} < T) - m_{nj}(d_{ni} > T), \qquad
        T = \frac{1}{N^2} \sum_n \sum_i d_{ni}

    .. math::

        m_{nj}(A) = \sum_{c \ne y_n} \frac{P(c)}{1 - P(y_n)} \,
                    \underset{y_i = c,\; A}{\mathrm{mean}} |x_{nj} - x_{ij}|
                    \; - \underset{y_i = y_n,\; A}{\mathrm{mean}} |x_{nj} - x_{ij}|

    with the Manhattan distance d; the mean of all distances includes those of every sample to itself, as in
    scikit-rebate. A mean over no sample is left out. Distances equal to T (within 1e-12, for float32 1e-6)
    are neither near nor far. A sample without another of its class contributes nothing. Main effects work
    against the far samples: two classes that lie apart give their own features negative weights.

    Parameters
    ----------
    unpaired : {"count", "extend"}, default="count"
        What is done with a sample that has near hits but no near misses, or near misses but no near hits:
        "count", as published, takes the mean that there is; "extend" extends its radius to the nearest hit
        and the nearest miss. Where few features remain, as in :class:`IterativeElimination`, most samples
        have no near miss, and "count" gives the features that separate the classes the lowest weights.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Categorical features: two values differ by 1 if they are not equal. "auto": columns of at most two
        values, of at most 10 whole numbers, such as genotypes, or of text. "from_dtype": the columns of a
        DataFrame that hold categories or text. None: all features are numeric; a warning is issued if "auto"
        would take all of them as categories. []: the same without it.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean and in P(c), each > 0; "balanced" is N/(C·n_c) for the n_c samples
        of a class, so that all C classes contribute equally. Radii do not depend on it.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether samples are compared with those of their own batch
        only, or with those of the other batches only; radii are of these distances.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1] and weights to [−2, 2].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        W; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Greene, C., Himmelstein, D., Kiralis, J. and Moore, J. (2010). The informative extremes: using both
    nearest and farthest individuals can improve Relief algorithms in the domain of human genetics. EvoBIO,
    LNCS 6023.

    Examples
    --------
    >>> from highrelief import SURFStar
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> SURFStar(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    def _radii(self, pairs: RadiusNeighborhoods) -> Radii:
        mean = pairs.mean()
        return mean, mean


class MultiSURF(_RadiusWeighter):
    r"""MultiSURF: mean margin at all samples within a radius that every sample has for itself.

    .. math::

        W_j = \frac{1}{N} \sum_n \Bigl( \sum_{c \ne y_n} \frac{P(c)}{1 - P(y_n)} \,
              \underset{y_i = c,\; d_{ni} < T_n}{\mathrm{mean}} |x_{nj} - x_{ij}|
              \; - \underset{y_i = y_n,\; d_{ni} < T_n}{\mathrm{mean}} |x_{nj} - x_{ij}| \Bigr), \qquad
        T_n = \bar d_n - \tfrac{1}{2} s_n

    with the Manhattan distance d, and mean and standard deviation of the N − 1 distances of a sample to the
    others,

    .. math::

        \bar d_n = \frac{1}{N - 1} \sum_{i \ne n} d_{ni}, \qquad
        s_n^2 = \frac{1}{N - 1} \sum_{i \ne n} (d_{ni} - \bar d_n)^2 .

    A mean over no sample is left out: a sample without near hits still counts by its near misses. Distances
    equal to the radius (within 1e-12, for float32 1e-6) are not near, so that the order of the rows never
    matters. A sample without another of its class contributes nothing.

    Parameters
    ----------
    unpaired : {"count", "extend"}, default="count"
        What is done with a sample that has near hits but no near misses, or near misses but no near hits:
        "count", as published, takes the mean that there is; "extend" extends its radius to the nearest hit
        and the nearest miss. Where few features remain, as in :class:`IterativeElimination`, most samples
        have no near miss, and "count" gives the features that separate the classes the lowest weights.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Categorical features: two values differ by 1 if they are not equal. "auto": columns of at most two
        values, of at most 10 whole numbers, such as genotypes, or of text. "from_dtype": the columns of a
        DataFrame that hold categories or text. None: all features are numeric; a warning is issued if "auto"
        would take all of them as categories. []: the same without it.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean and in P(c), each > 0; "balanced" is N/(C·n_c) for the n_c samples
        of a class, so that all C classes contribute equally. Radii do not depend on it.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether samples are compared with those of their own batch
        only, or with those of the other batches only; radii are of these distances.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1] and weights to [−1, 1].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        W; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Urbanowicz, R., Olson, R., Schmitt, P., Meeker, M. and Moore, J. (2018). Benchmarking relief-based feature
    selection methods for bioinformatics data mining. Journal of Biomedical Informatics 85.

    Examples
    --------
    >>> from highrelief import MultiSURF
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> MultiSURF(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    def _radii(self, pairs: RadiusNeighborhoods) -> Radii:
        mean, deviation = pairs.means_and_deviations()
        return mean - deviation / 2.0, np.inf


class MultiSURFStar(MultiSURF):
    r"""MultiSURF*: as MultiSURF, and samples beyond a second radius count with the opposite sign.

    .. math::

        W_j = \frac{1}{N} \sum_n m_{nj}(d_{ni} < \bar d_n - \tfrac{1}{2} s_n)
                               - m_{nj}(d_{ni} > \bar d_n + \tfrac{1}{2} s_n)

    .. math::

        m_{nj}(A) = \sum_{c \ne y_n} \frac{P(c)}{1 - P(y_n)} \,
                    \underset{y_i = c,\; A}{\mathrm{mean}} |x_{nj} - x_{ij}|
                    \; - \underset{y_i = y_n,\; A}{\mathrm{mean}} |x_{nj} - x_{ij}|

    with the Manhattan distance d, and the mean and the standard deviation of a sample's distances to the
    others as in :class:`MultiSURF`. A mean over no sample is left out; distances equal to a radius are
    neither near nor far; a sample that is alone in its class contributes nothing.

    The paper counts far samples by how alike they are, ``1 − |x − x'|``, not by the sign. With far hits and
    far misses this is the same: the ones cancel. In two classes a sample that has far samples on one side
    only is counted as in the paper: all features get 1/N more if these are misses, and 1/N less if they are
    hits. The order of the features is the same.

    Parameters
    ----------
    unpaired : {"count", "extend"}, default="count"
        What is done with a sample that has near hits but no near misses, or near misses but no near hits:
        "count", as published, takes the mean that there is; "extend" extends its radius to the nearest hit
        and the nearest miss. Where few features remain, as in :class:`IterativeElimination`, most samples
        have no near miss, and "count" gives the features that separate the classes the lowest weights.
    categorical_features : "auto", "from_dtype", mask, indices or names, default=None
        Categorical features: two values differ by 1 if they are not equal. "auto": columns of at most two
        values, of at most 10 whole numbers, such as genotypes, or of text. "from_dtype": the columns of a
        DataFrame that hold categories or text. None: all features are numeric; a warning is issued if "auto"
        would take all of them as categories. []: the same without it.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes in the mean and in P(c), each > 0; "balanced" is N/(C·n_c) for the n_c samples
        of a class, so that all C classes contribute equally. Radii do not depend on it.
    batch_neighbors : {"within", "across"}, default="within"
        If ``fit`` gets ``batches``: whether samples are compared with those of their own batch
        only, or with those of the other batches only; radii are of these distances.
    n_features_to_select : int, float or None, default=None
        None selects every feature of positive weight, at least one; an int is the number of features, a float
        in (0, 1] a fraction of them.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales the selected columns and multiplies them by max(weight, 0), or its square
        root for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        Scaling of the features; "range" maps to [0, 1] and weights to [−2, 2].
    n_jobs : int or None, default=None
        Number of threads. Results are bitwise identical for any value.
    verbose : int, default=0
        1 shows the progress of long fits.

    Attributes
    ----------
    feature_weights_ : array of shape (n_features,)
        W; can be negative.
    feature_importances_ : array of shape (n_features,)
        max(weight, 0).
    ranking_ : array of shape (n_features,)
        1 = best; equal weights have the lowest of their ranks.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Granizo-Mackenzie, D. and Moore, J. (2013). Multiple threshold spatially uniform ReliefF for the genetic
    analysis of complex human diseases. EvoBIO, LNCS 7833.

    Examples
    --------
    >>> from highrelief import MultiSURFStar
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> MultiSURFStar(n_features_to_select=2).fit(X, y).get_support(indices=True)
    array([0, 1])
    """

    def _radii(self, pairs: RadiusNeighborhoods) -> Radii:
        mean, deviation = pairs.means_and_deviations()
        return mean - deviation / 2.0, mean + deviation / 2.0

    def _weights(self, margins: RadiusMargins) -> NDArray[np.float64]:
        if self.classes_.size > 2:
            return margins.mean
        # In units of the range, which is 1 for scaled features.
        return margins.mean + (margins.only_misses - margins.only_hits) * margins.spans
