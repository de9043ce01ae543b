"""``highrelief.report``: a fitted estimator becomes one page that needs nothing else."""

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
from ...base.progress import terminal_line, watching
from ...base.validation import refuse_dask
from ...catalog import METHODS, REFERENCES, address, as_text
from ...io.files import written_whole
from ..comparison import Comparison
from .comparison import JUDGES, ComparisonContents, comparison_contents
from .contents import Contents, Origin, Reference
from .findings import contents as found
from .origin import about_software
from .wording import cited

__all__ = ["Report", "report"]


@dataclass(frozen=True)
class Report:
    """A report: what stands in it, and the page.

    In a notebook it shows itself.
    """

    contents: Contents | ComparisonContents

    @cached_property
    def html(self) -> str:
        """The page, as one self-contained document."""
        return _page(type(self.contents))(self.contents)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page into a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file; what is there is written over.

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
        """The page inside a frame, which keeps its scripts and styles from the notebook's."""
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
    r"""What a fitted weighter has found, on one page that needs nothing else.

    The ranking, how the method came to rest, how stable the ranking is, which samples look mislabeled, what
    the best features look like, which of them say the same and which act together; in words, and with what
    is needed to do it again.

    Stability is measured by fitting clones of the estimator to halves of the samples, two halves at a time
    that share none. How well two such halves agree is 0 on average where there is nothing but noise; subsets
    of 90 % of the samples share most of them, and agree on noise too. The weight of a feature that matters
    spreads over the halves about as it would over new tables of the full size: a mean over half of n samples,
    drawn without replacement, has the variance :math:`\sigma^2/n` around that of all, as a mean over n new
    ones has around the truth.

    Parameters
    ----------
    estimator : estimator
        A fitted weighter, or a meta-estimator around one.
    X : array-like or frame of shape (n_samples, n_features)
        The samples that it was fitted to; missing values and categories as the weighter takes them.
    y : array-like of shape (n_samples,)
        Their classes; numbers for a weighter that is told numbers, such as RReliefF.
    path : str or path, default=None
        A file to write the page to.
    title : str, default=None
        Of the page; None: the method and the number of features.
    feature_names : sequence of str, default=None
        None: the names of the columns of a frame, or x0, x1, …
    sample_names : sequence of str, default=None
        None: the index of a pandas frame, or numbers from 1 on.
    resamples : int, default=20
        Number of halves, an even one; 0 or None: stability is not measured.
    random_state : int, RandomState or None, default=0
        Which halves are drawn.
    n_jobs : int or None, default=None
        How many of them are fitted at a time; does not change the result.
    groups : array-like of shape (n_samples,), default=None
        Samples of the same group (such as those of one patient) are in one half.
    batches : array-like of shape (n_samples,), default=None
        What ``fit`` was told of batches: halves and margins of samples are then those of the same method.
    interactions : bool or None, default=None
        Whether the best features are weighed again without one another, to see which act together (see
        :func:`highrelief.interactions`); None: if it takes less than about 10 seconds.
    progress : bool or callable, default=True
        True shows a line, on a terminal or in a notebook, where resampling takes longer than two seconds. A
        callable is told how many halves are done, and how many there are.

    Returns
    -------
    report : Report
        ``contents`` are the plain values, ``html`` is the page, ``save(path)`` writes it.

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
        # Before what takes long.
        _check_folder(Path(path))
        _page(Contents)
    with _told(progress):
        made = Report(
            found(
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
        made.save(path)
    return made


def _page(kind: type) -> Callable[[Any], str]:
    """What makes a page out of such contents."""
    if kind is ComparisonContents:
        from .page import comparison_page  # noqa: PLC0415

        return comparison_page
    from .page import ranking_page  # noqa: PLC0415

    return ranking_page


@contextmanager
def _told(progress: bool | Callable[[int, int], None]) -> Iterator[None]:
    """Have the fits inside tell how far they have come, if anybody wants to know."""
    if callable(progress):
        with watching(progress):
            yield
    elif progress and (_on_a_terminal() or "ipykernel" in sys.modules):
        with terminal_line("report") as line, watching(line):
            yield
    else:
        yield


def _on_a_terminal() -> bool:
    # There may be none, as in a program with windows.
    return sys.stderr is not None and sys.stderr.isatty()


def _check_folder(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"path={str(path)!r} is a folder; name a file in it, such as report.html.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: the folder {str(path.parent)!r} does not exist.")


# ``highrelief.comparison_report``: a comparison of methods becomes one page that needs nothing else.


def comparison_report(
    comparison: Comparison,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str = "Comparison of methods",
    feature_names: Sequence[str] | None = None,
    methods: Mapping[str, Any] | None = None,
    judges: Mapping[str, str] = JUDGES,
    parameters: Mapping[str, str] | None = None,
    data: Mapping[str, str] | None = None,
    time: Mapping[str, str] | None = None,
    again: str | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Report:
    """What a comparison of methods has found, on one page that needs nothing else.

    Methods side by side: accuracy with intervals, how stable rankings and selections are, how many features
    are kept and which, time; in words that tell which differences chance may have given.

    Parameters
    ----------
    comparison : Comparison
        What :func:`highrelief.inspection.comparison.compare` found.
    path : str or path, default=None
        A file to write the page to.
    title : str, default="Comparison of methods"
        Of the page.
    feature_names : sequence of str, default=None
        In the order of the columns; None: x0, x1, …
    methods : mapping of str to estimator, default=None
        What was given to ``compare``: for parameters and papers. None: names that the command knows, such as
        "irelief", have their papers.
    judges : mapping of str to str
        What the classifiers are, by name.
    parameters, data, time : mapping of str to str, default=None
        More to be told of how the comparison was made, of the data (file, SHA-256) and of times.
    again : str, default=None
        What does the same again.
    notes, warnings : sequence of str
        What was decided about the data, and what was warned of.

    Returns
    -------
    report : Report
        ``contents`` are the plain values, ``html`` is the page, ``save(path)`` writes it.

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
    made = Report(
        comparison_contents(
            comparison,
            known,
            feature_names=feature_names,
            judges=judges,
            title=title,
            notes=notes,
            warnings=warnings,
        )
    )
    if path is not None:
        made.save(path)
    return made


def _versions() -> dict[str, str]:
    software = about_software()
    return {
        "highrelief": software["highrelief"],
        **software["versions"],
        "system": software["machine"]["system"],
    }


def _references(comparison: Comparison, methods: Mapping[str, Any]) -> list[Reference]:
    """The papers of the methods, each once."""
    keys: list[str] = []
    for method in comparison.methods:
        if method.name in methods:
            keys += cited(methods[method.name])
        elif method.name in METHODS:
            keys += METHODS[method.name].references
    return [Reference(as_text(key), REFERENCES[key], address(key)) for key in dict.fromkeys(keys)]
