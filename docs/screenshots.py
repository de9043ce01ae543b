"""Takes the screenshots of README.md, docs/index.md and docs/report.md: reports, as a browser shows them.

``python docs/screenshots.py`` needs Playwright and a Chromium: ``HIGHRELIEF_BROWSER``, or ``chromium`` on the
path. Arguments are names of pictures; by default, all are taken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_breast_cancer

import highrelief
from highrelief.datasets import make_epistasis
from highrelief.inspection.comparison import compare

HERE = Path(__file__).parent / "pictures"
#: Name, page, width, height, colors, and the section to begin with.
SHOTS = (
    ("report-first-screen.png", "command/report", 1180, 760, "light", None),
    ("report-first-screen-dark.png", "command/report", 1180, 760, "dark", None),
    ("report.png", "ranking", 1180, 1560, "light", None),
    ("report-dark.png", "ranking", 1180, 1300, "dark", "stability"),
    ("report-phone.png", "ranking", 375, 760, "light", "ranking"),
    ("report-pair.png", "genotypes", 1180, 900, "light", None),
    ("comparison.png", "comparison", 1180, 900, "light", "accuracy"),
)


def main() -> None:
    """Write the pictures."""
    shots = [shot for shot in SHOTS if shot[0] in sys.argv[1:] or len(sys.argv) == 1]
    pages = {page for _, page, *_ in shots}
    folder = Path(tempfile.mkdtemp())
    if "command/report" in pages:
        run_command(folder)
    if pages & {"ranking", "comparison"}:
        write_reports(folder)
    chromium = os.environ.get("HIGHRELIEF_BROWSER") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for shot in shots:
            take(browser, folder, *shot)
        browser.close()
    shutil.rmtree(folder)


def run_command(folder: Path) -> None:
    """Run the command of README.md on genotypes with one interacting pair; report in ``folder/command``."""
    X, y, _ = make_epistasis(800, n_irrelevant=98, shuffle_features=True, random_state=1)
    table = pd.DataFrame(X, columns=[f"snp{j:03}" for j in range(X.shape[1])])
    table.assign(disease=np.where(y == 1, "case", "control")).to_csv(folder / "genotypes.csv", index=False)
    command = ["highrelief", "rank", "genotypes.csv", "--target", "disease", "--out", "command"]
    subprocess.run([sys.executable, "-m", *command], cwd=folder, check=True)


def write_reports(folder: Path) -> None:
    """Write a report of a ranking and one of a comparison."""
    data = load_breast_cancer()
    X, y, names = data.data, data.target_names[data.target], list(data.feature_names)
    estimator = highrelief.IRelief(n_features_to_select=10).fit(X, y)
    highrelief.report(
        estimator, X, y, path=folder / "ranking.html", title="Breast tissue", feature_names=names
    )
    X_pair, cases, _ = make_epistasis(600, n_irrelevant=18, heritability=0.3, random_state=0)
    y_pair, loci = np.array(["control", "case"])[cases], [f"rs{1000 + j}" for j in range(X_pair.shape[1])]
    highrelief.report(
        highrelief.HighRelief(random_state=0).fit(X_pair, y_pair),
        X_pair,
        y_pair,
        path=folder / "genotypes.html",
        title="Genotypes",
        feature_names=loci,
    )
    methods = {"fisher": highrelief.FisherScore(), "relieff": highrelief.ReliefF(), "logo": highrelief.LOGO()}
    found = compare(methods, X, y, cv=5, inner_cv=3, random_state=0)
    highrelief.comparison_report(
        found,
        path=folder / "comparison.html",
        title="Breast tissue",
        feature_names=names,
        methods=methods,
        again="highrelief.inspection.comparison.compare(methods, X, y, cv=5, inner_cv=3, random_state=0)",
    )


def take(
    browser: Browser,
    folder: Path,
    name: str,
    page: str,
    width: int,
    height: int,
    colors: str,
    section: str | None,
) -> None:
    """One picture."""
    view = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=colors, reduced_motion="reduce"
    )
    view.goto((folder / f"{page}.html").as_uri() + (f"#{section}" if section else ""))
    view.wait_for_timeout(1500)
    view.screenshot(path=HERE / name)
    view.close()
    print(f"{name}: {(HERE / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
