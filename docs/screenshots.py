"""Takes the screenshots of README.md, docs/index.md and docs/report.md: reports, as a browser shows them.

``python docs/screenshots.py`` needs Playwright and a Chromium: ``HIGHRELIEF_BROWSER``, or ``chromium`` on the
path. Arguments are names of pictures; by default, all are taken.

``python docs/screenshots.py --all FOLDER`` takes pictures to look at before a release instead: whole reports
of expression data, genotypes, a continuous target and a comparison, in light and dark colors, on a phone, and
every page of their PDF. Expression data is that of ``HIGHRELIEF_DATA``, if it is set. Reports that are in the
folder already are not made anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_breast_cancer, load_diabetes

import highrelief
from highrelief.datasets import make_epistasis
from highrelief.inspection.comparison import compare

HERE = Path(__file__).parent / "pictures"
#: Name, page, width, height, colors, and the section to begin with.
SHOTS = (
    ("report-first-screen.png", "command/report", 1180, 830, "light", None),
    ("report-first-screen-dark.png", "command/report", 1180, 830, "dark", None),
    ("report.png", "ranking", 1180, 1560, "light", None),
    ("report-dark.png", "ranking", 1180, 1300, "dark", "stability"),
    ("report-phone.png", "ranking", 375, 760, "light", "ranking"),
    ("report-pair.png", "genotypes", 1180, 900, "light", None),
    ("comparison.png", "comparison", 1180, 900, "light", "accuracy"),
)


#: Windows and colors of the pictures to look at.
VIEWS = {"light": (1280, 800), "dark": (1280, 800), "phone": (390, 844)}


def main() -> None:
    """Write the pictures."""
    if sys.argv[1:2] == ["--all"]:
        take_all(Path(sys.argv[2]))
        return
    shots = [shot for shot in SHOTS if shot[0] in sys.argv[1:] or len(sys.argv) == 1]
    pages = {page for _, page, *_ in shots}
    folder = Path(tempfile.mkdtemp())
    if "command/report" in pages:
        run_command(folder)
    if pages & {"ranking", "genotypes", "comparison"}:
        write_reports(folder)
    with started_browser() as browser:
        for shot in shots:
            take(browser, folder, *shot)
    shutil.rmtree(folder)


@contextmanager
def started_browser() -> Iterator[Browser]:
    """A browser without windows."""
    chromium = os.environ.get("HIGHRELIEF_BROWSER") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def take_all(folder: Path) -> None:
    """Write pictures of whole reports: FOLDER/NAME-VIEW.png, the first screen in NAME-VIEW-first.png."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = write_tables(folder)
    for name, (command, *options) in tables.items():
        if not (folder / name / "report.html").exists():
            run = [command, f"{name}.csv", "--target", "target", *options, "--out", name]
            subprocess.run([sys.executable, "-m", "highrelief", *run], cwd=folder, check=True)
    with started_browser() as browser:
        for name in tables:
            page = (folder / name / "report.html").as_uri()
            for look, (width, height) in VIEWS.items():
                view = browser.new_page(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if look == "dark" else "light",
                    reduced_motion="reduce",
                )
                view.goto(page)
                view.wait_for_timeout(1500)
                view.screenshot(path=folder / f"{name}-{look}-first.png")
                # Charts are drawn when they come into view.
                view.evaluate(
                    "async () => { for (let y = 0; y < document.body.scrollHeight; y += 400) {"
                    " scrollTo(0, y); await new Promise((next) => setTimeout(next, 50)); } }"
                )
                view.wait_for_timeout(1000)
                view.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
                if look == "light":
                    view.pdf(path=folder / f"{name}.pdf", format="A4")
                view.close()
            for old in folder.glob(f"{name}-pdf-*.png"):
                old.unlink()
            for number, sheet in enumerate(pypdfium2.PdfDocument(folder / f"{name}.pdf"), start=1):
                sheet.render(scale=1.0).to_pil().save(folder / f"{name}-pdf-{number:02}.png")
            print(name, flush=True)


def write_tables(folder: Path) -> dict[str, list[str]]:
    """Write CSV files, and return the command that a report of each is made by."""
    X, y, _ = make_epistasis(800, n_irrelevant=98, shuffle_features=True, random_state=1)
    genotypes = pd.DataFrame(X, columns=[f"snp{j:03}" for j in range(X.shape[1])])
    genotypes.assign(target=np.where(y == 1, "case", "control")).to_csv(folder / "genotypes.csv", index=False)
    data = load_diabetes()
    table = pd.DataFrame(data.data, columns=data.feature_names)
    noise = np.random.default_rng(0).normal(size=(len(table), 40))
    table = pd.concat([table, pd.DataFrame(noise, columns=[f"noise{j:02}" for j in range(40)])], axis=1)
    table.assign(target=data.target).to_csv(folder / "regression.csv", index=False)
    commands = {"genotypes": ["rank"], "regression": ["rank"]}
    microarray = Path(os.environ.get("HIGHRELIEF_DATA", "")) / "microarray" / "leukemia_golub.npz"
    if microarray.exists():
        with np.load(microarray) as arrays:
            names = pd.Index(arrays["feature_names"].astype(str))
            table = pd.DataFrame(arrays["X"], columns=names.where(~names.duplicated(), names + "_2"))
            classes = arrays["target_names"].astype(str)[arrays["y"]]
        pd.concat([table, pd.Series(classes, name="target")], axis=1).to_csv(
            folder / "leukemia.csv", index=False
        )
        commands["leukemia"] = ["rank"]
    shutil.copy(folder / "genotypes.csv", folder / "compare.csv")
    commands["compare"] = ["compare", "--methods", "relieff,irelief,fisher", "--folds", "5"]
    return commands


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
