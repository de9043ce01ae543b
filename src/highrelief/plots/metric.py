"""A learned metric, as a picture of its matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._engine.parameters import check_count
from ..base.meta import innermost
from ..base.selector import WeightSelector, largest_first
from .drawing import INERT, axes_or_new, counted, feature_labels, pyplot, styled

#: Most features with a name at each axis.
_MOST_NAMES = 40
#: Most characters side by side below the matrix.
_WIDEST = 50


class MetricDisplay:
    """The matrix W of a metric: what two features count together, on a scale with 0 in its middle.

    As Fig. 3 of Sun and Wu (2008): an irrelevant feature has a row and a column near 0; off the diagonal
    stands what features say only together. Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    metric : array-like of shape (n_shown, n_shown)
        The matrix.
    features : array-like of shape (n_shown,), default=None
        Places of its features in the table; None: 0, 1, …
    feature_names : array-like of shape (n_features,), default=None
        Names of all features of the table; None: x0, x1, …
    n_features_in : int, default=None
        How many features the table has; None: as many as the matrix.
    name : str, default=None
        What the title begins with.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    image_ : matplotlib AxesImage
        The matrix.
    colorbar_ : matplotlib Colorbar
        Its scale.

    References
    ----------
    Sun, Y. and Wu, D. (2008). A RELIEF based feature extraction algorithm. SIAM International Conference on
    Data Mining.

    Examples
    --------
    >>> from highrelief import LFE
    >>> from highrelief.datasets import make_xor
    >>> from highrelief.plots import MetricDisplay
    >>> X, y, relevant = make_xor(200, n_irrelevant=4, random_state=0)
    >>> display = MetricDisplay.from_estimator(LFE(n_neighbors=5).fit(X, y))
    >>> display.image_.get_array().shape
    (6, 6)
    """

    def __init__(
        self,
        metric: ArrayLike,
        *,
        features: ArrayLike | None = None,
        feature_names: ArrayLike | None = None,
        n_features_in: int | None = None,
        name: str | None = None,
    ) -> None:
        self.metric = metric
        self.features = features
        self.feature_names = feature_names
        self.n_features_in = n_features_in
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: ArrayLike | None = None,
        n_features: int = 30,
        ax: Any = None,
        image_kw: dict[str, Any] | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw the metric of a fitted extractor.

        Parameters
        ----------
        estimator : estimator
            A fitted :class:`~highrelief.LFE` or :class:`~highrelief.DANN`, or anything else that projects
            samples on ``components_`` A: W = AᵀA is the metric of the projected samples.
        feature_names : array-like of shape (n_features_in,), default=None
            Names; None: those the estimator was fitted with, or x0, x1, …
        n_features : int, default=30
            Most features to show: those with the largest entries on the diagonal, in the order of the table.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        image_kw : dict, default=None
            For matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether the scale is drawn.

        Returns
        -------
        display : MetricDisplay
            What was drawn.
        """
        pyplot(cls.__name__)
        check_count("n_features", n_features)
        inside = innermost(estimator)
        check_is_fitted(inside)
        name = type(inside).__name__
        if isinstance(inside, WeightSelector):
            raise ValueError(
                f"{name} weighs every feature by itself and learns no matrix: FeatureWeightsDisplay shows its"
                " weights."
            )
        components = np.asarray(getattr(inside, "components_", np.empty(0)))
        if components.ndim != 2 or components.shape[1] != inside.n_features_in_:
            raise ValueError(f"{name} has no components_ to make a metric of; LFE has.")
        # Not all of W: of 20,000 features it takes 3.2 GB.
        diagonal = np.einsum("ij,ij->j", components, components)
        features = np.sort(largest_first(diagonal, n_features))
        some = components[:, features]
        if feature_names is None:
            feature_names = getattr(inside, "feature_names_in_", None)
        display = cls(
            some.T @ some,
            features=features,
            feature_names=feature_names,
            n_features_in=inside.n_features_in_,
            name=name,
        )
        return display.plot(ax, image_kw=image_kw, colorbar=colorbar)

    def plot(self, ax: Any = None, *, image_kw: dict[str, Any] | None = None, colorbar: bool = True) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        image_kw : dict, default=None
            For matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether the scale is drawn.

        Returns
        -------
        display : MetricDisplay
            Itself.
        """
        W = np.asarray(self.metric, dtype=np.float64)
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not W.size:
            raise ValueError(f"metric has the shape {W.shape}; a square matrix is needed.")
        n_shown = len(W)
        features = np.arange(n_shown) if self.features is None else np.asarray(self.features)
        n_features = n_shown if self.n_features_in is None else self.n_features_in
        side = min(max(5.0, 0.2 * n_shown + 2.0), 10.0)
        self.ax_ = axes_or_new(type(self).__name__, ax, width=side + 1.0, height=side)
        self.figure_ = self.ax_.figure
        self._draw_image(W, image_kw)
        self.colorbar_ = None
        if colorbar:
            # As high as the matrix, in any layout.
            beside = self.ax_.inset_axes((1.03, 0.0, 0.04, 1.0))
            self.colorbar_ = self.figure_.colorbar(self.image_, cax=beside)
        labels = feature_labels(self.feature_names, n_features, features)
        if n_shown <= _MOST_NAMES:
            places = np.arange(n_shown)
            self.ax_.set_yticks(places, labels, **INERT)
            upright = 90 if sum(map(len, labels)) + n_shown > _WIDEST else 0
            self.ax_.set_xticks(places, labels, rotation=upright, **INERT)
        elif n_shown < n_features:
            # Places among those shown would be taken for places in the table.
            self.ax_.set(xticks=[], yticks=[])
        some = f"{n_shown:,} of {counted(n_features, 'feature')}"
        title = some if n_shown < n_features else counted(n_features, "feature")
        self.ax_.set(title=f"{self.name}: metric W, {title}" if self.name else f"metric W, {title}")
        return self

    def _draw_image(self, W: Any, given: dict[str, Any] | None) -> None:
        from matplotlib.image import AxesImage  # noqa: PLC0415

        largest = float(np.abs(W).max()) or 1.0
        # Blue and red are told apart in all common kinds of color vision; 0 is white.
        usual = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest, "interpolation": "nearest"}
        style = styled(AxesImage, usual, given)
        if "norm" in style:
            del style["vmin"], style["vmax"]
        self.image_ = self.ax_.imshow(W, **style)
