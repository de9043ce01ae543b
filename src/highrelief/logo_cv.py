"""LOGO with kernel width and penalty chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bases.input import Table
from .bases.width_cv import CrossValidatedWidth, Part, checked_grid, nearest_to_middle, outwards
from .core.sparse_margins import MarginColumns
from .logo import LOGO

#: Penalties that are tried where the user gives none, as shares of the smallest that leaves no feature.
SHARES: NDArray[np.float64] = np.array([0.5, 0.2, 0.1])


class LOGOCV(CrossValidatedWidth, LOGO):
    r"""LOGO whose kernel width and penalty are those under which samples left out are classified best.

    For each fold the features are weighed by the other samples, with one width σ after the other, from the
    middle to the wide and to the narrow end, and with each with one penalty after the other, from large to
    small; every fit begins at the weights of the width before, or, with the first, of the larger penalty.
    What is chosen is then used with all samples, from the first weights on. As with ``LOGO(sigma="auto")``,
    solutions are brought to norm 1, so that λ does not change what σ means.

    The inner problem has one solution, however it is begun; the fixed point around it need not be the only
    one, and the path finds what follows from the middle.

    Parameters
    ----------
    sigmas : array-like or None, default=None
        Widths σ that are tried, for weights of norm 1: at weights w the kernel is exp(−d/(σ‖w‖₂)). None: 4,
        2, 1, ½ and ¼ times the width that ``LOGO(sigma="auto")`` finds with all samples and ``perplexity``.
    alphas : array-like or None, default=None
        Penalties that are tried, as shares in (0, 1] of the smallest λ that leaves no feature, in every step.
        None: 0.5, 0.2 and 0.1. Shares mean the same in a fold as with all samples; λ itself, of a sum over
        samples, would not.
    rule : {"best", "one-se"}, default="best"
        "one-se" takes the largest penalty that, with some width, has a mean score of not more than one
        standard error (over the folds) below the best: fewer features for a score that may be a little
        lower. Folds share samples, so that the standard error is a rule of thumb. Of widths that are good
        enough with the same penalty, the nearest to the middle is taken.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, so that no cycle is the answer. None: True.
        False is the plain iteration, which is over when w stands still, or in a cycle, and then says so.
    perplexity : float, default=0.5
        Effective number of neighbours, as a share of all samples, of the width that ``sigmas=None`` begins
        with.
    max_iter : int or None, default=None
        Most iterations of a fit that begins by itself. None: 10 averaged ones, which are then the whole
        method, or 50 plain ones.
    tol : float, default=1e-4
        The iteration ends when ‖w − w_before‖₂ is smaller.
    init : {"uniform", "random"} or array of shape (n_features,), default="uniform"
        Weights to begin with, in every fold and with all samples.
    cv : int, splitter or list of pairs, default=5
        Number of stratified folds, in the order of the samples; or, as in scikit-learn, an object with a
        method ``split``, or a list of (samples to fit, samples to leave out). With ``groups`` a number means
        folds that keep groups together. Folds that leave one class are skipped.
    scoring : str, callable or None, default=None
        What is to be large on the samples left out. None: the share of them that 5-NN among the fitted
        samples, in the learned metric, puts into their class. A name that scikit-learn knows, such as
        "balanced_accuracy", or a callable of a classifier, samples and their classes, is asked about the same
        rule.
    warm_steps : int or None, default=None
        Most iterations with every value but the first of a fold, which begin at the weights of the value
        before. None: half as many as with the first, averaged ones, or, with ``averaging=False``, as many. 0:
        each value begins by itself, as with the first.
    memory_budget : float or None, default=None
        Bytes that may be spent on distances and coefficients of all pairs. Beyond, they are computed in each
        pass, over all features. None: half of the memory that is free.
    class_weight : None, "balanced" or dict, default=None
        How much the samples of each class count in the sum: a weight > 0 for each class;
        "balanced" is N/(C·n_c) for the n_c samples of a class, so that all C classes count the same.
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
        How features are made comparable first; "range" maps to [0, 1].
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
    alphas_ : array of shape (n_alphas,)
        Shares of the largest penalty that were tried, from large to small.
    scores_ : array of shape (n_sigmas, n_alphas, n_folds)
        What every pair scored in every fold.
    best_index_ : tuple of two ints
        Places of what was chosen in ``sigmas_`` and ``alphas_``.
    alpha_share_ : float
        The share that was chosen.
    feature_weights_ : array of shape (n_features,)
        ≥ 0, most of them 0, Euclidean norm 1.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    sigma_ : float
        The width that was chosen.
    alpha_ : float
        The penalty λ of the last step with all samples, whose share of the largest is ``alpha_share_``;
        NaN if the first step had no answer.
    kkt_residual_ : float
        Largest violation of the conditions of a minimum in the last step, relative to the larger of λ and
        the largest derivative at w = 0; NaN if the first step had no answer.
    n_iter_ : int
        Iterations run with all samples.
    converged_ : bool
        Whether the weights stood still, or all averaged steps of ``max_iter=None`` were run.
    history_ : array of shape (n_iter,)
        ‖w − w_before‖₂ in every iteration; empty if the first had no answer.
    cycle_length_ : int
        Number of points the iteration went round in, 0 if it did not.
    classes_ : array of shape (n_classes,)
        The classes.
    execution_ : dict
        How it was computed: threads, precision, whether distances were stored; ``features_summed`` is the
        number of features over which each pass over the pairs had to go.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y., Todorovic, S. and Goodison, S. (2010). Local-learning-based feature selection for
    high-dimensional data analysis. IEEE TPAMI 32(9), 1610-1626.

    Examples
    --------
    >>> from highrelief import LOGOCV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> model = LOGOCV(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.scores_.shape
    (5, 3, 5)
    """

    _plain: ClassVar[type[LOGO]] = LOGO

    def __init__(
        self,
        *,
        sigmas: ArrayLike | None = None,
        alphas: ArrayLike | None = None,
        rule: str = "best",
        averaging: bool | None = None,
        perplexity: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-4,
        init: str | ArrayLike = "uniform",
        cv: Any = 5,
        scoring: Any = None,
        warm_steps: int | None = None,
        memory_budget: float | None = None,
        class_weight: Any = None,
        batch_neighbors: str = "within",
        n_features_to_select: int | float | None = None,
        weighted: bool | str = False,
        scale: str | None = "range",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            averaging=averaging,
            perplexity=perplexity,
            max_iter=max_iter,
            tol=tol,
            init=init,
            memory_budget=memory_budget,
            class_weight=class_weight,
            batch_neighbors=batch_neighbors,
            n_features_to_select=n_features_to_select,
            weighted=weighted,
            scale=scale,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.sigmas = sigmas
        self.alphas = alphas
        self.rule = rule
        self.cv = cv
        self.scoring = scoring
        self.warm_steps = warm_steps

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        if self.alphas is not None:
            checked_grid("alphas", self.alphas, at_most=1.0)

    def _forget(self) -> None:
        super()._forget()
        for name in ("alphas_", "alpha_share_"):
            self.__dict__.pop(name, None)

    def _first(self) -> NDArray[np.float64]:
        return self._first_weights(uniform=1.0, norm=2)

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        self._learn(part.rows, part.margins, w)

    def _penalty(self, near: MarginColumns, solution: NDArray[np.float64]) -> float:
        """λ as a share of the smallest that leaves no feature."""
        return self.alpha_share_ * near.largest_sum(0.5 * near.copies, np.flatnonzero(solution))

    def _set_grid(self, table: Table) -> None:
        super()._set_grid(table)
        self.alphas_ = SHARES.copy() if self.alphas is None else checked_grid("alphas", self.alphas)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.sigmas_.size, self.alphas_.size

    def _walk(self, part: Part, first: NDArray[np.float64]) -> Iterator[Any]:
        """Fit the member with one pair after the other, from the middle width and the largest penalty on."""
        ends: dict[tuple[int, int], NDArray[np.float64]] = {}
        for row, before in outwards(self.sigmas_.size):
            for place, share in enumerate(self.alphas_):
                part.member._held, part.member.alpha_share_ = float(self.sigmas_[row]), float(share)
                larger = ends.get((row, place - 1))
                ends[row, place] = self._next(part, first, ends.get((before, place), larger))
                yield row, place

    def _chosen(self) -> Any:
        """Places of the chosen width and of the chosen penalty, the largest that is good enough."""
        if not self.scores_.shape[-1]:
            return self.sigmas_.size // 2, self.alphas_.size // 2
        good = self._good()
        place = int(np.argmax(good.any(axis=0)))
        return nearest_to_middle(good[:, place]), place

    def _hold_chosen(self, member: Any) -> None:
        super()._hold_chosen(member)
        member.alpha_share_ = float(self.alphas_[self.best_index_[1]])
