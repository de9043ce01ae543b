"""Run the benchmarks, compare two runs, or make the performance page. See README.md."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from . import parts, peers, results
from .compare import SMALLEST, compare
from .machine import environment
from .page import write_page
from .race import Arena
from .results import Part, Run
from .tables import all_targets, part_tables, target_table
from .workers import ROOT

STORED = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "performance.md"
#: Rivals fast enough for a quick look.
QUICK_RIVALS = {
    "fast_select",
    "sklearn_distances",
    "sklearn_nca",
    "sklearn_pca",
    "numpy_irelief",
    "numpy_frel",
    "numpy_lfe",
    "quadprog_lhr",
    "numpy_logo",
    "numpy_im4e",
    "numpy_hknn",
    "sklearn_knn",
    "numpy_simba",
    "plain_loop",
}


def run_parts(options: argparse.Namespace) -> int:
    """Measure, print, store. 1 if a contender that should agree does not."""
    chosen = None if options.peers is None else set(options.peers)
    if chosen is None and options.quick:
        chosen = QUICK_RIVALS
    path = options.json or (STORED if _complete(options) else ROOT / "benchmarks" / "partial.json")
    run = results.load(path) if options.keep and path.exists() else Run({})
    before = run.environment.get("contenders", {})
    run.environment = environment()
    seconds = 0.5 if options.quick else options.seconds
    with Arena(seconds, options.limit, chosen) as arena:
        for name in options.parts:
            part = run.parts[name] = _run_part(arena, name, options.quick)
            part.commit, part.seconds = run.environment["commit"], seconds
            arena.dismiss()
            run.environment |= {"contenders": before | arena.versions, "not installed": arena.missing}
            results.save(run, path)
    _conclude(run, path)
    agreements = (each for name in options.parts for each in run.parts[name].agreements)
    return int(any(not each.same for each in agreements))


def _complete(options: argparse.Namespace) -> bool:
    return set(options.parts) == set(parts.NAMES) and not options.quick and options.peers is None


def _run_part(arena: Arena, name: str, quick: bool) -> Part:
    module = parts.load(name)
    part = Part(name, module.TITLE, date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    print(f"\n## {name}: {module.TITLE}", flush=True)
    start = time.monotonic()
    module.run(arena, part, quick)
    part.minutes = (time.monotonic() - start) / 60.0
    for table in part_tables(part):
        print("\n" + table.text())
    for note in part.notes:
        print(f"* {note}")
    if part.targets:
        print("\n" + target_table(part.targets).text())
    print(f"({part.minutes:.1f} minutes)", flush=True)
    return part


def _conclude(run: Run, path: Path) -> None:
    targets = all_targets(run)
    missed = [each for each in targets if not each.met]
    print(f"\n{len(targets) - len(missed)} of {len(targets)} targets reached.")
    if missed:
        print(target_table(missed)._replace(title="Missed:").text())
    for name, reason in run.environment.get("not installed", {}).items():
        print(f"{name} was not measured: {reason}")
    wrong = [(e.contender, e.case) for part in run.parts.values() for e in part.agreements if not e.same]
    for contender, case in wrong:
        print(f"{contender} DISAGREES with highrelief on {case}: its times are those of something else.")
    print(f"Stored in {path}.")
    try:
        from .picture import draw

        draw(run, path.with_suffix(".svg"))
        print(f"Picture: {path.with_suffix('.svg')}.")
    except ImportError:
        print("No matplotlib, no picture.")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure (the default command)")
    run.add_argument("--parts", nargs="+", choices=parts.NAMES, default=list(parts.NAMES), metavar="PART")
    run.add_argument(
        "--peers",
        nargs="*",
        choices=peers.NAMES,
        default=None,
        metavar="PEER",
        help=f"rivals, of {', '.join(peers.NAMES)} (default: all, the slow ones on small tables only;"
        " one that is named here takes part at every size)",
    )
    run.add_argument("--quick", action="store_true", help="a look in about a minute, on small tables")
    run.add_argument(
        "--seconds", type=float, default=4.0, help="per contender and case (default: %(default)s)"
    )
    run.add_argument("--limit", type=float, default=300.0, help="seconds after which a fit is given up")
    run.add_argument(
        "--json", type=Path, metavar="FILE", help="where to store (default: results.json of a whole run)"
    )
    run.add_argument("--keep", action="store_true", help="keep the other parts that FILE already has")
    run.set_defaults(do=run_parts)

    two = commands.add_parser("compare", help="compare two stored runs")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    two.add_argument("--smallest", type=float, default=SMALLEST, help="smallest change that counts")
    two.set_defaults(do=lambda options: print(compare(options.old, options.new, options.smallest)))

    page = commands.add_parser("page", help="write docs/performance.md and its tables from a stored run")
    page.add_argument("stored", type=Path, nargs="?", default=STORED)
    page.add_argument("--page", type=Path, default=PAGE)
    page.set_defaults(do=lambda options: write_page(options.stored, options.page))

    given = sys.argv[1:] if given is None else given
    if not given or given[0].startswith("--"):
        given = ["run", *given] if given[:1] != ["--help"] else given
    return parser.parse_args(given)


def main() -> int:
    options = arguments()
    return options.do(options) or 0


if __name__ == "__main__":
    raise SystemExit(main())
