"""Slow, literal reference implementations that the tests compare the package with.

One sample and one formula at a time, float64, loops instead of speed. Equation and figure
numbers are those of Y. Sun, "Iterative RELIEF for feature weighting: algorithms, theories, and
applications", IEEE TPAMI 29(6), 2007, unless another source is named. One paper = one file.

Conventions
-----------
X : (n, d) array, already scaled. y : (n,) class labels (integer codes).
s : (n,) sample weights or None (all 1). Weight s means s copies of the row. Seen from a sample of
    weight s, its own row is a hit at distance 0 with weight max(s - 1, 0); for s = 1 that excludes
    the sample from its own neighbors. Rows of weight 0 are ignored. N is the sum of the weights.
"""

from .automatic_width import *
from .fisher_score import *
from .frel_2015 import *
from .hknn_2002 import *
from .im4e_2015 import *
from .irelief_2007 import *
from .knockoffs_2018 import *
from .lfe_2008 import *
from .lhr_2014 import *
from .logo_2010 import *
from .online_2007 import *
from .relief_1994 import *
from .rrelieff_1997 import *
from .shah_samworth_2013 import *
from .shared import *
from .simba_2004 import *
from .stability_2015 import *
from .surf_2009 import *
from .width_cv import *
