"""Pictures of what was fitted, by matplotlib: ``…Display`` classes in scikit-learn's manner.

``from_estimator`` computes what is to be seen and draws it; ``plot(ax=…)`` draws it again, elsewhere. The
figure and its parts are attributes whose names end in ``_``; nothing is shown or saved by itself. matplotlib
comes with ``pip install 'highrelief[report]'`` and is imported when the first picture is drawn.
"""

from .convergence import ConvergenceDisplay
from .interactions import InteractionDisplay
from .margins import MarginDisplay
from .metric import MetricDisplay
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
