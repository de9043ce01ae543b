"""Build the wheel and the sdist, and use both as a stranger would: in empty environments, without a compiler.

Run by `make package-check`, with the Python of the tests as its argument: mypy and pytest are there. A second
argument names a folder in which the two files are left, as they were checked.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What pip builds with where there is no wheel: nothing.
NO_COMPILER = dict.fromkeys(("CC", "CXX", "FC", "LD"), "/bin/false")
#: Not in the sdist, though in the repository.
LEFT_OUT = (".gitignore", ".gitattributes")

USE = """
import sys, highrelief
assert "site-packages" in highrelief.__file__, highrelief.__file__
from highrelief.datasets import make_xor
X, y, _ = make_xor(200, n_irrelevant=8, random_state=0)
assert highrelief.ReliefF(n_features_to_select=2).fit(X, y).get_support(indices=True).tolist() == [0, 1]
"""
WITHOUT_EXTRAS = """
import highrelief, numpy as np
fitted = highrelief.FisherScore().fit(np.eye(4), [0, 1, 0, 1])
wanted = {
    "report": lambda: highrelief.report(fitted, np.eye(4), [0, 1, 0, 1]).html,
    "plots": lambda: highrelief.plots.FeatureWeightsDisplay.from_estimator(fitted),
    "save": lambda: highrelief.save(fitted, "model.skops"),
}
for what, use in wanted.items():
    try:
        use()
    except ImportError as error:
        extra = "save" if what == "save" else "report"
        assert f"pip install 'highrelief[{extra}]'" in str(error), (what, error)
    else:
        raise AssertionError(f"{what} needs nothing?")
"""


def main() -> None:
    """Build, look inside, install, use."""
    tests_python = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory(prefix="highrelief-package-") as name:
        folder = Path(name)
        dist = Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else folder / "dist"
        run(sys.executable, "-m", "build", "--outdir", dist, ROOT, quiet=True)
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        repository = files_of_the_repository()
        look_inside_wheel(wheel, repository)
        unpacked = look_inside_sdist(sdist, repository, folder)

        print("The wheel, in an empty environment, without extras")
        python = installed(folder / "from-wheel", wheel)
        run(python, "-c", USE, cwd=folder)
        run(python, "-c", WITHOUT_EXTRAS, cwd=folder)
        ended = run(python.parent / "highrelief", "demo", cwd=folder, expected=1)
        if "pip install 'highrelief[cli]'" not in ended or "Traceback" in ended:
            sys.exit(f"Without its extra the command says: {ended}")
        program = unpacked / "tests" / "project" / "typed_program.py"
        run(python, program, cwd=folder)
        strict = ("--strict", "--config-file", os.devnull, "--cache-dir", folder / "mypy")
        run(tests_python, "-m", "mypy", *strict, "--python-executable", python, program, cwd=folder)

        print("The sdist, in an empty environment, with the extras report and save")
        python = installed(folder / "from-sdist", f"highrelief[report,save] @ {sdist.as_uri()}")
        run(python, "-c", USE, cwd=folder)
        run(python.parent / "highrelief", "demo", cwd=folder)
        run(python, program, cwd=folder)
        run(python, "-m", "pip", "check", cwd=folder)

        print("The tests of the sdist")
        chosen = ["tests/methods/test_fisher.py", "tests/project/test_packaging.py"]
        there = {"cwd": unpacked, "PYTHONPATH": str(unpacked / "src")}
        run(tests_python, "-m", "pytest", "-q", *chosen, **there)
        run(tests_python, "-m", "pytest", "-q", "--collect-only", "tests", quiet=True, **there)
    print(f"{wheel.name} and {sdist.name} can be installed and used.")


def run(*command: object, cwd: Path = ROOT, expected: int = 0, quiet: bool = False, **more: str) -> str:
    """Run a command and return what it says; end with that if it does not end as expected."""
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **NO_COMPILER, "MPLBACKEND": "Agg", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode != expected:
        sys.exit(f"{' '.join(map(str, command))[:300]} ended with {ended.returncode}:\n{ended.stdout}")
    if not quiet and ended.stdout.strip():
        print("   ", ended.stdout.strip().splitlines()[-1][:150])
    return ended.stdout


def files_of_the_repository() -> set[str]:
    """Paths of all that is kept."""
    return set(run("git", "ls-files", quiet=True).splitlines())


def look_inside_wheel(wheel: Path, repository: set[str]) -> None:
    """Compare a wheel with the sources: all of them, nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    ours = {name for name in names if ".dist-info/" not in name}
    expected = {path.removeprefix("src/") for path in repository if path.startswith("src/")}
    if ours != expected or "highrelief/py.typed" not in ours:
        sys.exit(f"{wheel.name} and src differ in {sorted(ours ^ expected)}.")
    about = {name.partition(".dist-info/")[2] for name in names - ours}
    if not about >= {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}:
        sys.exit(f"{wheel.name} says too little of itself: {sorted(about)}.")
    if not wheel.name.endswith("-py3-none-any.whl"):
        sys.exit(f"{wheel.name} is not for every machine.")
    print(f"{wheel.name}: {len(ours)} files, {wheel.stat().st_size / 1e6:.1f} MB")


def look_inside_sdist(sdist: Path, repository: set[str], folder: Path) -> Path:
    """Compare an sdist with the repository, unpack it and return where it is."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "sdist", filter="data")
    (unpacked,) = (folder / "sdist").iterdir()
    there = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    missing = repository - there - set(LEFT_OUT)
    stray = there - repository - {"PKG-INFO"}
    if missing or stray:
        sys.exit(f"{sdist.name} lacks {sorted(missing)}, and has {sorted(stray)} that nobody keeps.")
    print(f"{sdist.name}: {len(there)} files, {sdist.stat().st_size / 1e6:.1f} MB")
    return unpacked


def installed(place: Path, what: object) -> Path:
    """Return the Python of a new environment in which a distribution is installed, as pip does it."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what, quiet=True, cwd=place)
    return python


if __name__ == "__main__":
    main()
