"""How long a report takes beyond the fit and the resampling, and how large it is.

A table of 200 × 20,000 in which two features act only together. Each step is timed on the clock, the best of
several, warm: the fit, the fits to 20 halves of the samples, how stable they are, what else stands in the
report, the page. Run as ``python -m benchmarks.report_build``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from highrelief.catalog import METHODS
from highrelief.cli.request import create_weighter
from highrelief.datasets import make_xor
from highrelief.inspection.report.contents import Contents
from highrelief.inspection.report.diagnostics import stability
from highrelief.inspection.report.page import ranking_page
from highrelief.inspection.report.report import report_contents
from highrelief.selection.halves import fits_to_halves

#: At 200 x 20,000: seconds beyond the fit and the resampling, and size.
TARGET_SECONDS, TARGET_MB = 5.0, 5.0
RESAMPLES = 20
STEPS = ("fit", "resampling", "stability", "contents", "page")


def steps(estimator: Any, X: Any, y: Any, whole: Contents) -> dict[str, float]:
    """Seconds of each step; ``whole`` is what the page shows."""
    seconds = {}

    def timed(step: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = call()
        seconds[step] = time.perf_counter() - start
        return result

    timed("fit", lambda: estimator.fit(X, y))
    halves = timed(
        "resampling",
        lambda: fits_to_halves(estimator, X, y, resamples=RESAMPLES, random_state=0, n_jobs=None),
    )
    timed("stability", lambda: stability(halves, whole.stability.n_best))
    timed("contents", lambda: report_contents(estimator, X, y, resamples=0))
    timed("page", lambda: ranking_page(whole))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.report_build", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["irelief", "relieff", "logo"])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    X, y, _ = make_xor(options.samples, n_irrelevant=options.features - 2, random_state=0)
    print(f"{options.samples} x {options.features:,}, {RESAMPLES} halves; seconds")
    print(f"{'method':16s}" + "".join(f"{step:>12s}" for step in STEPS) + f"{'MB':>8s}")
    for name in options.methods:
        estimator = create_weighter(name, {}, seed=0, n_jobs=None).fit(X, y)
        whole = report_contents(estimator, X, y, resamples=RESAMPLES)
        size = len(ranking_page(whole).encode()) / 1e6
        rounds = [steps(estimator, X, y, whole) for _ in range(options.rounds)]
        best = {step: min(seconds[step] for seconds in rounds) for step in STEPS}
        beyond = best["stability"] + best["contents"] + best["page"]
        reached = "reached" if beyond < TARGET_SECONDS and size < TARGET_MB else "MISSED"
        print(
            f"{name:16s}" + "".join(f"{best[step]:12.2f}" for step in STEPS) + f"{size:8.2f}"
            f"   {beyond:.2f} s beyond fit and resampling: {reached}",
            flush=True,
        )


if __name__ == "__main__":
    main()
