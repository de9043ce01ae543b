"""``highrelief.report`` and ``highrelief.comparison_report``: results as self-contained HTML pages."""

from __future__ import annotations

import html as markup
import os
import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._engine.cached_property import cached_property
from ...base.progress import listening, terminal_line
from ...base.selector import stays_within_batches, weighs_classes
from ...base.validation import refuse_dask
from ...catalog import METHODS
from ...io.cells import counted
from ...io.files import atomic_write
from ...selection.halves import checked_halves, fits_to_halves, why_not
from ..comparison import Comparison
from ..interactions import InteractionTable
from ..recommendation import Recommendation, Resampling, default_resampling, recommend
from . import wording
from .comparison import CLASSIFIER_DESCRIPTIONS, ComparisonContents, comparison_contents
from .contents import Contents, Convergence, Correlations, Finding, Interactions, Origin, Samples, Stability
from .diagnostics import RankSpread, convergence, describe_agreement, n_best, samples, stability
from .features import (
    N_NAMED,
    Weights,
    correlations,
    describe_pairs,
    describe_selection,
    distributions,
    feature_table,
    interacting_pairs,
    measure_interactions,
    named_interactions,
    sample_map,
)
from .finding import finding, pair_pictures
from .inputs import (
    ReportInputs,
    about_values,
    cite,
    describe_tertiles,
    origin,
    python_again,
    report_inputs,
    software_versions,
)
from .wording import listed, number, percent, reference_keys, two_digits, with_article, with_interval

__all__ = ["Report", "comparison_report", "report"]


@dataclass(frozen=True)
class Report:
    """The contents of a report and its HTML page, shown as output in notebooks."""

    contents: Contents | ComparisonContents

    @cached_property
    def html(self) -> str:
        """The page as one self-contained HTML document."""
        return _page(type(self.contents))(self.contents)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file atomically.

        Parameters
        ----------
        path : str or path
            The file; an existing one is overwritten.

        Returns
        -------
        path : Path
            The file.
        """
        target = Path(path)
        _check_folder(target)
        page = self.html.encode()
        with atomic_write(target) as part:
            part.write_bytes(page)
        return target

    def _repr_html_(self) -> str:
        """Return the page in a frame that isolates its scripts and styles from the notebook."""
        return (
            f'<iframe title="{markup.escape(self.contents.title)}"'
            ' sandbox="allow-scripts allow-downloads allow-popups"'
            ' style="width: 100%; height: 800px; border: 1px solid #8888"'
            f' srcdoc="{markup.escape(self.html)}"></iframe>'
        )


def report(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_names: Sequence[str] | None = None,
    resamples: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    interactions: bool | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Report:
    r"""Report the ranking of a fitted estimator as a self-contained HTML page.

    It begins with the finding: which features stand out, how many to keep and why, and how far to trust this.
    The ranking, convergence, stability, samples that may be mislabeled, distributions of the best features,
    redundant features and interactions follow, with all that is needed to reproduce the result.

    The recommended number of features is that of the estimator if it controls an error rate, like
    :class:`HighRelief`. Otherwise the weights are compared with those of fits to permuted labels.

    Stability is measured by fitting clones of the estimator to disjoint halves of the samples. On pure noise
    the agreement of two such halves is 0 on average; subsets of 90 % of the samples overlap, and agree on
    noise too. The weight of a relevant feature varies over the halves about as it would over new tables of
    full size: the mean of half of n samples, drawn without replacement, has the variance :math:`\sigma^2/n`
    around the mean of all, as the mean of n new samples has around the truth.

    Parameters
    ----------
    estimator : estimator
        A fitted weighter, or a meta-estimator around one.
    X : array-like or frame of shape (n_samples, n_features)
        The samples of its fit, with missing values and categories as the weighter supports them.
    y : array-like of shape (n_samples,)
        Class labels; or a continuous target for a weighter such as RReliefF.
    path : str or path, default=None
        File to write the page to.
    title : str, default=None
        Title of the page; None: the method and the number of features.
    feature_names : sequence of str, default=None
        Feature names; None: the columns of a frame, or x0, x1, …
    sample_names : sequence of str, default=None
        Sample names; None: the index of a pandas frame, or 1, 2, …
    resamples : int, "auto" or None, default="auto"
        Number of halves (even). "auto": 4 to 20, such that all refits to halves and to permuted labels take
        no more work than about three fits, except on small tables. 0 or None: no refits, and therefore
        neither stability nor a recommended number of features.
    random_state : int, RandomState or None, default=0
        Seed of the halves and permutations.
    n_jobs : int or None, default=None
        Number of halves fitted in parallel; does not change the result.
    groups : array-like of shape (n_samples,), default=None
        Group labels: samples of a group, such as those of one patient, stay in one half.
    batches : array-like of shape (n_samples,), default=None
        Batch labels that were passed to ``fit``, for the fits to halves and the margins.
    interactions : bool or None, default=None
        Whether to measure the interactions of the best features (see :func:`highrelief.interactions`); None:
        if it is little work.
    progress : bool or callable, default=True
        True shows a progress line on a terminal or in a notebook if resampling takes longer than two seconds.
        A callable receives the number of refits that are done, and their total number.

    Returns
    -------
    report : Report
        ``contents`` has the plain values, ``html`` is the page, ``save(path)`` writes it.

    References
    ----------
    Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. Journal
    of Machine Learning Research 18(174), 1-54.

    Shah, R. and Samworth, R. (2013). Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75(1), 55-80.

    Examples
    --------
    >>> import highrelief
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> estimator = highrelief.IRelief().fit(X, y)
    >>> contents = highrelief.report(estimator, X, y, resamples=10).contents
    >>> contents.features.names[:2], contents.features.frequency[:2]
    (['x1', 'x0'], [1.0, 1.0])
    >>> print(contents.summary[0])
    I-RELIEF ranked 22 features by how well they tell the classes of 200 samples apart: 0 (106) and 1 (94).
    """
    refuse_dask(X, "report")
    if path is not None:
        # Fail before the long computation.
        _check_folder(Path(path))
        _page(Contents)
    with _progress_shown(progress):
        finished = Report(
            report_contents(
                estimator,
                X,
                y,
                title=title,
                feature_names=feature_names,
                sample_names=sample_names,
                resamples=resamples,
                random_state=random_state,
                n_jobs=n_jobs,
                groups=groups,
                batches=batches,
                interactions=interactions,
            )
        )
    if path is not None:
        finished.save(path)
    return finished


def _page(kind: type) -> Callable[[Any], str]:
    """Return the function that renders such contents."""
    if kind is ComparisonContents:
        from .page import comparison_page  # noqa: PLC0415

        return comparison_page
    from .page import ranking_page  # noqa: PLC0415

    return ranking_page


@contextmanager
def _progress_shown(progress: bool | Callable[[int, int], None]) -> Iterator[None]:
    """Report the progress of the fits inside to the callable or to the terminal."""
    if callable(progress):
        with listening(progress):
            yield
    # A program without console has no stderr.
    elif progress and ((sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules):
        with terminal_line("report") as line, listening(line):
            yield
    else:
        yield


def _check_folder(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"path={str(path)!r} is a folder; name a file in it, such as report.html.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: the folder {str(path.parent)!r} does not exist.")


def comparison_report(
    comparison: Comparison,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str = "Comparison of methods",
    feature_names: Sequence[str] | None = None,
    methods: Mapping[str, Any] | None = None,
    classifier_descriptions: Mapping[str, str] = CLASSIFIER_DESCRIPTIONS,
    parameters: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
    time: Mapping[str, str] | None = None,
    again: str | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Report:
    """Report a comparison of methods as a self-contained HTML page.

    It shows accuracies with intervals, stability of rankings and selections, the selected features and times,
    with a summary that states which differences are beyond chance.

    Parameters
    ----------
    comparison : Comparison
        The result of :func:`highrelief.inspection.comparison.compare`.
    path : str or path, default=None
        File to write the page to.
    title : str, default="Comparison of methods"
        Title of the page.
    feature_names : sequence of str, default=None
        Names in the order of the columns; None: x0, x1, …
    methods : mapping of str to estimator, default=None
        The estimators that were compared, for parameters and references. None: references of the names that
        the command knows, such as "irelief".
    classifier_descriptions : mapping of str to str
        Descriptions of the classifiers, by name.
    parameters, data, time : mapping of str to str, default=None
        Further facts about the comparison, the data (file, SHA-256) and the times.
    again : str, default=None
        Command that reproduces the comparison.
    notes, warnings : sequence of str
        Notes on the data, and warnings.

    Returns
    -------
    report : Report
        ``contents`` has the plain values, ``html`` is the page, ``save(path)`` writes it.

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> import highrelief
    >>> from highrelief.inspection.comparison import compare
    >>> from highrelief.datasets import make_xor
    >>> X, y, relevant = make_xor(200, n_irrelevant=20, random_state=0)
    >>> methods = {"relieff": highrelief.ReliefF(), "fisher": highrelief.FisherScore()}
    >>> found = compare(methods, X, y, cv=5, inner_cv=3, classifiers=["knn"], random_state=0)
    >>> report = highrelief.comparison_report(found, methods=methods)
    >>> for sentence in report.contents.summary[1].split(". "):
    ...     print(sentence)
    With knn, relieff is the most accurate: 95.0 % (95 % interval 89.3 % to 100.0 %)
    Less accurate by more than chance gives: fisher (by 35.0 points)
    Without selection, all features reach 55.0 %; relieff is above that by more than chance gives.
    """
    known = Origin(
        {
            "outer folds": str(len(comparison.folds)),
            **(parameters or {}),
            **{name: repr(each) for name, each in (methods or {}).items()},
        },
        dict(data or {}),
        software_versions(),
        dict(time) if time is not None else {"made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"},
        again,
        cite(_method_references(comparison, methods or {})),
    )
    finished = Report(
        comparison_contents(
            comparison,
            known,
            feature_names=feature_names,
            classifier_descriptions=classifier_descriptions,
            title=title,
            notes=notes,
            warnings=warnings,
        )
    )
    if path is not None:
        finished.save(path)
    return finished


def _method_references(comparison: Comparison, methods: Mapping[str, Any]) -> list[str]:
    """Return the keys of the references of the methods."""
    keys: list[str] = []
    for method in comparison.methods:
        if method.name in methods:
            keys += reference_keys(methods[method.name])
        elif method.name in METHODS:
            keys += METHODS[method.name].references
    return keys


# Contents of a report: sections, summary and facts

#: Class size below which results depend much on chance.
_FEW_SAMPLES = 10
#: Ratio of class sizes from which on the report warns of imbalance.
_OUTWEIGHS = 4


def summary(
    inputs: ReportInputs,
    weights: Weights,
    method_words: str,
    convergence: Convergence | None,
    stability: Stability | None,
    samples: Samples | None,
    correlations: Correlations | None,
    warnings: Sequence[str],
    interacting: Interactions | None = None,
) -> list[str]:
    """Summarize the result in sentences."""
    about_data = [_what_was_done(inputs), *_what_is_missing(inputs)]
    sentences = [*about_data, method_words, *_where_neighbors_are(inputs), _what_was_found(inputs, weights)]
    if convergence is not None:
        sentences.append(convergence.words[0])
    if stability is not None:
        agreement = describe_agreement(stability.n_best, stability.selection)
        sentences.append(
            f"{agreement[0].upper()}{agreement[1:]}: agreement {with_interval(stability.selection)}, where 0"
            " is chance and 1 is the same result."
        )
    if samples is not None:
        sentences.append(_about_samples(inputs, samples))
    if interacting is not None and interacting_pairs(interacting):
        sentences.append(describe_pairs(interacting_pairs(interacting)))
    if correlations is not None and correlations.groups:
        sentences.append(correlations.words[0])
    return sentences + _cautions(inputs, weights, warnings)


def _what_was_done(inputs: ReportInputs) -> str:
    if inputs.continuous_target:
        return _what_was_done_for_numbers(inputs)
    classes = [f"{name} ({size:,})" for name, size in zip(inputs.classes, inputs.class_sizes, strict=True)]
    n_samples, n_features = inputs.X.shape
    name = with_article(inputs.estimator)
    tell = "it tells" if n_features == 1 else "they tell"
    return (
        f"{name} ranked {counted(n_features, 'feature')} by how well {tell} the classes of {n_samples:,}"
        f" samples apart: {listed(classes)}."
    )


def _what_was_done_for_numbers(inputs: ReportInputs) -> str:
    n_samples, n_features = inputs.X.shape
    return (
        f"{with_article(inputs.estimator)} ranked {counted(n_features, 'feature')} by"
        f" {'its' if n_features == 1 else 'their'} relation to the target, a number between"
        f" {number(inputs.y.min())} and {number(inputs.y.max())}, in {n_samples:,} samples."
    )


def _what_is_missing(inputs: ReportInputs) -> list[str]:
    """Describe how much is missing and how the method treats it."""
    if inputs.missing is None:
        return []
    share, n_incomplete = float(inputs.missing.mean()), int(np.count_nonzero(inputs.missing))
    most = int(np.argmax(inputs.missing))
    which = f"{percent(float(inputs.missing[most]))} of {inputs.feature_names[most]}"
    return [
        f"{percent(share)[0].upper()}{percent(share)[1:]} of the values {'are' if share >= 0.015 else 'is'}"
        f" missing, in {counted(n_incomplete, 'feature')}{', at most ' + which if n_incomplete > 1 else ''}."
        " They were not imputed: a difference to a missing value is replaced by its expectation."
    ]


def _where_neighbors_are(inputs: ReportInputs) -> list[str]:
    """Describe the batches, if there are any."""
    if inputs.batches is None:
        return []
    n_batches = counted(np.unique(np.asarray(inputs.batches).astype(str)).size, "batch", "batches")
    where = "of its own batch" if stays_within_batches(inputs.estimator) else "of the other batches"
    return [
        f"The samples were measured in {n_batches}: a sample has neighbors {where} only. Ranks of features"
        " alone, boxes and correlations are those of all batches together."
    ]


def _what_was_found(inputs: ReportInputs, weights: Weights) -> str:
    if not weights.n_positive:
        nothing = (
            "nothing goes with the target" if inputs.continuous_target else "nothing tells the classes apart"
        )
        return (
            f"No feature weighs more than 0: by this method {nothing}, and the order of the features means"
            " nothing."
        )
    ranks = inputs.ranks
    # Name all features that share the last rank.
    n_first = int(np.count_nonzero(ranks <= ranks[weights.order[:5]].max()))
    best = [inputs.feature_names[j] for j in weights.order[:n_first] if weights.values[j] > 0.0]
    found = f"The best {'feature is' if len(best) == 1 else 'features are'} {listed(best, 5)}."
    if weights.comparable and weights.n_positive > N_NAMED:
        share = percent(weights.share_of_best(N_NAMED))
        found += f" The best {N_NAMED} hold {share} of all positive weight."
    return f"{found} {describe_selection(weights)}"


def _about_samples(inputs: ReportInputs, samples: Samples) -> str:
    """Return the sentence that counts suspects, with its interpretation."""
    if not samples.suspects:
        return samples.words[1]
    if samples.outlier_probability is not None:
        return (
            f"{samples.words[1]} By I-RELIEF, more of what is near is of other classes. A wrong label is one"
            " reason, a hard sample another."
        )
    return f"{samples.words[1]} Such samples are hard, and need not be mislabeled."


def _cautions(inputs: ReportInputs, weights: Weights, warnings: Sequence[str]) -> list[str]:
    sentences = []
    sizes = np.array([len(inputs.y)]) if inputs.continuous_target else inputs.class_sizes
    small = [f"{inputs.classes[c]} ({size})" for c, size in enumerate(sizes) if size < _FEW_SAMPLES]
    if small and inputs.continuous_target:
        sentences.append("Be careful: there are few samples, so that much is up to chance.")
    elif small:
        which = f"{'class' if len(small) == 1 else 'classes'} {listed(small, 5)}"
        sentences.append(f"Be careful: there are few samples of {which}, so that much is up to chance.")
    if sizes.max() >= _OUTWEIGHS * sizes.min() and not weighs_classes(inputs.estimator):
        sentences.append(
            f"Be careful: the classes differ much in size, {sizes.min():,} to {sizes.max():,} samples. Every"
            " sample counts, so that large classes influence the weights most."
        )
    if inputs.X.shape[1] > 10 * len(inputs.codes):
        sentences.append(
            f"Be careful: there are {inputs.X.shape[1] / len(inputs.codes):,.0f} times as many features as"
            " samples. Among so many, some look good by chance; trust those that come back in most halves of"
            " the samples."
        )
    if warnings:
        sentences.append(f"The fit gave {counted(len(warnings), 'warning')}, shown below.")
    return sentences


def facts(
    inputs: ReportInputs,
    weights: Weights,
    convergence: Convergence | None,
    stability: Stability | None,
    samples: Samples | None,
) -> list[tuple[str, str]]:
    """Return the key figures of the report as (name, value)."""
    found = [
        ("Samples", f"{len(inputs.codes):,}"),
        ("Target", f"{number(inputs.y.min())} to {number(inputs.y.max())}")
        if inputs.continuous_target
        else ("Classes", f"{len(inputs.classes):,}"),
        ("Features", f"{inputs.X.shape[1]:,}"),
        ("Kept", f"{weights.n_kept:,}"),
    ]
    if inputs.missing is not None:
        found.append(("Missing values", percent(float(inputs.missing.mean()))))
    if stability is not None and stability.selection.value is not None:
        best = "feature" if stability.n_best == 1 else f"{stability.n_best:,}"
        found.append((f"Stability of the best {best}", two_digits(stability.selection.value)))
    if samples is not None and samples.outlier_probability is not None and samples.n_suspects:
        found.append(("Labels to check", f"{samples.n_suspects:,}"))
    if convergence is not None and not convergence.scheduled:
        found.append(("Converged", "yes" if convergence.converged else "no"))
    return found


def report_contents(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_names: Sequence[str] | None = None,
    resamples: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    assessment: Assessment | None = None,
    interactions: bool | InteractionTable | str | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    data: Mapping[str, str] | None = None,
    time: Mapping[str, str] | None = None,
    again: str | None = None,
    value_labels: Mapping[str, Sequence[str]] | None = None,
) -> Contents:
    """Return the contents of the report of a fitted estimator.

    Parameters
    ----------
    estimator, X, y, title, feature_names, sample_names, resamples, random_state, n_jobs, groups, batches
        As in :func:`highrelief.report`.
    assessment : Assessment, default=None
        Recommendation and stability, if they are known already.
    interactions : bool, InteractionTable, str or None
        As in :func:`highrelief.report`; or interactions measured before, or the reason why they were not.
    notes, warnings : sequence of str
        Notes on how the data was read, and warnings of the fit.
    data, time : mapping of str to str, default=None
        Facts about the data and the run times, by name; None: digests of the values, and the current time.
    again : str, default=None
        Command that reproduces the report; None: Python code.
    value_labels : mapping of str to sequence of str, default=None
        Labels of the values 0, 1, … of some features, by feature name.

    Returns
    -------
    contents : Contents
        Plain values.
    """
    check_resamples(resamples)
    inputs = report_inputs(
        estimator,
        X,
        y,
        feature_names=feature_names,
        sample_names=sample_names,
        batches=batches,
        groups=groups,
        value_labels=value_labels,
    )
    begin = clock.perf_counter()
    known_time = dict(time) if time is not None else {"Made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"}
    if assessment is None:
        assessment = assess(inputs, resamples=resamples, random_state=random_state, n_jobs=n_jobs)
        if assessment.resampling.n_fits:
            known_time["Resampling took"] = f"{clock.perf_counter() - begin:.2f} s"
    weights, recommendation = assessment.weights, assessment.recommendation
    absent: dict[str, str] = {}

    def part(name: str, section: Any) -> Any:
        """Return a section; for a string, record it as the reason and return None."""
        if not isinstance(section, str):
            return section
        absent[name] = section
        return None

    resampled = part("stability", assessment.stability)
    stable, spread = (None, None) if resampled is None else resampled
    course = part("convergence", convergence(estimator))
    stands_out = isinstance(recommendation, str) or recommendation.n_features > 0
    margins = part("samples", samples(inputs, stands_out=stands_out))
    alike = part("correlations", correlations(inputs))
    begin = clock.perf_counter()
    if isinstance(interactions, (InteractionTable, str)):
        table = interactions
    else:
        table = measure_interactions(
            inputs,
            requested=interactions,
            resamples=assessment.resampling.n_halves,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        if not isinstance(table, str):
            known_time["Interactions took"] = f"{clock.perf_counter() - begin:.2f} s"
    interacting = part("interactions", table if isinstance(table, str) else named_interactions(inputs, table))
    method_words = wording.words(estimator)
    return Contents(
        title=title or f"{wording.title(estimator)}: {counted(inputs.X.shape[1], 'feature')} ranked",
        method=wording.title(estimator),
        method_class=type(estimator).__name__,
        method_words=method_words,
        classes=inputs.classes,
        class_sizes=inputs.class_sizes.tolist(),
        summary=summary(inputs, weights, method_words, course, stable, margins, alike, warnings, interacting),
        facts=facts(inputs, weights, course, stable, margins),
        features=feature_table(inputs, weights, spread),
        convergence=course,
        stability=stable,
        samples=margins,
        distributions=distributions(inputs),
        correlations=alike,
        interactions=interacting,
        finding=finding(inputs, weights, recommendation, stable, spread, interacting),
        pair_pictures=pair_pictures(inputs, recommendation, interacting),
        sample_map=sample_map(inputs, weights.n_kept),
        origin=origin(
            estimator,
            data=about_values(inputs.X, inputs.y) if data is None else data,
            time=known_time,
            again=again or python_again(inputs, resamples=resamples, random_state=random_state),
        ),
        notes=list(notes),
        warnings=list(warnings),
        absent=absent,
        tertiles=describe_tertiles(inputs.y) if inputs.continuous_target else "",
    )


def check_resamples(resamples: int | str | None) -> int | None:
    """Return a valid number of halves; None for "auto"."""
    return None if resamples == "auto" else checked_halves("resamples", resamples, or_none=True)


@dataclass(frozen=True)
class Assessment:
    """How many features to keep, and how stable they are."""

    inputs: ReportInputs
    resampling: Resampling
    #: The recommended features, and the stability of the ranking; or sentences with the reason why not.
    recommendation: Recommendation | str
    stability: tuple[Stability, RankSpread] | str
    weights: Weights

    def finding(self) -> Finding:
        """Return the finding in words, without interactions."""
        stable, spread = (None, None) if isinstance(self.stability, str) else self.stability
        return finding(self.inputs, self.weights, self.recommendation, stable, spread)


def planned_resampling(inputs: ReportInputs, resamples: int | str | None) -> Resampling:
    """Return the numbers of refits; ``resamples`` as in :func:`report`."""
    n_halves = check_resamples(resamples)
    by_default = default_resampling(inputs.estimator, *inputs.X.shape)
    if n_halves is None:
        return by_default
    return Resampling(n_halves, by_default.n_permutations if n_halves else 0)


def assess(
    inputs: ReportInputs, *, resamples: int | str | None, random_state: Any, n_jobs: int | None
) -> Assessment:
    """Recommend a number of features, and measure the stability at that number."""
    planned = planned_resampling(inputs, resamples)
    recommendation = recommend(
        inputs.estimator,
        inputs.X,
        inputs.y,
        n_permutations=planned.n_permutations,
        refit=inputs.unfitted if inputs.categorical else None,
        table=inputs.table,
        groups=inputs.groups,
        batches=inputs.batches,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    weights = Weights.of(inputs, recommendation)
    resampled = _resampled(inputs, weights, planned.n_halves, random_state, n_jobs)
    return Assessment(inputs, planned, recommendation, resampled, weights)


def _resampled(
    inputs: ReportInputs, weights: Weights, resamples: int, random_state: Any, n_jobs: int | None
) -> tuple[Stability, RankSpread] | str:
    """Measure how stable the ranking is; or return a sentence with the reason why not."""
    if not resamples:
        return "Stability was not measured: resampling was switched off."
    # A continuous target is halved as one class; sizes are as if there were two equal ones.
    sizes = np.full(2, len(inputs.y) // 2) if inputs.continuous_target else inputs.class_sizes
    reason = why_not(sizes, inputs.X.shape[1])
    if reason is not None:
        return reason
    try:
        fits = fits_to_halves(
            inputs.unfitted,
            inputs.X,
            inputs.y,
            resamples=resamples,
            random_state=random_state,
            n_jobs=n_jobs,
            groups=inputs.groups,
            batches=inputs.batches,
        )
    except (ValueError, TypeError) as error:
        sentence = " ".join(str(error).split()).rstrip(".")
        return f"Stability was not measured; the method cannot be fitted to half of the samples: {sentence}."
    decided = weights.chosen or weights.recommended
    best = n_best(weights.n_kept, inputs.X.shape[1], chosen=decided)
    if inputs.groups is not None:
        drawn = "each group in one half as a whole"
    else:
        drawn = "" if inputs.continuous_target else "class by class"
    return stability(fits, best, drawn=drawn)
