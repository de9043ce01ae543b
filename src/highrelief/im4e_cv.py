"""I-M4E with a kernel width chosen by cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bases.width_cv import CrossValidatedWidth, Part
from .im4e import IM4E


class IM4ECV(CrossValidatedWidth, IM4E):
    r"""I-M4E whose kernel width is the one with which it classifies samples left out best.

    For each fold the features are weighed by the other samples, with one width σ after the other, from the
    middle to the wide and to the narrow end; every fit begins at the weights of the one before, and the
    distances of the fold are laid out once.
    The width with the best mean score is then used with all samples, from the first weights on.

    ``IM4E(sigma="path")`` is the paper's way: fourteen widths that do not know the data, plain iterations,
    and σ for weights of sum 1. Here the widths are around the automatic one, for weights of norm 1, and steps
    are averaged, so that no cycle is the answer.

    Parameters
    ----------
    sigmas : array-like or None, default=None
        Widths σ that are tried, for weights of norm 1: at weights w the kernel is exp(−d/(σ‖w‖₂)). None: 4,
        2, 1, ½ and ¼ times the width that ``IM4E(sigma="auto")`` finds with all samples and ``perplexity``.
    w_step : {"paper", "exact"}, default="paper"
        How weights follow from v: by eq. (9), or as the exact minimiser of C on the simplex, which is the
        projection of v on it, (v − θ)⁺ with θ such that the sum is 1.
    alpha : float or None, default=None
        λ; None is the number of samples (the sum of their weights). By eq. (9) it only shifts the cost. In
        the exact step a large λ makes weights alike, a small one leaves few of them.
    loss : {"linear", "log"}, default="linear"
        "linear" is the paper's. "log" is ours, after its outlook: the sum of margin and quality of a sample,
        m_n = ρ_n − σ(E_miss − E_hit), enters as σ·log(1 + exp(−m_n/σ)). That leaves eqs. (5) and (6) as
        they are, is −σ·log of the probability γ_n that the sample is nearer to its class than to others
        (Sun 2007, eq. 10), and multiplies the sample's part of v by 1 − γ_n: samples well inside their class
        count little.
    sparsity : float, default=0.0
        In [0, 1); ours, after the paper's outlook on L1. A penalty μ‖w‖₁ beside λ‖w‖₂² subtracts μ/2λ from v
        before its positive part is taken; μ = ``sparsity`` times the smallest μ at which no feature is left,
        the largest component of 2λv. The simplex cannot see it: not with ``w_step="exact"``.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, so that no cycle is the answer. None: True.
        False is the plain iteration, which is over when w stands still, or in a cycle, and then says so.
    perplexity : float, default=0.5
        Effective number of neighbours, as a share of all samples, of the width that ``sigmas=None`` begins
        with.
    max_iter : int or None, default=None
        Most iterations of a fit that begins by itself. None: 10 averaged ones, which are then the whole
        method, or 100 plain ones.
    tol : float, default=1e-6
        The iteration ends when C changes by less, or, in float32, by no more than rounding does; never if 0.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Weights to begin with, in every fold and with all samples.
    cv : int, splitter or list of pairs, default=5
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (samples to fit, samples to leave out). With ``groups`` a number means
        folds that keep groups together. Folds that leave one class are skipped.
    scoring : str, callable or None, default=None
        What is to be large on the samples left out. None: the share of them that it classifies
        right. A name that scikit-learn knows, such as "neg_log_loss", or a callable of a classifier, samples
        and their classes.
    rule : {"one-se", "best"}, default="one-se"
        "one-se": of the widths whose mean score is not more than one standard error (over the folds) below
        the best, the one nearest to the middle of those that are tried, which by default is the automatic
        width: another one is taken only if the folds speak for it. "best": the best, of equally good ones
        the nearest to the middle.
    warm_steps : int or None, default=None
        Most iterations with every value but the first of a fold, which begin at the weights of the value
        before. None: half as many as with the first, averaged ones, or, with ``averaging=False``, as many. 0:
        each value begins by itself, as with the first.
    memory_budget : float or None, default=None
        Bytes that may be spent on keeping the distances of all pairs from one pass to the next; beyond, they
        are computed in each. None: half of the memory that is free. The result is the same, bit for bit.
    batch_neighbors : {"within", "across"}, default="within"
        Where ``fit`` is told of ``batches``: whether hits and misses are looked for in the batch of a sample
        only, or in the other batches only.
    n_features_to_select : int, float or None, default=None
        None keeps every feature with weight > 0, at least one; an int that many; a float in (0, 1] that
        share.
    weighted : bool, "manhattan" or "euclidean", default=False
        Whether ``transform`` scales and multiplies the kept columns by the weights, or their square roots
        for "euclidean"; True is "manhattan".
    scale : {"range", "standard", None}, default="range"
        How features are made comparable first; "range" maps to [0, 1]. The paper has "standard".
    n_jobs : int or None, default=None
        Threads. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        1 shows progress on long work.
    random_state : int, RandomState or None, default=None
        For ``init="random"``.

    Attributes
    ----------
    sigmas_ : array of shape (n_sigmas,)
        Widths that were tried, from wide to narrow.
    scores_ : array of shape (n_sigmas, n_folds)
        What every width scored in every fold.
    best_index_ : int
        Place of the chosen width in ``sigmas_``.
    feature_weights_ : array of shape (n_features,)
        ≥ 0, sum 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    cost_ : array of shape (n_iter,)
        C after every iteration with all samples.
    hit_entropy_, miss_entropy_ : array of shape (n_iter,)
        Σ_n E_hit and Σ_n E_miss in every iteration, in nats.
    sigma_ : float
        The width that was chosen; in the units of Σ_j w_j|x_j| with Σw = 1, that of ``sigmas_`` times ‖w‖₂.
    n_iter_ : int
        Iterations run with all samples.
    converged_ : bool
        Whether C stood still, or all averaged steps of ``max_iter=None`` were run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no answer.
    cycle_length_ : int
        Number of points the iteration went round in, 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored or computed again.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Bei, Y. and Hong, P. (2015). Maximizing margin quality and quantity. IEEE International Workshop on
    Machine Learning for Signal Processing.

    Examples
    --------
    >>> from highrelief import IM4ECV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(300, n_irrelevant=20, random_state=0)
    >>> model = IM4ECV(n_features_to_select=2).fit(X[:200], y[:200])
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    _plain: ClassVar[type[IM4E]] = IM4E

    def __init__(
        self,
        *,
        sigmas: ArrayLike | None = None,
        w_step: str = "paper",
        alpha: float | None = None,
        loss: str = "linear",
        sparsity: float = 0.0,
        averaging: bool | None = None,
        perplexity: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-6,
        init: str | ArrayLike = "uniform",
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "one-se",
        warm_steps: int | None = None,
        memory_budget: float | None = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            w_step=w_step,
            alpha=alpha,
            loss=loss,
            sparsity=sparsity,
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            cv=cv,
            memory_budget=memory_budget,
            batch_neighbors=batch_neighbors,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.sigmas = sigmas
        self.scoring = scoring
        self.rule = rule
        self.warm_steps = warm_steps

    def _first(self) -> NDArray[np.float64]:
        return self._first_weights(uniform=1.0, norm=1)

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        self._learn(part.table, part.rows, w)

    def _rule(self, part: Part) -> Any:
        """The member is a classifier itself."""
        return part.member
