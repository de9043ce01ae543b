"""``highrelief.report`` and ``highrelief.comparison_report``: results as self-contained HTML pages."""

from __future__ import annotations

import html as markup
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..._engine.cached_property import cached_property
from ...base.progress import listening, terminal_line
from ...base.validation import refuse_dask
from ...catalog import METHODS, REFERENCES, address, as_text
from ...io.files import written_whole
from ..comparison import Comparison
from .comparison import CLASSIFIER_DESCRIPTIONS, ComparisonContents, comparison_contents
from .contents import Contents, Origin, Reference
from .findings import contents as report_contents
from .origin import about_software
from .wording import cited

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
        with written_whole(target) as part:
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
    resamples: int | None = 20,
    random_state: Any = 0,
    n_jobs: int | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    interactions: bool | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Report:
    r"""Report the ranking of a fitted estimator as a self-contained HTML page.

    It shows the ranking, convergence, stability, samples that may be mislabeled, distributions of the best
    features, redundant features and interactions, with a summary in plain sentences and all that is needed to
    reproduce the result.

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
    resamples : int, default=20
        Number of halves (even); 0 or None: stability is not measured.
    random_state : int, RandomState or None, default=0
        Seed of the halves.
    n_jobs : int or None, default=None
        Number of halves fitted in parallel; does not change the result.
    groups : array-like of shape (n_samples,), default=None
        Group labels: samples of a group, such as those of one patient, stay in one half.
    batches : array-like of shape (n_samples,), default=None
        Batch labels that were passed to ``fit``, for the fits to halves and the margins.
    interactions : bool or None, default=None
        Whether to measure the interactions of the best features (see :func:`highrelief.interactions`); None:
        if it takes less than about 10 seconds.
    progress : bool or callable, default=True
        True shows a progress line on a terminal or in a notebook if resampling takes longer than two seconds.
        A callable receives the number of halves that are done, and their total number.

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
    elif progress and (_on_a_terminal() or "ipykernel" in sys.modules):
        with terminal_line("report") as line, listening(line):
            yield
    else:
        yield


def _on_a_terminal() -> bool:
    # A program without console has no stderr.
    return sys.stderr is not None and sys.stderr.isatty()


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
    Without a choice, all features reach 55.0 %; relieff is above that by more than chance gives.
    """
    known = Origin(
        {
            "outer folds": str(len(comparison.folds)),
            **(parameters or {}),
            **{name: repr(each) for name, each in (methods or {}).items()},
        },
        dict(data or {}),
        _versions(),
        dict(time) if time is not None else {"made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"},
        again,
        _references(comparison, methods or {}),
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


def _versions() -> dict[str, str]:
    software = about_software()
    return {
        "highrelief": software["highrelief"],
        **software["versions"],
        "system": software["machine"]["system"],
    }


def _references(comparison: Comparison, methods: Mapping[str, Any]) -> list[Reference]:
    """Return the references of the methods, without repetition."""
    keys: list[str] = []
    for method in comparison.methods:
        if method.name in methods:
            keys += cited(methods[method.name])
        elif method.name in METHODS:
            keys += METHODS[method.name].references
    return [Reference(as_text(key), REFERENCES[key], address(key)) for key in dict.fromkeys(keys)]
