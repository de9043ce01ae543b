"""``highrelief select --control``: what is real, written, shown and said."""

import csv

import numpy as np
import pytest
from command_line import highrelief, refused

from highrelief.datasets import make_xor


def write(path, X, y, groups=None):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["class", *(["who"] if groups is not None else []), *(f"g{j}" for j in range(X.shape[1]))]
        )
        for n, (row, label) in enumerate(zip(X, y, strict=True)):
            writer.writerow([f"c{label}", *([f"p{groups[n]}"] if groups is not None else []), *row.tolist()])
    return path


@pytest.fixture(scope="module")
def xor(tmp_path_factory):
    X, y, _ = make_xor(200, n_irrelevant=20, random_state=0)
    return write(tmp_path_factory.mktemp("xor") / "xor.csv", X, y)


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    rng = np.random.default_rng(2)
    folder = tmp_path_factory.mktemp("noise")
    return write(folder / "noise.csv", rng.standard_normal((40, 8)), np.arange(40) % 2)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_keeps_what_is_real(xor, tmp_path):
    out = tmp_path / "kept.csv"
    result = highrelief(
        "select", xor, "-t", "class", "-m", "relieff", "--control", "fdr", "--level", 0.05, "--out", out
    )
    assert result.returncode == 0, result.stderr
    assert list(rows(out)[0]) == ["class", "g0", "g1"]
    header, *lines = (line.split("\t") for line in result.stdout.splitlines())
    assert header == ["rank", "feature", "weight", "statistic", "p", "q", "kept"]
    assert sorted(line[1] for line in lines) == ["g0", "g1"]
    assert "2 of 22 features are kept at a false discovery rate of 0.05, by permutation." in result.stderr
    assert "Null hypothesis: Null features are jointly independent" in result.stderr
    known = rows(tmp_path / "kept.features.csv")
    assert len(known) == 22
    assert [row["feature"] for row in known if row["kept"] == "yes"] == [line[1] for line in lines]
    assert all(float(row["q"]) > 0.05 for row in known if row["kept"] == "no")


def test_nothing_is_an_answer(noise, tmp_path):
    out = tmp_path / "kept.csv"
    arguments = ("-t", "class", "-m", "relieff", "--control", "fwer", "--permutations", 30, "--out", out)
    result = highrelief("select", noise, *arguments)
    assert result.returncode == 0
    assert "None of the 8 features is found to be real at a family-wise error rate of 0.1" in result.stderr
    assert result.stdout == "rank\tfeature\tweight\tstatistic\tp\tkept\n"
    assert list(rows(out)[0]) == ["class"]
    refused(highrelief("select", noise, *arguments), 1, "exists already")


def test_groups_exchange_their_labels(tmp_path):
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(8), 6)
    X = rng.standard_normal((8, 6))[patients] + 0.2 * rng.standard_normal((48, 6))
    path = write(tmp_path / "patients.csv", X, np.repeat(np.arange(8) % 2, 6), groups=patients)
    arguments = ("-t", "class", "-m", "relieff", "--control", "fdr")
    alone = highrelief("select", path, *arguments, "--drop", "who", "--out", tmp_path / "alone.csv")
    grouped = highrelief("select", path, *arguments, "--groups", "who", "--out", tmp_path / "grouped.csv")
    assert len(alone.stdout.splitlines()) > len(grouped.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--top", 2, "--control", "fdr"), "Use either --top N"),
        (("--control", "fdp"), "--control is one of fdr, fwer, and not 'fdp'"),
        (("--control", "fdr", "--by", "lot"), "--by is one of permutation, stability, knockoff"),
        (("--control", "fdr", "--level", 1), "--level must be above 0 and below 1"),
        (("--top", 2, "--level", 0.2), "--level is for --control"),
        (("--control", "fwer", "--by", "knockoff"), "beyond knockoffs"),
    ],
    ids=str,
)
def test_wrong_usage(noise, tmp_path, arguments, says):
    result = highrelief("select", noise, "-t", "class", *arguments, "--out", tmp_path / "kept.csv", "-q")
    assert result.returncode in (1, 2)
    assert result.stdout == ""
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "kept.csv").exists()
