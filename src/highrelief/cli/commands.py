"""The commands and their options. Each imports its implementation when it runs, for a fast start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich  # noqa: F401  typer does without, the commands do not
import typer

from .errors import Commands, UsageError, exit_on_error, ignore_closed_pipe
from .options import (
    FIELDS,
    FLAG,
    REPORT_OPTIONS,
    BatchNeighbors,
    Debug,
    Force,
    Jobs,
    NoReport,
    Quiet,
    flag,
    is_given,
    request_of,
    with_request,
)

if TYPE_CHECKING:
    from .rank import Ranking
    from .screen import Screen


app = typer.Typer(
    cls=Commands,
    help="Feature selection that also finds features that matter only in combination.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__  # noqa: PLC0415

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar=FLAG,
            help="Show the version and exit.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Feature selection that also finds features that matter only in combination."""


#: Options of the table, and of its format, in the panels of --help.
_TABLE = "labels transpose identifiers drop drop_text"
_VALUES = "missing missing_values default_missing"
_FORMAT = "separator decimal encoding"
_RUN = "jobs quiet debug"


#: Features that `select --control` shows.
_N_SHOWN = 20


def _examples(*lines: str) -> str:
    """Return examples as the last lines of --help."""
    return "\n\n".join(("Examples:", *(f"highrelief {line}" for line in lines)))


@app.command(
    epilog=_examples(
        "rank genes.csv --target tumor",
        "rank genes.csv --target tumor --out result",
        "rank snps.tsv --target status --genotypes --method relieff --set n_neighbors=20",
        "rank --repeat result/run.json --out again",
    )
)
@with_request(
    {
        "Input": f"data target {_TABLE} categorical genotypes groups batch batch_neighbors",
        "Method": "method settings seed max_redundancy",
        "Output": "out top no_report resamples interactions repeat force",
        "Missing values": _VALUES,
        "Text files": _FORMAT,
        "Run": _RUN,
    },
    optional="data target",
)
def rank(
    context: typer.Context,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Number of features to show.")] = 50,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for ranking.csv, run.json and report.html.")
    ] = None,
    repeat: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Repeat the run of a run.json.", readable=False)
    ] = None,
    no_report: NoReport = False,
    batch_neighbors: BatchNeighbors = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rank the features of a table; with --out, write the ranking, its record and a report."""
    with exit_on_error(debug):
        from .output import check_free, check_report  # noqa: PLC0415
        from .rank import assess, measure_interactions, write_interactions, write_report  # noqa: PLC0415
        from .rank import rank as rank_features  # noqa: PLC0415
        from .rank import repeat as repeat_run  # noqa: PLC0415
        from .screen import Screen  # noqa: PLC0415

        if out is not None:
            check_free(out, force=force)
            if not no_report:
                check_report()
        for name in ("groups", "interactions"):
            if out is None and is_given(context, name):
                raise UsageError(f"--{name} is for report.html; use --out FOLDER.")
        screen = Screen(quiet=quiet)
        if repeat is not None:
            given = [name for name in context.params if is_given(context, name)]
            recorded = {*FIELDS, "batch_neighbors"} - {*REPORT_OPTIONS}
            if names := [flag(name) for name in given if name in recorded]:
                raise UsageError(f"--repeat takes everything from the record: leave out {', '.join(names)}.")
            options = {name: context.params[name] for name in REPORT_OPTIONS if name in given}
            ranking = repeat_run(repeat, n_jobs=jobs, listener=screen, **options)
        else:
            ranking = rank_features(request_of(context), n_jobs=jobs, listener=screen)
        # Before it is shown: the reader of a pipe may close it.
        if out is not None:
            ranking.write(out, force=force)
        _show(ranking, top, screen)
        if out is not None:
            screen.note(f"Written: {out / 'ranking.csv'}, {out / 'run.json'}")
        # With --quiet nobody would read it.
        if out is not None or not quiet:
            ranking = assess(ranking, n_jobs=jobs, listener=screen)
            for sentence in ranking.sentences():
                screen.note(sentence)
        if out is not None:
            ranking.write(out, force=True)
            if not no_report:
                path = write_report(ranking, out, n_jobs=jobs, listener=screen)
                screen.note(f"Report: {path}")
            elif ranking.request.interactions:
                found = measure_interactions(ranking, n_jobs=jobs, listener=screen)
                for name in write_interactions(ranking, found, out):
                    screen.note(f"Written: {out / name}")


@app.command(
    epilog=_examples(
        "select genes.csv --target tumor --top 50 --out small.csv",
        "select genes.csv --target tumor --control fdr --level 0.05 --out small.parquet",
    )
)
@with_request(
    {
        "Input": f"data target {_TABLE} categorical genotypes groups batch batch_neighbors",
        "Selection": "top control level by permutations max_redundancy",
        "Method": "method settings seed",
        "Output": "out force",
        "Missing values": _VALUES,
        "Text files": _FORMAT,
        "Run": _RUN,
    }
)
def select(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="File to write: .csv, .tsv, .parquet, .feather or .npz.",
            show_default=False,
        ),
    ],
    top: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of features to keep (default: recommended).", show_default=False
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="fdr|fwer",
            help="Select at an error rate: fdr bounds the share of false features,"
            " fwer the probability of any.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[float, typer.Option(metavar="0…1", help="With --control: the error rate.")] = 0.1,
    by: Annotated[
        str,
        typer.Option(metavar="NAME", help="With --control: permutation, stability or knockoff."),
    ] = "permutation",
    permutations: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="With --control: number of permutations of the labels."),
    ] = 200,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="With --control: column of groups; labels are permuted within groups, or whole groups are.",
        ),
    ] = None,
    batch_neighbors: BatchNeighbors = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the table with its best features only: those recommended, a given number, or at an error rate."""
    with exit_on_error(debug):
        if top is not None and control is not None:
            raise UsageError(
                "Use either --top N, to keep N features, or --control fdr or fwer, to bound the error rate."
            )
        if control is None:
            for name in ("level", "by", "permutations", "groups"):
                if is_given(context, name):
                    raise UsageError(f"--{name} is for --control fdr or fwer.")

        from ..io.cells import counted  # noqa: PLC0415
        from .rank import assess  # noqa: PLC0415
        from .rank import rank as rank_features  # noqa: PLC0415
        from .screen import Screen  # noqa: PLC0415
        from .select import (  # noqa: PLC0415
            Control,
            check_selection,
            select_controlled,
            write_recommended,
            write_selection,
        )

        controlled = None if control is None else Control(control, level, by, permutations)
        check_selection(out, force=force, controlled=controlled is not None)
        screen = Screen(quiet=quiet)
        request = request_of(context)
        if top is None and controlled is None:
            ranking = assess(
                rank_features(request, n_jobs=jobs, listener=screen), n_jobs=jobs, listener=screen
            )
            names = write_recommended(ranking, out, force=force)
            for sentence in ranking.sentences():
                screen.note(sentence)
            if not names:
                screen.note("To keep some all the same, use --top N, or --control fdr for a longer list.")
            n_samples = len(ranking.read.y)
            screen.note(
                f"Written: {out}, {counted(n_samples, 'sample')} and {counted(len(names), 'feature')}"
            )
            return
        if top is not None:
            ranking = rank_features(request, n_jobs=jobs, listener=screen, n_best=top)
            names = write_selection(ranking, top, out, force=force)
            n_samples = len(ranking.read.y)
            screen.note(
                f"Written: {out}, {counted(n_samples, 'sample')} and {counted(len(names), 'feature')}"
            )
            return
        assert controlled is not None
        found = select_controlled(request, controlled, n_jobs=jobs, listener=screen)
        statistics = found.write(out, force=force)
        rows = found.rows(kept_only=True)
        with ignore_closed_pipe():
            screen.selection(found.header(), rows[:_N_SHOWN])
        if len(rows) > _N_SHOWN:
            screen.note(f"The best {_N_SHOWN} of {len(rows):,} selected features; {statistics} lists all.")
        screen.note(found.sentence())
        screen.note(f"Null hypothesis: {found.selector.null_}")
        screen.note(
            f"Written: {out}, {counted(len(found.ranking.read.y), 'sample')} and"
            f" {counted(found.n_kept, 'feature')}; {statistics}"
        )


@app.command(
    epilog=_examples(
        "compare genes.csv --target tumor --out comparison",
        "compare genes.csv --target tumor --methods relieff,multisurf,fisher --folds 5 --groups patient",
    )
)
@with_request(
    {
        "Input": f"data target {_TABLE} genotypes groups batch batch_neighbors",
        "Method": "methods folds inner_folds seed",
        "Output": "out no_report force",
        "Missing values": "missing_values default_missing",
        "Text files": _FORMAT,
        "Run": _RUN,
    }
)
def compare(
    context: typer.Context,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Comma-separated; `highrelief methods` lists them.")
    ] = ("relieff,irelief,logo"),
    folds: Annotated[
        int, typer.Option(min=2, metavar="N", help="Outer folds, which measure the accuracy.")
    ] = 10,
    inner_folds: Annotated[
        int, typer.Option(min=2, metavar="N", help="Inner folds, which choose the number of features.")
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for comparison.csv, run.json and report.html."),
    ] = None,
    no_report: NoReport = False,
    batch_neighbors: BatchNeighbors = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare methods: accuracy on held-out samples, stability, their trade-off, time."""
    with exit_on_error(debug):
        from .compare import FIXED, compare_methods  # noqa: PLC0415
        from .output import check_free, check_report  # noqa: PLC0415
        from .screen import Screen  # noqa: PLC0415

        if out is not None:
            check_free(out, force=force)
            if not no_report:
                check_report()
        screen = Screen(quiet=quiet)
        request = request_of(context, **FIXED)
        names = _names(methods)
        found = compare_methods(
            request, names, folds=folds, inner_folds=inner_folds, n_jobs=jobs, listener=screen
        )
        if out is not None:
            found.write(out, force=force)
        with ignore_closed_pipe():
            screen.comparison(list(found.result.rows()))
        for each in found.warnings:
            screen.note(f"- {each}")
        if out is not None:
            screen.note(f"Written: {out / 'comparison.csv'}, {out / 'run.json'}")
            if not no_report:
                screen.note(f"Report: {found.write_report(out)}")


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the table, the ranking and the report.")
    ] = Path("highrelief-demo"),
    jobs: Jobs = None,
    debug: Debug = False,
) -> None:
    """Find the two features of a spiral among a thousand irrelevant ones."""
    with exit_on_error(debug):
        from .output import check_report  # noqa: PLC0415
        from .rank import N_IRRELEVANT, TURNS, assess, write_report  # noqa: PLC0415
        from .rank import demo as run_demo  # noqa: PLC0415
        from .screen import Screen  # noqa: PLC0415

        check_report()

        screen = Screen()
        screen.note(
            f"Two features hold the branches of a spiral ({TURNS:g} turn), {N_IRRELEVANT:,} others are noise."
        )
        screen.note("Only together do the two tell the branches apart.")
        ranking, relevant = run_demo(out, n_jobs=jobs, listener=screen)
        _show(ranking, 10, screen)
        ranking = assess(ranking, n_jobs=jobs, listener=screen)
        for sentence in ranking.sentences():
            screen.note(sentence)
        names = ranking.table.feature_names
        found = [int(ranking.estimator.ranking_[names.index(name)]) for name in relevant]
        screen.note(
            f"The spiral is in {' and '.join(relevant)}: ranks {' and '.join(map(str, sorted(found)))}."
        )
        ranking.write(out, force=True)
        screen.note(f"Written: {out}: spiral.csv, ranking.csv, run.json")
        screen.note(f"Report: {write_report(ranking, out, n_jobs=jobs, listener=screen)}")


@app.command()
def reproduce(
    table: Annotated[
        str | None, typer.Argument(help="A table or figure; without one, they are listed.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the papers' data sets.")] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of repeats (default: as in the paper).")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Comma-separated names or patterns of data sets (default: all).")
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(help="Comma-separated patterns of conditions, such as methods (default: all)."),
    ] = None,
    fetch: Annotated[
        bool,
        typer.Option("--fetch", metavar=FLAG, help="Fetch missing data sets from OpenML, if available."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables and figures.")] = None,
    cache: Annotated[Path, typer.Option(help="Folder of checkpoints, to continue later.")] = Path(
        ".highrelief-reproduced"
    ),
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run an experiment of a paper, and compare with the published results."""
    with exit_on_error(debug):
        from ..papers.runner import papers  # noqa: PLC0415
        from .output import check_free  # noqa: PLC0415
        from .reproduce import deviations  # noqa: PLC0415
        from .reproduce import reproduce as run_experiment  # noqa: PLC0415
        from .screen import Screen  # noqa: PLC0415

        screen = Screen(quiet=quiet)
        if table is None:
            screen.papers(papers())
            return
        if out is not None:
            check_free(out, force=force)
        found = run_experiment(
            table,
            data=data,
            cache=cache,
            datasets=_names(datasets or ""),
            settings=_names(settings or ""),
            repeats=repeats,
            n_jobs=jobs,
            fetch=fetch,
            listener=screen,
        )
        written = [] if out is None else found.write(out, force=force)
        with ignore_closed_pipe():
            for each in found.results:
                screen.results(each)
        far = deviations(found.results)
        for line in far:
            screen.note(f"Far: {line}")
        for reason in found.experiment.reasons if far else ():
            screen.note(f"Likely reason: {reason}")
        if out is not None:
            screen.note(f"Written: {', '.join(str(out / name) for name in written)}")


@app.command(epilog=_examples("cite", "cite relieff", "cite all > references.bib"))
def cite(
    method: Annotated[
        str | None, typer.Argument(help="A method, or `all`; without one, highrelief.", show_default=False)
    ] = None,
    debug: Debug = False,
) -> None:
    """Print the references of this software or of a method, as BibTeX."""
    with exit_on_error(debug):
        from ..catalog import references, software_citation  # noqa: PLC0415
        from .options import reference_keys  # noqa: PLC0415

        if method is None or method == "all":
            entries = [software_citation(), *(references().values() if method == "all" else ())]
        else:
            entries = [references()[key] for key in reference_keys(method)]
        bibtex = "\n\n".join(entries)
        typer.echo(bibtex)


@app.command()
def methods() -> None:
    """List the methods."""
    from ..catalog import METHODS  # noqa: PLC0415
    from .screen import Terminal  # noqa: PLC0415

    rows = ((name, each.home, each.summary) for name, each in METHODS.items())
    Terminal().table(("name", "class", "what it is"), rows)


@app.command()
def warmup() -> None:
    """Compile all kernels now, so that no later fit waits for the compiler."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    from .screen import Terminal  # noqa: PLC0415

    console = Terminal()
    step_name = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), step_name)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("scikit-learn and Numba")
        from ..warmup import warm_up  # noqa: PLC0415

        result = warm_up(
            lambda step, done, total: progress.update(
                task, description=str(step), completed=done, total=total
            )
        )
    for line in str(result).splitlines():
        console.print(line, soft_wrap=True)


def _names(text: str) -> list[str]:
    """Return comma-separated names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _show(ranking: Ranking, top: int, screen: Screen) -> None:
    best = ranking.order[:top]
    estimator, names = ranking.estimator, ranking.table.feature_names
    with ignore_closed_pipe():
        screen.ranking(
            estimator.ranking_[best].tolist(),
            [names[j] for j in best],
            estimator.feature_weights_[best].tolist(),
        )
