"""Online I-RELIEF."""

import numpy as np

from .irelief_2007 import positive_part_normalized, soft_margin_row
from .shared import class_priors


def online_pi(
    x,
    label,
    R,
    r_labels,
    w,
    sigma,
    margin="nearest",
    outliers=True,
    priors=None,
    self_index=None,
):
    """pi = gamma (mbar - hbar) of one point x against the references R; eq. 24, Fig. 3 step 6.

    priors : dict or array, class -> P(class); None takes the shares of the classes in R.
    self_index : row of R that is x itself, which is then no neighbor of it; None if x is not
        among the references.

    Without a hit or without a miss among the references pi = 0.
    """
    x, R, r_labels = np.asarray(x, dtype=float), np.asarray(R, dtype=float), np.asarray(r_labels)
    copies = np.ones(len(R))
    if self_index is not None:
        copies[self_index] = 0.0
    if priors is None:
        priors = class_priors(r_labels)
    row, gamma = soft_margin_row(x, label, R, r_labels, copies, w, sigma, margin, priors)
    return (gamma if outliers else 1.0) * row


def online_irelief_path(X, y, sigma, a=1.0, order=None, n_epochs=1, margin="nearest", outliers=True):
    """Fig. 3 over the samples in `order`, repeated n_epochs times: list of (w, nu) per step.

    w0 = 1/I, nu0 = 0, eta_t = min(1, 1 / (a t)),
    nu_t = (1 - eta_t) nu_{t-1} + eta_t pi_t (eq. 27), w_t = (nu_t)^+ / ||(nu_t)^+||_2 (eq. 28);
    w stays while no component of nu is positive.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    n_features = X.shape[1]
    order = range(len(X)) if order is None else order
    w, nu = np.full(n_features, 1.0 / n_features), np.zeros(n_features)
    path = []
    t = 0
    for _ in range(n_epochs):
        for n in order:
            t += 1
            pi = online_pi(X[n], y[n], X, y, w, sigma, margin, outliers, self_index=n)
            eta = min(1.0, 1.0 / (a * t))
            nu = (1 - eta) * nu + eta * pi
            new_w = positive_part_normalized(nu)
            w = w if new_w is None else new_w
            path.append((w, nu))
    return path


def online_irelief(X, y, sigma, a=1.0, order=None, n_epochs=1, margin="nearest", outliers=True):
    """The last w of `online_irelief_path`."""
    return online_irelief_path(X, y, sigma, a, order, n_epochs, margin, outliers)[-1][0]
