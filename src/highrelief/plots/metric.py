"""Heat map of a learned metric."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._engine.parameters import check_count
from ..base.meta import innermost
from ..base.selector import WeightSelector, best_first
from .drawing import MatrixDisplay, counted, feature_labels, pyplot

#: Maximum number of features with axis labels.
_MOST_NAMES = 40


@dataclass(eq=False, repr=False)
class MetricDisplay(MatrixDisplay):
    """Heat map of the matrix W of a metric, with a color scale centered at 0.

    As in Fig. 3 of Sun and Wu (2008): an irrelevant feature has a row and a column near 0; entries off the
    diagonal are contributions of pairs of features. Create it with :meth:`from_estimator`.

    Parameters
    ----------
    metric : array-like of shape (n_shown, n_shown)
        The matrix.
    features : array-like of shape (n_shown,), default=None
        Column indices of its features; None: 0, 1, …
    feature_names : array-like of shape (n_features,), default=None
        Names of all features of X; None: x0, x1, …
    n_features_in : int, default=None
        Number of features of X; None: that of the matrix.
    name : str, default=None
        Start of the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    image_ : matplotlib AxesImage
        The matrix.
    colorbar_ : matplotlib Colorbar
        The color scale.

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

    metric: ArrayLike
    _: KW_ONLY
    features: ArrayLike | None = None
    feature_names: ArrayLike | None = None
    n_features_in: int | None = None
    name: str | None = None

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
            A fitted :class:`~highrelief.LFE` or :class:`~highrelief.DANN`, or another estimator that projects
            samples on ``components_`` A: W = AᵀA is the metric of the projected samples.
        feature_names : array-like of shape (n_features_in,), default=None
            Feature names; None: those of the fit, or x0, x1, …
        n_features : int, default=30
            Maximum number of features: those with the largest diagonal entries, in the order of the columns.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: a new figure.
        image_kw : dict, default=None
            Options of matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether to draw the color scale.

        Returns
        -------
        display : MetricDisplay
            The display.
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
        # Not all of W, which takes 3.2 GB for 20,000 features.
        diagonal = np.einsum("ij,ij->j", components, components)
        features = np.sort(best_first(diagonal, n_features))
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
            Axes to draw on; None: a new figure.
        image_kw : dict, default=None
            Options of matplotlib's ``Axes.imshow``.
        colorbar : bool, default=True
            Whether to draw the color scale.

        Returns
        -------
        display : MetricDisplay
            The display itself.
        """
        W = np.asarray(self.metric, dtype=np.float64)
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not W.size:
            raise ValueError(f"metric has the shape {W.shape}; a square matrix is needed.")
        n_shown = len(W)
        features = np.arange(n_shown) if self.features is None else np.asarray(self.features)
        n_features = n_shown if self.n_features_in is None else self.n_features_in
        side = min(max(5.0, 0.2 * n_shown + 2.0), 10.0)
        self._open_axes(ax, width=side + 1.0, height=side)
        largest = float(np.abs(W).max()) or 1.0
        self._draw_matrix(W, {"vmin": -largest, "vmax": largest}, image_kw, colorbar=colorbar)
        labels = feature_labels(self.feature_names, n_features, features)
        if n_shown <= _MOST_NAMES:
            self._label_ticks(labels)
        elif n_shown < n_features:
            # Indices among the features shown would be mistaken for column indices.
            self.ax_.set(xticks=[], yticks=[])
        some = f"{n_shown:,} of {counted(n_features, 'feature')}"
        title = some if n_shown < n_features else counted(n_features, "feature")
        self.ax_.set(title=self._titled(f"metric W, {title}"))
        return self
