"""Measures the tables in docs/methods and docs/margins.md.

``python docs/figures.py`` prints all of them in about five minutes of one core, and with the name of one,
as ``python docs/figures.py noise``, that; ``make test-long`` compares them with the pages. The table of real
data needs the folder that HIGHRELIEF_DATA names.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from highrelief import (
    DANN,
    LFE,
    FisherScore,
    HKNNClassifier,
    IRelief,
    LHRelief,
    OnlineIRelief,
    Relief,
    ReliefF,
)
from highrelief.datasets import (
    flip_labels,
    make_epistasis,
    make_fermat_spiral,
    make_ringnorm,
    make_twonorm,
    make_waveform,
    make_xor,
)

SEEDS = range(20)
PROBLEMS = {
    "`make_xor(300)`, 50 irrelevant": lambda s: make_xor(300, n_irrelevant=50, random_state=s),
    "`make_twonorm(300)`, 50 irrelevant": lambda s: make_twonorm(300, n_irrelevant=50, random_state=s),
    "`make_waveform(300)`, 50 irrelevant": lambda s: make_waveform(300, n_irrelevant=50, random_state=s),
    "`make_ringnorm(300)`, 50 irrelevant": lambda s: make_ringnorm(300, n_irrelevant=50, random_state=s),
    "`make_fermat_spiral(300)`, 10 irrelevant": lambda s: make_fermat_spiral(
        300, n_irrelevant=10, random_state=s
    ),
    "`make_epistasis(600)`, 50 irrelevant": lambda s: make_epistasis(600, n_irrelevant=50, random_state=s),
}


def xor(n_samples: int, n_irrelevant: int, *, order: int = 2, wrong: float = 0.0) -> Callable:
    """Parity data by seed, a share of its labels wrong."""

    def make(seed: int) -> tuple:
        X, y, relevant = make_xor(n_samples, order=order, n_irrelevant=n_irrelevant, random_state=seed)
        return X, flip_labels(y, wrong, random_state=seed)[0], relevant

    return make


def come_first(weighter, relevant) -> bool:
    """Whether the relevant features have the first ranks."""
    return bool(np.all(weighter.ranking_[relevant] <= relevant.sum()))


def times_found(weighter, make: Callable) -> str:
    """In how many of the seeds the relevant features come first."""
    found = 0
    for seed in SEEDS:
        X, y, relevant = make(seed)
        found += come_first(weighter.fit(X, y), relevant)
    return f"{found}"


def area(weighter, make: Callable) -> str:
    """Mean area under the ROC curve of telling relevant from irrelevant features by their weights."""
    areas = []
    for seed in SEEDS:
        X, y, relevant = make(seed)
        areas.append(roc_auc_score(relevant, weighter.fit(X, y).feature_weights_))
    return f"{np.mean(areas):.2f}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown, numbers to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def noise() -> str:
    """XOR among more and more irrelevant features."""
    weighters = {
        "`Relief`": Relief(),
        "`ReliefF`": ReliefF(),
        "`IRelief`": IRelief(),
        "`FisherScore`": FisherScore(),
    }
    return table(
        ["samples", "irrelevant features", *weighters],
        (
            [f"{n:,}", f"{d:,}", *(times_found(w, xor(n, d)) for w in weighters.values())]
            for n, d in ((300, 50), (300, 200), (300, 1000), (300, 5000), (1000, 5000))
        ),
    )


def label_noise() -> str:
    """XOR with wrong labels."""
    weighters = {
        "`Relief`": Relief(),
        "`ReliefF`": ReliefF(),
        "`IRelief`": IRelief(),
        "`IRelief(perplexity=0.5)`": IRelief(perplexity=0.5),
    }
    return table(
        ["labels flipped", *weighters],
        (
            [f"{share:.0%}", *(times_found(w, xor(300, 50, wrong=share)) for w in weighters.values())]
            for share in (0.0, 0.1, 0.2, 0.3)
        ),
    )


def relieff_k() -> str:
    """Too few neighbors are noisy, too many see no interaction."""
    return table(
        ["`n_neighbors`", "XOR", "XOR, 20% of the labels flipped", "ringnorm, area under the curve"],
        (
            [
                f"{k}",
                times_found(ReliefF(n_neighbors=k), xor(300, 50)),
                times_found(ReliefF(n_neighbors=k), xor(300, 50, wrong=0.2)),
                area(ReliefF(n_neighbors=k), lambda s: make_ringnorm(100, n_irrelevant=100, random_state=s)),
            ]
            for k in (1, 3, 10, 30, 75, 300)
        ),
    )


def genotypes() -> str:
    """Two loci that act only together, among others."""
    weighters = {
        "`ReliefF`": ReliefF(),
        "`ReliefF(n_neighbors=100)`": ReliefF(n_neighbors=100),
        "`IRelief`": IRelief(),
        "`FisherScore`": FisherScore(),
    }

    def loci(n_irrelevant: int) -> Callable:
        return lambda seed: make_epistasis(1000, n_irrelevant=n_irrelevant, random_state=seed)

    return table(
        ["irrelevant loci", *weighters],
        ([f"{d:,}", *(times_found(w, loci(d)) for w in weighters.values())] for d in (50, 200, 1000)),
    )


def parity() -> str:
    """Interactions of three and four features."""
    weighters = {"`Relief`": Relief(), "`ReliefF`": ReliefF(), "`IRelief`": IRelief()}
    problems = [(3, 300, 20), (3, 300, 50), (3, 1000, 50), (3, 1000, 200), (4, 1000, 20)]
    return table(
        ["features that interact", "samples", "irrelevant features", *weighters],
        (
            [
                f"{order}",
                f"{n:,}",
                f"{d}",
                *(times_found(w, xor(n, d, order=order)) for w in weighters.values()),
            ]
            for order, n, d in problems
        ),
    )


def irelief_width() -> str:
    """A kernel width given as a number."""
    rows = []
    for sigma in (0.05, 0.2, 0.5, 1.0, 5.0, 100.0, "auto"):
        fitted = [(IRelief(sigma=sigma).fit(X, y), r) for X, y, r in map(xor(300, 50), SEEDS)]
        found = sum(come_first(*each) for each in fitted)
        rows.append([f"{sigma}", f"{found}", f"{sum(w.converged_ for w, _ in fitted)}"])
    return table(["`sigma`", "found", "`converged_`"], rows)


def lhr_iterations() -> str:
    """Finding two features by LHR, by the number of its iterations."""
    steps = (1, 2, 3, 5, 20)
    weighters = [*(LHRelief(max_iter=n) for n in steps), ReliefF(), IRelief()]
    problems = [(f"XOR, {n:,}", xor(300, n)) for n in (50, 200, 1000)]
    for n in (50, 200, 1000):

        def spiral(seed: int, n: int = n) -> tuple:
            return make_fermat_spiral(400, turns=1, n_irrelevant=n, random_state=seed)

        problems.append((f"spiral, {n:,}", spiral))
    return table(
        ["problem, irrelevant features", *(f"LHR, {n}" for n in steps), "`ReliefF`", "`IRelief`"],
        ([name, *(times_found(weighter, make) for weighter in weighters)] for name, make in problems),
    )


def streamed(X, y, batch: int, **parameters):
    """A weighter that saw the table batch by batch."""
    weighter = OnlineIRelief(**parameters)
    for start in range(0, len(X), batch):
        weighter.partial_fit(X[start : start + batch], y[start : start + batch])
    return weighter


def online_stream() -> str:
    """XOR as a stream: size of the batches and of what is kept."""
    rows = []
    for batch in (100, 500):
        for size in (10, 50, 200, None):
            found = 0
            for seed in SEEDS:
                X, y, relevant = xor(2000, 50)(seed)
                found += come_first(streamed(X, y, batch, buffer_size=size, random_state=seed), relevant)
            rows.append([f"{batch}", f"{size}", f"{found}"])
    return table(["samples in a batch", "`buffer_size`", "found"], rows)


def online_drift() -> str:
    """The class follows feature 0 for 1,000 samples, then feature 1."""
    rows = []
    for later in (100, 1000, 4000):
        cells = []
        for decay in (1.0, 0.25):
            weights = []
            for seed in SEEDS:
                X = np.random.default_rng(seed).normal(size=(1000 + later, 20))
                y = np.append(X[:1000, 0], X[1000:, 1]) > 0.0
                stream = streamed(X, y, 100, buffer_size=200, step_decay=decay, random_state=seed)
                weights.append(stream.feature_weights_[:2])
            cells.append("{:.2f}, {:.2f}".format(*np.mean(weights, axis=0)))
        rows.append([f"{later:,}", *cells])
    return table(["samples after the change", "`step_decay=1`", "`step_decay=0.25`"], rows)


def fisher() -> str:
    """Relevant before irrelevant features."""
    weighters = [FisherScore(), ReliefF(), IRelief()]
    return table(
        ["data", *(f"`{type(w).__name__}`" for w in weighters)],
        ([name, *(area(w, make) for w in weighters)] for name, make in PROBLEMS.items()),
    )


def within_class(margin, y):
    """Margins relative to what is usual in the class."""
    return margin - np.array([np.median(margin[y == c]) for c in y])


def shares_of_flipped(suspicions: Callable, make: Callable, *, relevant_only: bool = False) -> list[str]:
    """Mean share of truly flipped labels among as many samples of least margin, for several margins."""
    shares = []
    for seed in SEEDS:
        X, y, relevant = make(seed)
        y_wrong, flipped = flip_labels(y, 0.1, random_state=seed)
        worst = np.argsort(suspicions(X[:, relevant] if relevant_only else X, y_wrong))[:, : flipped.sum()]
        shares.append(flipped[worst].mean(axis=1))
    return [f"{share:.2f}" for share in np.mean(shares, axis=0)]


def margins() -> str:
    """A tenth of the labels is flipped: how many of the suspects are."""

    def suspicions(X, y):
        nearest = [w.fit(X, y).margins(X, y) for w in (Relief(), ReliefF())]
        soft = IRelief().fit(X, y)
        margin = soft.margins(X, y)
        return [*nearest, margin, within_class(margin, y), -soft.outlier_proba_]

    return table(
        ["data", "`Relief`", "`ReliefF`", "`IRelief`", "`IRelief`, within the class", "`outlier_proba_`"],
        ([name, *shares_of_flipped(suspicions, make)] for name, make in PROBLEMS.items()),
    )


def margins_relevant() -> str:
    """The same without irrelevant features."""
    weighters = {
        "`Relief`": Relief(),
        "`ReliefF`": ReliefF(),
        "`IRelief(perplexity=0.5)`": IRelief(perplexity=0.5),
        "`IRelief(perplexity=0.05)`": IRelief(perplexity=0.05),
    }

    def suspicions(X, y):
        return [w.fit(X, y).margins(X, y) for w in weighters.values()]

    return table(
        ["relevant features only", *weighters],
        (
            [name.split(",")[0], *shares_of_flipped(suspicions, make, relevant_only=True)]
            for name, make in PROBLEMS.items()
        ),
    )


def margins_right() -> str:
    """All labels are right: how many margins are negative nevertheless."""
    rows = []
    for name, make in PROBLEMS.items():
        shares = []
        for seed in SEEDS:
            X, y, _ = make(seed)
            shares.append(np.mean(IRelief(perplexity=0.5).fit(X, y).margins(X, y) < 0.0))
        rows.append([name, f"{np.mean(shares):.2f}"])
    return table(["all labels right", "negative margins (`IRelief(perplexity=0.5)`)"], rows)


MICROARRAYS = {
    "leukemia": "leukemia_golub",
    "colon": "colon_alon",
    "prostate": "prostate_singh",
    "DLBCL": "dlbcl_gems",
    "SRBCT": "srbct",
    "medulloblastoma": "cns_medulloblastoma34",
}


def hyperplanes() -> str:
    """Accuracy of k-NN and of HKNN on microarrays, both in the metric of I-RELIEF."""
    folder = Path(os.environ.get("HIGHRELIEF_DATA", Path(__file__).parents[2] / "shared" / "data"))
    models = {
        "1-NN": KNeighborsClassifier(1),
        "5-NN": KNeighborsClassifier(5),
        "`HKNNClassifier()`": HKNNClassifier(),
    }
    rows = []
    for name, file in MICROARRAYS.items():
        with np.load(folder / "microarray" / f"{file}.npz") as data:
            X, y = data["X"].astype(np.float64), data["y"]
        scores = []
        for fitted, left_out in RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0).split(X, y):
            weighter = IRelief(n_features_to_select=100, weighted="euclidean").fit(X[fitted], y[fitted])
            known, new = weighter.transform(X[fitted]), weighter.transform(X[left_out])
            scores.append([m.fit(known, y[fitted]).score(new, y[left_out]) for m in models.values()])
        size = f"{X.shape[0]} samples, {X.shape[1]:,} genes"
        rows.append([f"{name}: {size}", *(f"{score:.3f}" for score in np.mean(scores, axis=0))])
    return table(["microarray", *models], rows)


def error(model, make: Callable, n_train: int = 400, seeds: Iterable[int] = SEEDS) -> str:
    """Mean share of new samples that are classified wrongly, in per cent."""
    errors = []
    for seed in seeds:
        X, y, *_ = make(seed)
        errors.append(1.0 - model.fit(X[:n_train], y[:n_train]).score(X[n_train:], y[n_train:]))
    return f"{100.0 * np.mean(errors):.1f}"


def extraction() -> str:
    """Nearest neighbors among extracted features, 10 of the original ones irrelevant."""
    extractors = {
        "scaled features": MinMaxScaler(),
        "`PCA(5)`": make_pipeline(MinMaxScaler(), PCA(5)),
        "`DANN`, 5": DANN(n_components=5),
        "`DANN`, all": DANN(),
        "`LFE`, 5": LFE(n_components=5, n_neighbors=5),
        "`LFE`, all": LFE(n_neighbors=5),
        "`ReliefF`": ReliefF(weighted="euclidean"),
    }

    def samples(generator: Callable) -> Callable:
        return lambda seed: generator(2400, n_irrelevant=10, random_state=seed)

    return table(
        ["5 nearest neighbors after", *extractors],
        (
            [
                f"`{generator.__name__}`",
                *(
                    error(make_pipeline(each, KNeighborsClassifier(5)), samples(generator))
                    for each in extractors.values()
                ),
            ]
            for generator in (make_ringnorm, make_twonorm, make_waveform, make_xor)
        ),
    )


def extraction_svm() -> str:
    """A support vector machine among extracted features, everything chosen by cross-validation."""
    machine = {"svc__C": [1, 10], "svc__gamma": ["scale", 1.0]}
    few = [2, 5, 20]
    models = {
        "scaled features": (make_pipeline(MinMaxScaler(), SVC()), {}),
        "`PCA`": (make_pipeline(MinMaxScaler(), PCA(), SVC()), {"pca__n_components": few}),
        "`DANN`": (make_pipeline(DANN(), SVC()), {"dann__n_components": few}),
        "`LFE`": (make_pipeline(LFE(), SVC()), {"lfe__n_components": few, "lfe__n_neighbors": [1, 10]}),
    }

    def digits(seed: int, n_noisy: int) -> tuple:
        X, y = load_digits(return_X_y=True)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))[:1300]
        return np.hstack([X[order], rng.uniform(0.0, 16.0, (1300, n_noisy))]), y[order]

    problems = {
        "digits": lambda seed: digits(seed, 0),
        "digits, 64 pixels of noise": lambda seed: digits(seed, 64),
        "`make_waveform`, 30 irrelevant": lambda seed: make_waveform(
            1300, n_irrelevant=30, random_state=seed
        ),
        "`make_ringnorm`, 10 irrelevant": lambda seed: make_ringnorm(
            1300, n_irrelevant=10, random_state=seed
        ),
    }
    return table(
        ["support vector machine after", *models],
        (
            [
                name,
                *(
                    error(GridSearchCV(model, machine | grid, cv=3), make, n_train=300, seeds=range(3))
                    for model, grid in models.values()
                ),
            ]
            for name, make in problems.items()
        ),
    )


TABLES = {
    make.__name__: make
    for make in (
        noise,
        label_noise,
        relieff_k,
        genotypes,
        parity,
        irelief_width,
        lhr_iterations,
        online_stream,
        online_drift,
        fisher,
        margins,
        margins_relevant,
        margins_right,
        hyperplanes,
        extraction,
        extraction_svm,
    )
}

if __name__ == "__main__":
    # A width that does not converge is what one of the tables counts.
    warnings.simplefilter("ignore", ConvergenceWarning)
    # With one neighbor LFE may have fewer than 20 directions.
    warnings.filterwarnings("ignore", "Only", UserWarning)
    for wanted in sys.argv[1:] or TABLES:
        print(f"{wanted}: {TABLES[wanted].__doc__}\n\n{TABLES[wanted]()}\n", flush=True)
