"""The registry of public estimators: modules, names in the command and in reports, and references.

Lazy imports, ``highrelief.__all__``, saving, warm-up, the command, citations and reports follow from the
entries here. This module is imported with the package, and so imports nothing large.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A public estimator."""

    #: Name of the class.
    home: str
    #: Its module.
    module: str
    #: Description in a line.
    summary: str
    #: Keys of its references.
    references: tuple[str, ...]
    #: Name in papers.
    title: str
    #: Description for reports, in one or two plain sentences.
    words: str
    #: Parameters that run all its kernels, for ``highrelief warmup``; empty if it has no kernels of its own.
    warm_up: Sequence[Mapping[str, Any]] = ({},)
    #: Whether it scores each feature separately.
    univariate: bool = False
    #: Article before the title at the start of a sentence.
    article: str = ""
    #: Name of the class that ``home`` wraps; empty if it is not a meta-estimator.
    inside: str = ""


_WEIGHTERS: Mapping[str, Method] = {
    "irelief": Method(
        "IRelief",
        "methods.irelief",
        "I-RELIEF: margins under the weights they make; nothing to tune",
        ("sun2007",),
        "I-RELIEF",
        "I-RELIEF weighs a feature by its margin: how much farther a sample is from samples of other classes"
        " than from those of its own. Near samples count more, and which ones are near is determined by the"
        " weights themselves, again and again, so that features that act only together are found.",
        warm_up=({"max_iter": 2}, {"max_iter": 2, "sigma": 1.0, "margin": "prior"}),
    ),
    "online-irelief": Method(
        "OnlineIRelief",
        "methods.online",
        "I-RELIEF, one sample after another",
        ("sun2007",),
        "Online I-RELIEF",
        "Online I-RELIEF weighs a feature by its margin: how much farther a sample is from samples of other"
        " classes than from those of its own. It looks at one sample after another, and each moves the"
        " weights a little.",
        warm_up=({}, {"sigma": 1.0, "margin": "prior"}, {"buffer_size": 20}),
    ),
    "relief": Method(
        "Relief",
        "methods.relief",
        "nearest hit and nearest miss",
        ("kira1992",),
        "RELIEF",
        "RELIEF compares every sample with the nearest one of its own class and the nearest one of another"
        " class. A feature weighs more the farther it sets the second apart, compared with the first.",
        warm_up=({}, {"n_anchors": 2}, {"metric": "sqeuclidean"}),
    ),
    "relieff": Method(
        "ReliefF",
        "methods.relief",
        "k nearest of every class",
        ("kononenko1994", "robnik2003"),
        "RELIEF-F",
        "RELIEF-F compares every sample with its nearest neighbors of its own class and of every other"
        " class. A feature weighs more the farther it sets the latter apart, compared with the former.",
        warm_up=(
            {},
            {"n_anchors": 2},
            {"metric": "sqeuclidean"},
            {"scale": None},
            {"scale": None, "n_anchors": 2},
        ),
    ),
    "rrelieff": Method(
        "RReliefF",
        "methods.rrelieff",
        "RELIEF-F for a continuous target",
        ("robnik1997", "robnik2003"),
        "RRELIEF-F",
        "RRELIEF-F compares every sample with its nearest neighbors. A feature weighs more the more it"
        " differs where the target differs, and the less it does where the target is alike.",
    ),
    "surf": Method(
        "SURF",
        "methods.surf",
        "all samples nearer than the mean distance",
        ("greene2009",),
        "SURF",
        "SURF compares every sample with all that are nearer than samples are on average. A feature weighs"
        " more the farther it sets those of other classes apart, compared with those of the same class.",
    ),
    "surf-star": Method(
        "SURFStar",
        "methods.surf",
        "SURF, and samples far away with the opposite sign",
        ("greene2010",),
        "SURF*",
        "SURF* compares every sample with all that are nearer than samples are on average, and, the other way"
        " round, with all that are farther. It looks for interactions: a feature that matters"
        " by itself may get a weight below 0.",
    ),
    "multisurf": Method(
        "MultiSURF",
        "methods.surf",
        "all samples within a radius of each sample's own",
        ("urbanowicz2018",),
        "MultiSURF",
        "MultiSURF compares every sample with all that are near it, by a radius of its own: the mean of its"
        " distances less half their standard deviation. A feature weighs more the farther it sets those of"
        " other classes apart, compared with those of the same class.",
    ),
    "multisurf-star": Method(
        "MultiSURFStar",
        "methods.surf",
        "MultiSURF, and samples far away with the opposite sign",
        ("granizo2013",),
        "MultiSURF*",
        "MultiSURF* compares every sample with all that are near it, by a radius of its own, and, the other"
        " way round, with all that are far. It looks for interactions: a feature that matters"
        " by itself may get a weight below 0.",
    ),
    "logo": Method(
        "LOGO",
        "methods.logo",
        "few features that give every sample a margin",
        ("sun2010",),
        "LOGO",
        "LOGO looks for few features by which samples are nearer to their own class than to others. A penalty"
        " sets the weights of all others to 0: of redundant features it keeps one or a few.",
        warm_up=({"max_iter": 2}, {"max_iter": 2, "sigma": 1.0, "alpha": 0.1}),
    ),
    "im4e": Method(
        "IM4E",
        "methods.im4e",
        "margins that do not hang on single samples",
        ("bei2015",),
        "I-M4E",
        "I-M4E looks for weights under which samples are nearer to their own class than to others, and under"
        " which this does not hang on single neighbors.",
        warm_up=({"max_iter": 2},),
    ),
    "frel": Method(
        "FREL",
        "methods.frel",
        "margin losses with a penalty; stable rankings",
        ("li2015",),
        "FREL",
        "FREL finds, once, the nearest sample of the same class and of another class, and then the weights"
        " that set these apart with the least loss, kept small by a penalty so that they change little with"
        " the samples.",
        warm_up=({}, {"loss": "square"}, {"solver": "exact", "loss": "square"}),
    ),
    "lmba": Method(
        "Lmba",
        "methods.lmba",
        "FREL's square loss over several neighbors",
        ("li2015",),
        "Lmba",
        "Lmba goes once through the samples and moves the weights, by steps of one length, so that the"
        " nearest samples of the same class come closer and those of other classes stay apart.",
    ),
    "lhr": Method(
        "LHRelief",
        "methods.lhr",
        "margins to local hyperplanes",
        ("cai2014",),
        "LHR",
        "LHR compares every sample with mixtures of its nearest neighbors, one of its own class and one of"
        " the others: mixtures are less noisy than single samples. A feature weighs more the farther it sets"
        " the second apart.",
        warm_up=({"max_iter": 2},),
    ),
    "simba": Method(
        "Simba",
        "methods.simba",
        "gradient steps on the margin, with restarts",
        ("gilad2004",),
        "Simba",
        "Simba moves the weights, sample by sample, so that the nearest sample of another class gets farther"
        " away than the nearest of the same class, under the weights as they are.",
        warm_up=({"n_restarts": 2},),
    ),
    "gflip": Method(
        "GFlip",
        "methods.gflip",
        "features flipped while the margins grow",
        ("gilad2004",),
        "G-flip",
        "G-flip looks for a set of features, not for weights: it begins with none, and takes a feature in or"
        " out as long as this sets samples farther from other classes than from their own.",
        warm_up=({}, {"utility": "sigmoid"}),
    ),
    "high-relief": Method(
        "HighRelief",
        "methods.high_relief",
        "features of any order, and how many to keep",
        ("urbanowicz2018", "moore2007"),
        "HighRelief",
        "HighRelief looks at every feature alone, at all pairs of features, and, by ReliefF in rounds without"
        " the worst features, at larger groups. It compares what it finds with what it finds under permuted"
        " labels, looks a second time for what the first findings hide, and recommends the features that"
        " chance does not explain.",
        warm_up=(),
    ),
    "high-relief-regressor": Method(
        "HighReliefRegressor",
        "methods.high_relief",
        "HighRelief for a continuous target",
        ("urbanowicz2018", "robnik2003"),
        "HighRelief for regression",
        "HighRelief for regression looks at every feature alone and at all pairs of features, with the target"
        " in three classes of equal size, and, by RReliefF in rounds without the worst features, at larger"
        " groups. It compares what it finds with what it finds under permuted targets, looks a second time"
        " for what the first findings hide, and recommends the features that chance does not explain.",
        warm_up=(),
    ),
    "pair-scan": Method(
        "PairScan",
        "methods.pair_scan",
        "all pairs of features: information about the class given the best partner",
        ("wan2010", "wilson1931"),
        "PairScan",
        "PairScan counts samples by class in the table of every pair of features. A feature weighs more the"
        " more informative it is about the class given the value of its best partner, so that features"
        " that matter only in pairs are found.",
        warm_up=({"n_bins": (3, 4)},),
    ),
    "fisher": Method(
        "FisherScore",
        "methods.fisher",
        "one feature at a time: between over within classes",
        ("duda1973",),
        "Fisher score",
        "The Fisher score looks at each feature alone: how far the means of the classes are apart, compared"
        " with how much the values spread within the classes. It does not see features that"
        " matter only in combination.",
        univariate=True,
        article="The",
    ),
}

#: What is wrapped around a method, by the name of its class; the words follow the method's own.
WRAPPERS: Mapping[str, Method] = {
    "EnsembleWeighting": Method(
        "EnsembleWeighting",
        "selection.ensemble",
        "the mean of many fits",
        ("li2015",),
        "Ensemble of",
        "This was done many times, each time without some of the samples, and the results were averaged.",
        warm_up=(),
        article="An",
    ),
    "IterativeElimination": Method(
        "IterativeElimination",
        "selection.elimination",
        "the worst features dropped, round by round",
        ("moore2007",),
        "TuRF with",
        "After each round the features of the lowest weights were dropped, and the others weighed again"
        " without them.",
        warm_up=(),
    ),
    "VarianceReduction": Method(
        "VarianceReduction",
        "selection.variance_reduction",
        "samples weighed first",
        ("li2015",),
        "Variance reduction of",
        "Before, every sample was weighed: samples unlike all others count less.",
        warm_up=(),
    ),
    "CrossValidatedSelector": Method(
        "CrossValidatedSelector",
        "selection.cross_validation",
        "the number of features by cross-validation",
        (),
        "Cross-validated",
        "How many features are kept was decided by how well a classifier does with the best 1, 2, 3, 5, … on"
        " samples that were left out.",
        warm_up=(),
    ),
    "KernelWidthCV": Method(
        "KernelWidthCV",
        "selection.kernel_width",
        "the kernel width by cross-validation",
        (),
        "Cross-validated",
        "How near is near, and with LOGO how large the penalty is, were chosen by how well samples that were"
        " left out are classified under the weights.",
        warm_up=(),
    ),
    "RedundancyFilter": Method(
        "RedundancyFilter",
        "selection.redundancy",
        "one of each group of redundant features",
        ("sun2007",),
        "Redundancy-filtered",
        "Of redundant features, by their correlation, only the best is kept.",
        warm_up=(),
    ),
    "ErrorControlledSelector": Method(
        "ErrorControlledSelector",
        "selection.error_control",
        "the features that are real, at a stated error rate",
        ("westfall1993", "benjamini1995"),
        "Error-controlled",
        "Which features are kept was decided by how much of this chance alone would make, so that few of"
        " them, or probably none, are false.",
        warm_up=(),
    ),
}


def _with_cross_validated_width(name: str, chosen: str) -> Method:
    method, search = _WEIGHTERS[name], WRAPPERS["KernelWidthCV"]
    return Method(
        search.home,
        search.module,
        f"{method.title}, {chosen} chosen by cross-validation",
        method.references,
        f"{search.title} {method.title}",
        f"{method.words} {search.words}",
        warm_up=(),
        inside=method.home,
    )


#: What ranks features, by the name that the command has for it.
METHODS: Mapping[str, Method] = {
    **_WEIGHTERS,
    "turf": Method(
        "IterativeElimination",
        "selection.elimination",
        "TuRF: ReliefF, the worst features dropped round by round",
        ("moore2007", *_WEIGHTERS["relieff"].references),
        f"{WRAPPERS['IterativeElimination'].title} {_WEIGHTERS['relieff'].title}",
        f"{_WEIGHTERS['relieff'].words} {WRAPPERS['IterativeElimination'].words}",
        warm_up=(),
        inside="ReliefF",
    ),
    "irelief-cv": _with_cross_validated_width("irelief", "the kernel width"),
    "logo-cv": _with_cross_validated_width("logo", "kernel width and penalty"),
    "im4e-cv": _with_cross_validated_width("im4e", "the kernel width"),
}

#: What gives features no weights, by the name that `highrelief cite` has for it.
OTHERS: Mapping[str, Method] = {
    "lfe": Method("LFE", "methods.lfe", "", ("sun2008",), "LFE", ""),
    "dann": Method("DANN", "methods.dann", "", ("hastie1996", "sun2008"), "DANN", ""),
    "hknn": Method("HKNNClassifier", "methods.hknn", "", ("vincent2002",), "HKNN", ""),
}

#: All public estimators, by the names of their classes.
ESTIMATORS: Mapping[str, Method] = {
    each.home: each for group in (METHODS, WRAPPERS, OTHERS) for each in group.values()
}


# Abilities


def methods_with(ability: Callable[[Any], bool], *, among: Callable[[Any], bool] | None = None) -> list[str]:
    """Return the names of the methods that have an ability with default parameters, for messages.

    ``among``: a second condition, such as the kind of target.
    """
    return [
        name
        for name in METHODS
        for estimator in [create(name)]
        if ability(estimator) and (among is None or among(estimator))
    ]


def create(name: str) -> Any:
    """Return the estimator of a method with default parameters."""
    method, package = METHODS[name], import_module(__name__.rpartition(".")[0])
    inside = [getattr(package, method.inside)()] if method.inside else []
    return getattr(package, method.home)(*inside)


def any_of(names: Sequence[str]) -> str:
    """Return names as the end of a sentence: "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


# References


@cache
def references() -> dict[str, str]:
    """Return the BibTeX entries of ``references.bib`` by key."""
    from importlib.resources import files  # noqa: PLC0415  seldom needed

    text = files(__package__).joinpath("references.bib").read_text(encoding="utf-8")
    return {re.split("[{,]", entry, maxsplit=2)[1]: entry for entry in text.strip().split("\n\n")}


def software_citation() -> str:
    """Return the BibTeX entry of this package, as CITATION.cff has it."""
    version = import_module(__name__.rpartition(".")[0]).__version__
    return (
        "@software{highrelief,\n"
        "  author  = {{The highrelief developers}},\n"
        "  title   = {highrelief},\n"
        f"  version = {{{version}}},\n"
        "}"
    )


def address(key: str) -> str | None:
    """Return the URL of a paper; None if its DOI is unknown."""
    doi = _fields(key).get("doi")
    return None if doi is None else f"https://doi.org/{doi}"


def as_text(key: str) -> str:
    """Return a reference as plain text."""
    fields = _fields(key)
    authors = []
    for author in fields["author"].split(" and "):
        family, _, given = author.partition(", ")
        authors.append(f"{family}, {' '.join(f'{name[0]}.' for name in given.split())}")
    names = authors[0] if len(authors) == 1 else f"{', '.join(authors[:-1])} and {authors[-1]}"
    where = fields.get("journal") or fields.get("booktitle") or fields["publisher"]
    volume = f" {fields['volume']}" if "volume" in fields else ""
    number = f"({fields['number']})" if "number" in fields else ""
    pages = f", {fields['pages'].replace('--', '-')}" if "pages" in fields else ""
    text = f"{names} ({fields['year']}). {fields['title']}. {where}{volume}{number}{pages}."
    # As TeX would print it.
    return text.replace("{\\v S}", "Š").replace(" -- ", " - ").replace("{", "").replace("}", "")


def _fields(key: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+)\s*= \{(.*)\},$", references()[key], flags=re.MULTILINE))
