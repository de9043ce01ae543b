"""I-RELIEF with a kernel width chosen by cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bases.width_cv import CrossValidatedWidth, Part
from .irelief import IRelief


class IReliefCV(CrossValidatedWidth, IRelief):
    r"""I-RELIEF whose kernel width is the one under which samples left out are classified best.

    For each fold the features are weighed by the other samples, with one width σ after the other, from the
    middle to the wide and to the narrow end; every fit begins at the weights of the one before, and the
    distances of the fold are laid out once.
    The width with the best mean score is then used with all samples, from the first weights on: as
    :class:`IRelief` does, with the kernel exp(−d/(σ‖w‖₂)) in every step.

    Where I-RELIEF has one fixed point (a wide σ) and the iteration is plain, a path that is started warm ends
    where separate fits do, and with all samples where ``IRelief(sigma=sigma_)`` does. With a narrow σ there
    may be several, or cycles, and the path finds what follows from the middle.

    Parameters
    ----------
    sigmas : array-like or None, default=None
        Widths σ that are tried, for weights of norm 1: at weights w the kernel is exp(−d/(σ‖w‖₂)). None: 4,
        2, 1, ½ and ¼ times the width that ``IRelief(sigma="auto")`` finds with all samples and the
        ``perplexity``.
    margin : {"nearest", "prior"}, default="nearest"
        For more than two classes: misses of all classes together (I-RELIEF-2, eq. 21), or class by class,
        weighted by P(c)/(1 − P(y)) (I-RELIEF-1, eq. 20).
    outliers : bool, default=True
        Whether likely outliers count less (γ); False sets γ = 1.
    averaging : bool or None, default=None
        Whether w is the mean of the images of all steps so far, so that no cycle is the answer. None: True.
        False is the plain iteration, which is over when w stands still, or in a cycle, and then says so.
    perplexity : float, default=0.5
        Effective number of neighbours, as a share of all samples, of the width that ``sigmas=None`` begins
        with.
    max_iter : int or None, default=None
        Most iterations of a fit that begins by itself. None: 10 averaged ones, which are then the whole
        method, or 100 plain ones.
    tol : float, default=1e-5
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
        are computed in each. Twice as many, up to 200 MB, also keep what the pairs weigh, by which features
        are left out whose margin is certain to stay negative. None: half of the memory that is free. The
        result is the same, bit for bit.
        Beside them a fit holds one scaled copy of X, or, if X has at least 10 times more features than
        samples and the distances are kept, a block of its columns; and as much again for the features with
        missing values.
    class_weight : None, "balanced" or dict, default=None
        How much the samples of each class count in the mean, and the class in P(c): a weight > 0 for each;
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
    scores_ : array of shape (n_sigmas, n_folds)
        What every width scored in every fold.
    best_index_ : int
        Place of the chosen width in ``sigmas_``.
    feature_weights_ : array of shape (n_features,)
        ≥ 0, Euclidean norm 1; all 0 if no feature had a positive margin.
    feature_importances_ : array of shape (n_features,)
        The same.
    ranking_ : array of shape (n_features,)
        1 = best; equal weights share the lowest number.
    outlier_proba_ : array of shape (n_samples,)
        1 − γ_n at the final weights: how likely the sample is mislabelled. NaN for samples of weight 0.
    sigma_ : float
        The width that was chosen.
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
        How it was computed: threads, precision, whether distances were stored or computed again.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Sun, Y. (2007). Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    TPAMI 29(6), 1035-1051.

    Examples
    --------
    >>> from highrelief import IReliefCV
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> model = IReliefCV(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.scores_.shape
    (5, 5)
    """

    _plain: ClassVar[type[IRelief]] = IRelief
    _takes_sparse = False
    _margin_may_follow = False

    def __init__(
        self,
        *,
        sigmas: ArrayLike | None = None,
        margin: str = "nearest",
        outliers: bool = True,
        averaging: bool | None = None,
        perplexity: float = 0.5,
        max_iter: int | None = None,
        tol: float = 1e-5,
        init: str | ArrayLike = "uniform",
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "one-se",
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
            margin=margin,
            outliers=outliers,
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
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.warm_steps = warm_steps

    def _first(self) -> NDArray[np.float64]:
        return self._first_weights(uniform=1.0 / self.n_features_in_, norm=2)

    def _run(self, part: Part, w: NDArray[np.float64]) -> None:
        self._learn(part.table, part.rows, w)
