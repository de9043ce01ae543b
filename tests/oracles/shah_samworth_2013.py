"""Shah & Samworth (2013), "Variable selection with error control: another look at stability selection"."""

import numpy as np
from scipy.optimize import minimize

__all__ = ["heaviest_concave_tail", "plain_bound", "unimodal_bound"]


def heaviest_concave_tail(mean, n_steps, r, t, seed=0, tried=40_000, polished=4):
    """Largest P(X >= t/n) over r-concave f on {0, 1/n, ..., 1} with E X <= mean, by search.

    f^r > 0 is convex on a support 0..k, that is: a number plus hinges to the right and to the left of every
    point, none of them negative. Drawn at random for each k; the best are improved by a general solver.
    """
    random = np.random.default_rng(seed)
    best = 0.0
    for k in range(t, n_steps + 1):
        points = np.arange(k + 1)
        apart = points[:, np.newaxis] - points
        pieces = np.hstack([np.ones((k + 1, 1)), np.maximum(apart, 0)[:, :-1], np.maximum(-apart, 0)[:, 1:]])

        def densities(logs, pieces=pieces):
            f = (np.exp(np.clip(logs, -30.0, 10.0)) @ pieces.T) ** (1.0 / r)
            return f / f.sum(axis=-1, keepdims=True)

        def lack(logs, densities=densities, points=points):
            return mean * n_steps - densities(logs) @ points

        def negative_tail(logs, densities=densities):
            return -densities(logs)[..., t:].sum(axis=-1)

        starts = random.uniform(-9.0, 3.0, size=(tried, 2 * k + 1))
        starts[: tried // 2, k + 1 :] = -20.0
        starts = starts[lack(starts) >= 0.0]
        for start in starts[np.argsort(negative_tail(starts))[:polished]]:
            found = minimize(
                negative_tail,
                start,
                constraints={"type": "ineq", "fun": lack},
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-13},
            )
            for each in (start, found.x):
                if lack(each) >= -1e-10:
                    best = max(best, -float(negative_tail(each)))
    return best


def plain_bound(q, p, tau):
    """Theorem 1 with theta = q/p."""
    theta = q / p
    return theta / (2 * tau - 1) * q


def unimodal_bound(q, p, tau, pairs):
    """Theorem 2 with theta = q/p; None outside of what it covers."""
    theta = q / p
    least = min(0.5 + theta**2, 0.5 + 1 / (2 * pairs) + 0.75 * theta**2)
    if theta > 1 / np.sqrt(3) or not least < tau <= 1:
        return None
    if tau <= 0.75:
        constant = 1 / (2 * (2 * tau - 1 - 1 / (2 * pairs)))
    else:
        constant = 4 * (1 - tau + 1 / (2 * pairs)) / (1 + 1 / pairs)
    return constant * theta * q
