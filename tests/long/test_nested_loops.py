"""Two loops of folds against one, on noise.

`tests/selection/test_cross_validation.py` checks which samples each fit sees.
"""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from highrelief import CrossValidatedSelector, FisherScore


def test_nested_accuracy_on_noise_is_chance_where_one_loop_is_not():
    """Ambroise and McLachlan (2002): 40 samples, 2,000 features that say nothing of the classes."""
    nested, chosen, one_loop = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 2000)), np.arange(40) % 2
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        selector = CrossValidatedSelector(FisherScore(), cv=3, cuts=[1, 3, 10, 30, 100, 300, 1000])
        knn = make_pipeline(MinMaxScaler(), KNeighborsClassifier(3))
        nested.append(cross_val_score(make_pipeline(selector, knn), X, y, cv=folds).mean())
        chosen.append(clone(selector).fit(X, y).cv_scores_.mean(axis=0).max())
        outside = FisherScore(n_features_to_select=20).fit_transform(X, y)
        one_loop.append(cross_val_score(knn, outside, y, cv=folds).mean())
    # 800 samples are judged; three standard errors of as many independent ones are 0.053.
    assert abs(np.mean(nested) - 0.5) < 0.053
    assert np.mean(one_loop) > 0.9
    # The score of the best cut is that of the best of many: between the two.
    assert np.mean(nested) + 0.05 < np.mean(chosen) < np.mean(one_loop) - 0.1
