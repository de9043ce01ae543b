"""The methods: what users call them, where they are, what they do, and who is to be cited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """A method as the command offers it."""

    #: Name of the class.
    home: str
    #: What it is, in a line.
    summary: str
    #: Keys of its references.
    references: tuple[str, ...]
    #: What papers call it.
    title: str
    #: How it decides, in a sentence or two that a stranger understands.
    words: str


METHODS: Mapping[str, Method] = {
    "irelief": Method(
        "IRelief",
        "I-RELIEF: margins under the weights they make; nothing to tune",
        ("sun2007",),
        "I-RELIEF",
        "I-RELIEF weighs a feature by its margin: how much farther a sample is from samples of other classes"
        " than from those of its own. Near samples count more, and which ones are near is judged by the"
        " weights themselves, again and again, so that features that act only together are found.",
    ),
    "online-irelief": Method(
        "OnlineIRelief",
        "I-RELIEF, one sample after another",
        ("sun2007",),
        "Online I-RELIEF",
        "Online I-RELIEF weighs a feature by its margin: how much farther a sample is from samples of other"
        " classes than from those of its own. It looks at one sample after another, and each moves the"
        " weights a little.",
    ),
    "irelief-cv": Method(
        "IReliefCV",
        "I-RELIEF, the kernel width chosen by cross-validation",
        ("sun2007",),
        "Cross-validated I-RELIEF",
        "I-RELIEF weighs a feature by its margin: how much farther a sample is from samples of other classes"
        " than from those of its own, near samples counted more. How near is near was chosen by how well"
        " samples that were left out are classified under the weights.",
    ),
    "relief": Method(
        "Relief",
        "nearest hit and nearest miss",
        ("kira1992",),
        "RELIEF",
        "RELIEF compares every sample with the nearest one of its own class and the nearest one of another"
        " class. A feature weighs more the farther it sets the second apart, compared with the first.",
    ),
    "relieff": Method(
        "ReliefF",
        "k nearest of every class",
        ("kononenko1994", "robnik2003"),
        "RELIEF-F",
        "RELIEF-F compares every sample with its nearest neighbours of its own class and of every other"
        " class. A feature weighs more the farther it sets the latter apart, compared with the former.",
    ),
    "rrelieff": Method(
        "RReliefF",
        "RELIEF-F for a target that is a number",
        ("robnik1997", "robnik2003"),
        "RRELIEF-F",
        "RRELIEF-F compares every sample with its nearest neighbours. A feature weighs more the more it"
        " differs where the target differs, and the less it does where the target is alike.",
    ),
    "surf": Method(
        "SURF",
        "all samples nearer than the mean distance",
        ("greene2009",),
        "SURF",
        "SURF compares every sample with all that are nearer than samples are on average. A feature weighs"
        " more the farther it sets those of other classes apart, compared with those of the same class.",
    ),
    "surf-star": Method(
        "SURFStar",
        "SURF, and samples far away with the opposite sign",
        ("greene2010",),
        "SURF*",
        "SURF* compares every sample with all that are nearer than samples are on average, and, the other way"
        " round, with all that are farther. It looks for features that act together: a feature that acts"
        " alone may get a weight below 0.",
    ),
    "multisurf": Method(
        "MultiSURF",
        "all samples within a radius of each sample's own",
        ("urbanowicz2018",),
        "MultiSURF",
        "MultiSURF compares every sample with all that are near it, by a radius of its own: the mean of its"
        " distances less half their standard deviation. A feature weighs more the farther it sets those of"
        " other classes apart, compared with those of the same class.",
    ),
    "multisurf-star": Method(
        "MultiSURFStar",
        "MultiSURF, and samples far away with the opposite sign",
        ("granizo2013",),
        "MultiSURF*",
        "MultiSURF* compares every sample with all that are near it, by a radius of its own, and, the other"
        " way round, with all that are far. It looks for features that act together: a feature that acts"
        " alone may get a weight below 0.",
    ),
    "logo": Method(
        "LOGO",
        "few features that give every sample a margin",
        ("sun2010",),
        "LOGO",
        "LOGO looks for few features by which samples are nearer to their own class than to others. A penalty"
        " sets the weights of all others to 0: of features that say the same it keeps one or a few.",
    ),
    "logo-cv": Method(
        "LOGOCV",
        "LOGO, kernel width and penalty chosen by cross-validation",
        ("sun2010",),
        "Cross-validated LOGO",
        "LOGO looks for few features by which samples are nearer to their own class than to others; a penalty"
        " sets the weights of all others to 0. How large it is, and how near is near, were chosen by how well"
        " samples that were left out are classified under the weights.",
    ),
    "im4e": Method(
        "IM4E",
        "margins that do not hang on single samples",
        ("bei2015",),
        "I-M4E",
        "I-M4E looks for weights under which samples are nearer to their own class than to others, and under"
        " which this does not hang on single neighbours.",
    ),
    "im4e-cv": Method(
        "IM4ECV",
        "I-M4E, the kernel width chosen by cross-validation",
        ("bei2015",),
        "Cross-validated I-M4E",
        "I-M4E looks for weights under which samples are nearer to their own class than to others, and under"
        " which this does not hang on single neighbours. How near is near was chosen by how well samples that"
        " were left out are classified.",
    ),
    "frel": Method(
        "FREL",
        "margin losses with a penalty; stable rankings",
        ("li2015",),
        "FREL",
        "FREL finds, once, the nearest sample of the same class and of another class, and then the weights"
        " that set these apart with the least loss, kept small by a penalty so that they change little with"
        " the samples.",
    ),
    "lmba": Method(
        "Lmba",
        "FREL's square loss over several neighbours",
        ("li2015",),
        "Lmba",
        "Lmba goes once through the samples and moves the weights, by steps of one length, so that the"
        " nearest samples of the same class come closer and those of other classes stay apart.",
    ),
    "lhr": Method(
        "LHRelief",
        "margins to local hyperplanes",
        ("cai2014",),
        "LHR",
        "LHR compares every sample with mixtures of its nearest neighbours, one of its own class and one of"
        " the others: mixtures are less noisy than single samples. A feature weighs more the farther it sets"
        " the second apart.",
    ),
    "simba": Method(
        "Simba",
        "gradient steps on the margin, with restarts",
        ("gilad2004",),
        "Simba",
        "Simba moves the weights, sample by sample, so that the nearest sample of another class gets farther"
        " away than the nearest of the same class, under the weights as they are.",
    ),
    "gflip": Method(
        "GFlip",
        "features flipped while the margins grow",
        ("gilad2004",),
        "G-flip",
        "G-flip looks for a set of features, not for weights: it begins with none, and takes a feature in or"
        " out as long as this sets samples farther from other classes than from their own.",
    ),
    "fisher": Method(
        "FisherScore",
        "one feature at a time: between over within classes",
        ("duda1973",),
        "Fisher score",
        "The Fisher score looks at each feature alone: how far the means of the classes are apart, compared"
        " with how much the values spread within the classes. It does not see features that act only"
        " together.",
    ),
}

#: What is wrapped around a method, by the name of its class; the words follow the method's own.
WRAPPERS: Mapping[str, Method] = {
    "EnsembleWeighting": Method(
        "EnsembleWeighting",
        "the mean of many fits",
        ("li2015",),
        "Ensemble of",
        "This was done many times, each time without some of the samples, and the results were averaged.",
    ),
    "IterativeElimination": Method(
        "IterativeElimination",
        "the worst features dropped, round by round",
        ("moore2007",),
        "TuRF with",
        "After each round the features of the lowest weights were dropped, and the others weighed again"
        " without them.",
    ),
    "VarianceReduction": Method(
        "VarianceReduction",
        "samples weighed first",
        ("li2015",),
        "Variance reduction of",
        "Before, every sample was weighed: samples unlike all others count less.",
    ),
    "CrossValidatedSelector": Method(
        "CrossValidatedSelector",
        "the number of features by cross-validation",
        (),
        "Cross-validated",
        "How many features are kept was decided by how well a classifier does with the best 1, 2, 3, 5, … on"
        " samples that were left out.",
    ),
    "RedundancyFilter": Method(
        "RedundancyFilter",
        "one of each group that says the same",
        ("sun2007",),
        "Redundancy-filtered",
        "Of features that say much the same, by their correlation, only the best is kept.",
    ),
    "ErrorControlledSelector": Method(
        "ErrorControlledSelector",
        "the features that are real, at a stated error rate",
        ("westfall1993", "benjamini1995"),
        "Error-controlled",
        "Which features are kept was decided by how much of this chance alone would make, so that few of"
        " them, or probably none, are false.",
    ),
}

#: Papers of what is no weighter, by the names of the classes in small letters.
BESIDE = {"lfe": ("sun2008",), "dann": ("hastie1996", "sun2008"), "hknn": ("vincent2002",)}
