"""The classifiers that the paper takes from Weka, with Weka's defaults where scikit-learn has the method.

Not in scikit-learn, and quoted only: Weka's alternating decision trees (ADT; a CART tree is shown beside
them), Bayesian networks (BN) and networks of radial basis functions (RBF).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ..judges import in_range
from .learners import Array, Learned, Learner, Rule, always, nearest

#: Kernels of Weka's SMO with their defaults, of products and squared distances; PUK has σ = ω = 1.
KERNELS: Mapping[str, Callable[[Array, Array], Array]] = {
    "SVM1": lambda products, _: products,
    "SVM2": lambda products, _: products**2,
    "SVM3": lambda products, _: products**3,
    "SVMP": lambda _, squares: 1.0 / (1.0 + 4.0 * squares),
    "SVMR": lambda _, squares: np.exp(-0.01 * squares),
}


def support_vectors(X: Array, y: Array, _: float) -> Learned:
    """Support vector machines with C = 1 on features in [0, 1]; weights are those of the linear one, squared.

    Dropping the features that so weigh least is SVM-RFE.
    """
    known = in_range(X, X)[0].astype(np.float64)

    def kernels(new: Array) -> dict[str, Array]:
        products, squares = new @ known.T, euclidean_distances(new, known, squared=True)
        return {name: kernel(products, squares) for name, kernel in KERNELS.items()}

    machines = {name: SVC(C=1.0, kernel="precomputed").fit(K, y) for name, K in kernels(known).items()}
    weights = (machines["SVM1"].dual_coef_ @ known[machines["SVM1"].support_])[0] ** 2
    asked: list[tuple[Array, dict[str, Array]]] = []

    def rule(name: str, new: Array) -> Array:
        # All five are asked of the same samples one after the other.
        if not asked or asked[0][0] is not new:
            asked[:] = [(new, kernels(in_range(X, new)[1]))]
        return machines[name].predict(asked[0][1][name])

    return Learned(weights, {name: partial(rule, name) for name in KERNELS})


def tree(X: Array, y: Array, _: float) -> Learned:
    """A CART tree."""
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    return Learned(model.feature_importances_, {"CART": model.predict})


def without_weights(X: Array, y: Array, _: float) -> Learned:
    """1-NN, 3-NN on features in [0, 1], as Weka's have it, and naive Bayes with normal densities."""
    inside = in_range(X, X)[0]
    ones = np.ones(X.shape[1])

    def near(n_neighbors: int) -> Rule:
        rule = nearest(inside, y, ones, n_neighbors=n_neighbors)
        return lambda new: rule(in_range(X, new)[1])

    return Learned(ones, {"IB1": near(1), "IB3": near(3), "NBC": naive_bayes(X, y)})


def naive_bayes(X: Array, y: Array) -> Rule:
    """Normal densities of the features that vary."""
    varies = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    if varies.size == 0:
        return always(y)
    model = GaussianNB().fit(X[:, varies], y)
    return lambda new: model.predict(new[:, varies])


RIVALS: Mapping[str, Learner] = {
    "SVM": Learner(support_vectors, tuple(KERNELS)),
    "CART": Learner(tree, ("CART",)),
    "IB": Learner(without_weights, ("IB1", "IB3", "NBC")),
}
