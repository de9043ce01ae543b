"""highrelief: which features matter, when they act only together.

The family of local-margin feature weighters for scikit-learn: every class here is a selector with one
weight per feature in ``feature_weights_`` and a ranking in ``ranking_``.
"""

from .fisher import FisherScore
from .irelief import IRelief
from .irelief_online import OnlineIRelief
from .relief import Relief, ReliefF

__version__ = "0.1.0.dev0"

__all__ = ["FisherScore", "IRelief", "OnlineIRelief", "Relief", "ReliefF"]
