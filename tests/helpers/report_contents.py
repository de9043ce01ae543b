"""Contents of reports, made up: the pages must show whatever they hold."""

from dataclasses import replace

import numpy as np

from highrelief.inspection.report.contents import (
    Answer,
    Contents,
    Convergence,
    Correlations,
    Distribution,
    Estimate,
    FeatureTable,
    Finding,
    Interactions,
    Member,
    Origin,
    PairPicture,
    Reference,
    SampleMap,
    Samples,
    SimilarFeatures,
    Stability,
    TwoFeatures,
)

#: What a page would do if it took names for anything but text.
EVIL = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "</script><script>alert(3)</script>",
    "--><svg onload=alert(4)>",
    "{{7*7}}{% raw %}",
    "\"'`><b>bold</b>&amp;",
    "javascript:alert(5)",
    "<!--<script>",
    "=cmd|' /C calc'!A0",
    "line\u2028end\u2029\u0000\\u003c\\",
    "{b|rich}",
    "<style>*{display:none}</style>",
    "<iframe srcdoc='<script>alert(6)</script>'></iframe>",
    "__proto__",
    "constructor",
    "\u202eright to left",
    "",
)


def feature_table(names, *, resampled=True, seed=0):
    """Weights that fall like those of real rankings; every third feature beyond the first few is 0."""
    rng = np.random.default_rng(seed)
    n_features = len(names)
    weights = np.sort(rng.exponential(size=n_features) ** 2)[::-1]
    weights = weights / weights[0]
    weights[2 * n_features // 3 + 1 :] = 0.0
    low = np.maximum(1.0, np.arange(1, n_features + 1) * 0.7)
    high = np.minimum(n_features, np.arange(1, n_features + 1) * 1.6 + 2)
    frequency = np.clip(1.2 - np.arange(n_features) / 20.0, 0.0, 1.0)
    return FeatureTable(
        names=list(names),
        ranks=list(range(1, n_features + 1)),
        weights=weights.tolist(),
        kept=(np.arange(n_features) < min(10, n_features)).tolist(),
        univariate_ranks=(rng.permutation(n_features) + 1).tolist(),
        rank_low=low.tolist() if resampled else None,
        rank_high=high.tolist() if resampled else None,
        frequency=frequency.tolist() if resampled else None,
        words=["Ten features carry most of the weight."],
    )


def samples(names, n_classes, *, seed=1):
    rng = np.random.default_rng(seed)
    classes = np.arange(len(names)) % n_classes
    margins = rng.normal(0.4, 0.3, size=len(names))
    suspects = np.argsort(margins)[:2].tolist()
    return Samples(
        names=list(names),
        classes=classes.tolist(),
        margins=[*margins[:-1].tolist(), None],
        outlier_probability=[*(1.0 / (1.0 + np.exp(8.0 * margins[:-1]))).tolist(), None],
        suspects=suspects,
        reasons=["Its margin is below 0, and it looks like the other class."] * len(suspects),
        words=["Two samples are likely mislabeled."],
    )


def distributions(names, n_classes, *, seed=2):
    rng = np.random.default_rng(seed)
    found = []
    for rank, name in enumerate(names[:6], start=1):
        points = [np.sort(rng.normal(each, 1.0, size=20)) for each in range(n_classes)]
        boxes = [np.quantile(each, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist() for each in points]
        found.append(Distribution(name, rank, boxes, [each.tolist() for each in points]))
    return found


def correlations(names, *, seed=3):
    values = np.random.default_rng(seed).normal(size=(30, len(names[:12])))
    matrix = np.corrcoef(values, rowvar=False).tolist() if values.shape[1] > 1 else [[1.0]]
    if len(matrix) > 2:
        matrix[0][2] = matrix[2][0] = None
    return Correlations(
        names=list(names[:12]),
        ranks=list(range(1, len(names[:12]) + 1)),
        matrix=matrix,
        groups=[list(names[:2])],
        words=["Two of the best features are redundant."],
        similar=[SimilarFeatures(names[0], 1, [Member(names[1], 2, -0.91)])] if len(names) > 1 else [],
    )


def interactions(names):
    m = len(names[:5])
    losses = [[None if i == j else round(0.2 * (i - j), 1) for j in range(m)] for i in range(m)]
    losses[-1] = [None] * m
    return Interactions(
        names=list(names[:5]),
        ranks=list(range(1, m + 1)),
        losses=losses,
        clear=[[value is not None and abs(value) > 0.5 for value in row] for row in losses],
        pairs=[
            TwoFeatures(names[0], names[-1], 0.97, 1.02, True, True, "interact"),
            TwoFeatures(names[0], names[len(names) // 2], -0.6, None, True, False, "redundant"),
        ],
        words=["Two of the best features interact."],
    )


def stability():
    return Stability(
        n_resamples=20,
        share=0.8,
        n_best=10,
        ranking=Estimate(0.71, 0.66, 0.75),
        selection=Estimate(0.82, 0.74, 0.9),
        sizes=[1, 2, 5, 10, 20],
        by_size=[
            Estimate(1.0, 1.0, 1.0),
            Estimate(0.6, 0.4, 0.8),
            Estimate(0.7, 0.6, 0.8),
            Estimate(0.82, 0.74, 0.9),
            Estimate(None, None, None),
        ],
        words=["Nearly the same features come first whichever samples are drawn."],
    )


def finding(names):
    return Finding(
        headline=f"{names[0]} and {names[-1]} stand out.",
        sentences=[f"Each has at least 3.1 times the weight of the next feature, {names[1]}."],
        keep=f"Keep 2 of {len(names):,} features",
        reason="These 2 weights exceed what chance gives.",
        trust="moderate",
        trust_reason="Two halves of the samples agree on these 2 features by 0.60.",
        n_features=2,
        threshold=0.45,
        answers=[
            Answer("Which can be reported?", 2, "Familywise error rate 10 %.", recommended=True),
            Answer("How many predict best?", None, "Not computed."),
        ],
    )


def pair_pictures(names, n_classes, *, seed=4):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, size=(n_classes, 3, 2))
    counts[:, 2, 1] = 0
    points = [rng.normal(each, 1.0, size=(15, 2)).tolist() for each in range(n_classes)]
    return [
        PairPicture(names[0], names[1], ["AA", names[-1], "GG"], ["0", "1"], counts.tolist()),
        PairPicture(names[0], names[-1], points=points),
    ]


def sample_map(names, sample_names, n_classes, *, seed=5):
    n_samples = len(sample_names)
    values = np.random.default_rng(seed).normal(size=(len(names[:8]), n_samples)).clip(-2.5, 2.5)
    found = values.tolist()
    found[0][0] = None
    classes = np.sort(np.arange(n_samples) % n_classes).tolist()
    return SampleMap(list(names[:8]), list(range(n_samples)), list(sample_names), classes, found)


def origin():
    return Origin(
        parameters={"sigma": "1.0", "max_iter": "100", "tol": "0.001"},
        data={
            "file": "leukemia.csv",
            "shape": "72 samples, 7,129 features",
            "SHA-256": "0123456789abcdef" * 4,
        },
        versions={"highrelief": "0.1.0", "numpy": "2.4.0", "python": "3.11.7"},
        time={"made": "2026-01-02 03:04", "fit": "0.8 s", "resampling": "12.0 s"},
        again="highrelief rank leukemia.csv --target class --method irelief --seed 0",
        references=[
            Reference(
                "Sun, Y. (2007). Iterative RELIEF for feature weighting. IEEE TPAMI 29(6), 1035-1051.",
                "@article{sun2007,\n  author = {Sun, Yijun},\n  year = {2007},\n}",
                "https://doi.org/10.1109/TPAMI.2007.1093",
            ),
            Reference("A book without an address. Wiley.", "@book{book,\n  year = {1973},\n}", None),
        ],
    )


def full_contents(n_features=120, n_samples=72, *, names=None, classes=("ALL", "AML")):
    """A report with every part."""
    names = [f"gene {each:05d}" for each in range(1, n_features + 1)] if names is None else list(names)
    sizes = [len(range(each, n_samples, len(classes))) for each in range(len(classes))]
    return Contents(
        title="Ranking of leukemia.csv",
        method="I-RELIEF",
        method_class="IRelief",
        method_words="Weighs the features such that samples lie nearer to their own class than to others.",
        classes=list(classes),
        class_sizes=sizes,
        summary=[
            f"I-RELIEF ranked {len(names):,} features by how well they tell the classes apart.",
            "The first ten hold 62 % of the weight.",
        ],
        facts=[
            ("Samples", f"{n_samples:,}"),
            ("Features", f"{len(names):,}"),
            ("Classes", str(len(classes))),
        ],
        features=feature_table(names),
        convergence=Convergence(
            steps=[1.0, 0.4, 0.1, 0.02, 0.004, 0.0009],
            meaning="change of the weights",
            tolerance=0.001,
            converged=True,
            cycle_length=0,
            words=["After 6 steps the weights changed by less than 0.001."],
        ),
        stability=stability(),
        samples=samples([f"patient {each}" for each in range(1, n_samples + 1)], len(classes)),
        distributions=distributions(names, len(classes)),
        correlations=correlations(names),
        interactions=interactions(names),
        finding=finding(names),
        pair_pictures=pair_pictures(names, len(classes)),
        sample_map=sample_map(names, [f"patient {each}" for each in range(n_samples)], len(classes)),
        origin=origin(),
        notes=["The column 'id' names the samples."],
        warnings=["One feature is constant and weighs 0."],
    )


def with_levels(found, levels, n_classes):
    """The values of a feature as those of a category."""
    shares = [[(each + place + 1) / 10.0 for place in range(len(levels))] for each in range(n_classes)]
    return replace(found, boxes=[], points=[], levels=list(levels), shares=shares)


def mixed_contents():
    """A report of a target that is a number, with categories and missing values."""
    whole = full_contents(30, classes=("lower", "middle", "upper"))
    best, *others = whole.distributions
    others[0] = replace(others[0], boxes=[[], *others[0].boxes[1:]], points=[[], *others[0].points[1:]])
    share = [0.0, 0.002, *np.linspace(0.0, 0.4, 28).tolist()]
    return replace(
        whole,
        features=replace(
            whole.features, missing=share, univariate_score="the squared correlation with the target"
        ),
        distributions=[with_levels(best, ("Bern", "Graz", "Ulm"), 3), *others],
        samples=None,
        absent={"samples": "The target is a number."},
        tertiles="Lower, middle and upper are the thirds of the samples by their target.",
    )


def bare_contents():
    """A report of which every part is absent that may be."""
    why = {
        "convergence": "ReliefF does not iterate.",
        "stability": "Resampling was switched off.",
        "samples": "Margins need at least two samples in every class.",
        "distributions": "The data is too large.",
        "correlations": "There is one feature only.",
        "interactions": "It takes two features.",
    }
    whole = full_contents(3, 4)
    return replace(
        whole,
        method="ReliefF",
        features=feature_table(whole.features.names, resampled=False),
        convergence=None,
        stability=None,
        samples=None,
        distributions=[],
        correlations=None,
        interactions=None,
        finding=None,
        pair_pictures=[],
        sample_map=None,
        origin=replace(whole.origin, again=None, references=[]),
        notes=[],
        warnings=[],
        absent=why,
    )


def evil_contents():
    """A report whose every name and value tries to be more than text."""
    whole = full_contents(len(EVIL), 2 * len(EVIL), names=EVIL, classes=EVIL[:3])
    evil = " ".join(EVIL)
    sample_names = [each + "1" for each in EVIL] + [each + "2" for each in EVIL]
    return replace(
        whole,
        title=evil,
        method=evil,
        method_class=evil,
        method_words=evil,
        summary=list(EVIL),
        facts=[(each, each) for each in EVIL],
        features=replace(whole.features, words=list(EVIL), missing=[0.1] * len(EVIL), univariate_score=evil),
        convergence=replace(whole.convergence, meaning=evil, words=list(EVIL)),
        stability=replace(whole.stability, words=list(EVIL)),
        samples=replace(
            samples(sample_names, 3), suspects=list(range(len(EVIL))), reasons=list(EVIL), words=list(EVIL)
        ),
        distributions=[with_levels(whole.distributions[0], EVIL, 3), *whole.distributions[1:]],
        correlations=replace(whole.correlations, words=list(EVIL)),
        interactions=replace(whole.interactions, words=list(EVIL)),
        finding=replace(
            whole.finding,
            headline=evil,
            sentences=list(EVIL),
            keep=evil,
            reason=evil,
            trust="low",
            trust_reason=evil,
            answers=[Answer(each, 1, each) for each in EVIL],
        ),
        sample_map=replace(whole.sample_map, names=sample_names),
        origin=Origin(
            parameters={each: each for each in EVIL},
            data={each: each for each in EVIL},
            versions={each: each for each in EVIL},
            time={each: each for each in EVIL},
            again=evil,
            references=[Reference(each, each, each) for each in EVIL],
        ),
        notes=list(EVIL),
        warnings=list(EVIL),
    )
