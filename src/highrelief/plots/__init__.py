"""Plots of fitted estimators with matplotlib: ``…Display`` classes in the style of scikit-learn.

``from_estimator`` computes the data and draws it; ``plot(ax=…)`` draws it again on other axes. The figure and
its artists are attributes whose names end in ``_``; nothing is shown or saved automatically. matplotlib comes
with ``pip install 'highrelief[report]'`` and is imported when the first plot is drawn.
"""

from .convergence import ConvergenceDisplay
from .heat_maps import InteractionDisplay, MetricDisplay
from .margins import MarginDisplay
from .stability import StabilityDisplay
from .weights import FeatureWeightsDisplay

__all__ = [
    "ConvergenceDisplay",
    "FeatureWeightsDisplay",
    "InteractionDisplay",
    "MarginDisplay",
    "MetricDisplay",
    "StabilityDisplay",
]
