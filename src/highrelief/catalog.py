"""The public estimators: where they are, what the command and the reports call them, and who is to be cited.

Lazy imports, ``highrelief.__all__``, saving, warm-up, the command, citations and reports follow from the
entries here. This module is imported with the package, and so imports nothing large.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A public estimator."""

    #: Name of the class.
    home: str
    #: Its module.
    module: str
    #: What it is, in a line.
    summary: str
    #: Keys of its references.
    references: tuple[str, ...]
    #: What papers call it.
    title: str
    #: How it decides, in a sentence or two that a stranger understands.
    words: str
    #: Parameters that run all its kernels, for ``highrelief warmup``; none if it runs those of others only.
    warm_up: Sequence[Mapping[str, Any]] = ({},)
    #: Whether it looks at each feature alone.
    univariate: bool = False
    #: What a sentence that begins with the title begins with.
    article: str = ""
    #: Name of the class that ``home`` is wrapped around; empty if it is no meta-estimator.
    inside: str = ""


_WEIGHTERS: Mapping[str, Method] = {
    "irelief": Method(
        "IRelief",
        "methods.irelief",
        "I-RELIEF: margins under the weights they make; nothing to tune",
        ("sun2007",),
        "I-RELIEF",
        "I-RELIEF weighs a feature by its margin: how much farther a sample is from samples of other classes"
        " than from those of its own. Near samples count more, and which ones are near is judged by the"
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
        "RELIEF-F for a target that is a number",
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
        " round, with all that are farther. It looks for features that act together: a feature that acts"
        " alone may get a weight below 0.",
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
        " way round, with all that are far. It looks for features that act together: a feature that acts"
        " alone may get a weight below 0.",
    ),
    "logo": Method(
        "LOGO",
        "methods.logo",
        "few features that give every sample a margin",
        ("sun2010",),
        "LOGO",
        "LOGO looks for few features by which samples are nearer to their own class than to others. A penalty"
        " sets the weights of all others to 0: of features that say the same it keeps one or a few.",
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
    "pair-scan": Method(
        "PairScan",
        "methods.pair_scan",
        "all pairs of features: information about the class given the best partner",
        ("wan2010", "wilson1931"),
        "PairScan",
        "PairScan counts samples by class in the table of every pair of features. A feature weighs more the"
        " more it tells about the class once the value of its best partner is known, so that features that"
        " act only in pairs are found.",
        warm_up=({"n_bins": (3, 4)},),
    ),
    "fisher": Method(
        "FisherScore",
        "methods.fisher",
        "one feature at a time: between over within classes",
        ("duda1973",),
        "Fisher score",
        "The Fisher score looks at each feature alone: how far the means of the classes are apart, compared"
        " with how much the values spread within the classes. It does not see features that act only"
        " together.",
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
        "one of each group that says the same",
        ("sun2007",),
        "Redundancy-filtered",
        "Of features that say much the same, by their correlation, only the best is kept.",
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


# The papers behind the methods, as BibTeX.


REFERENCES: Mapping[str, str] = {
    "kira1992": """@inproceedings{kira1992,
  author    = {Kira, Kenji and Rendell, Larry A.},
  title     = {A practical approach to feature selection},
  booktitle = {Proceedings of the Ninth International Workshop on Machine Learning},
  pages     = {249--256},
  year      = {1992},
}""",
    "kononenko1994": """@inproceedings{kononenko1994,
  author    = {Kononenko, Igor},
  title     = {Estimating attributes: Analysis and extensions of {RELIEF}},
  booktitle = {European Conference on Machine Learning},
  pages     = {171--182},
  year      = {1994},
}""",
    "robnik2003": """@article{robnik2003,
  author  = {Robnik-{\\v S}ikonja, Marko and Kononenko, Igor},
  title   = {Theoretical and empirical analysis of {ReliefF} and {RReliefF}},
  journal = {Machine Learning},
  volume  = {53},
  pages   = {23--69},
  year    = {2003},
}""",
    "robnik1997": """@inproceedings{robnik1997,
  author    = {Robnik-{\\v S}ikonja, Marko and Kononenko, Igor},
  title     = {An adaptation of {Relief} for attribute estimation in regression},
  booktitle = {Proceedings of the Fourteenth International Conference on Machine Learning},
  pages     = {296--304},
  year      = {1997},
}""",
    "westfall1993": """@book{westfall1993,
  author    = {Westfall, Peter H. and Young, S. Stanley},
  title     = {Resampling-based multiple testing: Examples and methods for p-value adjustment},
  publisher = {Wiley},
  year      = {1993},
}""",
    "benjamini1995": """@article{benjamini1995,
  author  = {Benjamini, Yoav and Hochberg, Yosef},
  title   = {Controlling the false discovery rate: A practical and powerful approach to multiple testing},
  journal = {Journal of the Royal Statistical Society, Series B},
  volume  = {57},
  number  = {1},
  pages   = {289--300},
  year    = {1995},
}""",
    "moore2007": """@inproceedings{moore2007,
  author    = {Moore, Jason H. and White, Bill C.},
  title     = {Tuning {ReliefF} for genome-wide genetic analysis},
  booktitle = {Evolutionary Computation, Machine Learning and Data Mining in Bioinformatics},
  pages     = {166--175},
  year      = {2007},
}""",
    "greene2009": """@article{greene2009,
  author  = {Greene, Casey S. and Penrod, Nadia M. and Kiralis, Jeff and Moore, Jason H.},
  title   = {Spatially uniform {ReliefF} ({SURF}) for computationally-efficient filtering of gene-gene interactions},
  journal = {BioData Mining},
  volume  = {2},
  pages   = {5},
  year    = {2009},
}""",  # noqa: E501
    "greene2010": """@inproceedings{greene2010,
  author    = {Greene, Casey S. and Himmelstein, Daniel S. and Kiralis, Jeff and Moore, Jason H.},
  title     = {The informative extremes: using both nearest and farthest individuals can improve {Relief} algorithms in the domain of human genetics},
  booktitle = {Evolutionary Computation, Machine Learning and Data Mining in Bioinformatics},
  pages     = {182--193},
  year      = {2010},
}""",  # noqa: E501
    "granizo2013": """@inproceedings{granizo2013,
  author    = {Granizo-Mackenzie, Delaney and Moore, Jason H.},
  title     = {Multiple threshold spatially uniform {ReliefF} for the genetic analysis of complex human diseases},
  booktitle = {Evolutionary Computation, Machine Learning and Data Mining in Bioinformatics},
  pages     = {1--10},
  year      = {2013},
}""",  # noqa: E501
    "urbanowicz2018": """@article{urbanowicz2018,
  author  = {Urbanowicz, Ryan J. and Olson, Randal S. and Schmitt, Peter and Meeker, Melissa and Moore, Jason H.},
  title   = {Benchmarking relief-based feature selection methods for bioinformatics data mining},
  journal = {Journal of Biomedical Informatics},
  volume  = {85},
  pages   = {168--188},
  year    = {2018},
}""",  # noqa: E501
    "wan2010": """@article{wan2010,
  author  = {Wan, Xiang and Yang, Can and Yang, Qiang and Xue, Hong and Fan, Xiaodan and Tang, Nelson L. S. and Yu, Weichuan},
  title   = {{BOOST}: A fast approach to detecting gene-gene interactions in genome-wide case-control studies},
  journal = {American Journal of Human Genetics},
  volume  = {87},
  number  = {3},
  pages   = {325--340},
  year    = {2010},
}""",  # noqa: E501
    "wilson1931": """@article{wilson1931,
  author  = {Wilson, Edwin B. and Hilferty, Margaret M.},
  title   = {The distribution of chi-square},
  journal = {Proceedings of the National Academy of Sciences},
  volume  = {17},
  number  = {12},
  pages   = {684--688},
  year    = {1931},
}""",
    "gilad2004": """@inproceedings{gilad2004,
  author    = {Gilad-Bachrach, Ran and Navot, Amir and Tishby, Naftali},
  title     = {Margin based feature selection -- theory and algorithms},
  booktitle = {Proceedings of the Twenty-First International Conference on Machine Learning},
  year      = {2004},
}""",
    "sun2007": """@article{sun2007,
  author  = {Sun, Yijun},
  title   = {Iterative {RELIEF} for feature weighting: Algorithms, theories, and applications},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence},
  volume  = {29},
  number  = {6},
  pages   = {1035--1051},
  year    = {2007},
}""",
    "sun2010": """@article{sun2010,
  author  = {Sun, Yijun and Todorovic, Sinisa and Goodison, Steve},
  title   = {Local-learning-based feature selection for high-dimensional data analysis},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence},
  volume  = {32},
  number  = {9},
  pages   = {1610--1626},
  year    = {2010},
}""",
    "sun2008": """@inproceedings{sun2008,
  author    = {Sun, Yijun and Wu, Dapeng},
  title     = {A {RELIEF} based feature extraction algorithm},
  booktitle = {Proceedings of the 2008 {SIAM} International Conference on Data Mining},
  pages     = {188--195},
  year      = {2008},
}""",
    "bei2015": """@inproceedings{bei2015,
  author    = {Bei, Yuanzhe and Hong, Pengyu},
  title     = {Maximizing margin quality and quantity},
  booktitle = {{IEEE} 25th International Workshop on Machine Learning for Signal Processing},
  pages     = {1--6},
  year      = {2015},
}""",
    "cai2014": """@article{cai2014,
  author  = {Cai, Hongmin and Ruan, Peiying and Ng, Michael and Akutsu, Tatsuya},
  title   = {Feature weight estimation for gene selection: a local hyperlinear learning approach},
  journal = {BMC Bioinformatics},
  volume  = {15},
  pages   = {70},
  year    = {2014},
}""",
    "li2015": """@article{li2015,
  author  = {Li, Yun and Si, Jennie and Zhou, Guojing and Huang, Shasha and Chen, Songcan},
  title   = {{FREL}: A stable feature selection algorithm},
  journal = {IEEE Transactions on Neural Networks and Learning Systems},
  volume  = {26},
  number  = {7},
  pages   = {1388--1402},
  year    = {2015},
}""",
    "vincent2002": """@inproceedings{vincent2002,
  author    = {Vincent, Pascal and Bengio, Yoshua},
  title     = {K-local hyperplane and convex distance nearest neighbor algorithms},
  booktitle = {Advances in Neural Information Processing Systems 14},
  pages     = {985--992},
  year      = {2002},
}""",
    "hastie1996": """@article{hastie1996,
  author  = {Hastie, Trevor and Tibshirani, Robert},
  title   = {Discriminant adaptive nearest neighbor classification},
  journal = {IEEE Transactions on Pattern Analysis and Machine Intelligence},
  volume  = {18},
  number  = {6},
  pages   = {607--616},
  year    = {1996},
}""",
    "duda1973": """@book{duda1973,
  author    = {Duda, Richard O. and Hart, Peter E.},
  title     = {Pattern classification and scene analysis},
  publisher = {Wiley},
  year      = {1973},
}""",
}


def bibtex(keys: Sequence[str]) -> str:
    """References as BibTeX, one after another."""
    return "\n\n".join(REFERENCES[key] for key in keys)


#: DOIs, of those papers only whose DOI is beyond doubt.
_DOIS: Mapping[str, str] = {
    "kira1992": "10.1016/B978-1-55860-247-2.50037-1",
    "kononenko1994": "10.1007/3-540-57868-4_57",
    "robnik2003": "10.1023/A:1025667309714",
    "greene2009": "10.1186/1756-0381-2-5",
    "urbanowicz2018": "10.1016/j.jbi.2018.07.015",
    "wan2010": "10.1016/j.ajhg.2010.07.021",
    "wilson1931": "10.1073/pnas.17.12.684",
    "gilad2004": "10.1145/1015330.1015352",
    "sun2007": "10.1109/TPAMI.2007.1093",
    "sun2010": "10.1109/TPAMI.2009.190",
    "li2015": "10.1109/TNNLS.2014.2341627",
    "cai2014": "10.1186/1471-2105-15-70",
    "hastie1996": "10.1109/34.506411",
}


def address(key: str) -> str | None:
    """Where a paper is found; None if its DOI is not known."""
    return f"https://doi.org/{_DOIS[key]}" if key in _DOIS else None


def as_text(key: str) -> str:
    """A reference as a person reads it."""
    fields = dict(re.findall(r"^  (\w+)\s*= \{(.*)\},$", REFERENCES[key], flags=re.MULTILINE))
    authors = [_short(author) for author in fields["author"].split(" and ")]
    names = authors[0] if len(authors) == 1 else f"{', '.join(authors[:-1])} and {authors[-1]}"
    where = fields.get("journal") or fields.get("booktitle") or fields["publisher"]
    volume = f" {fields['volume']}" if "volume" in fields else ""
    number = f"({fields['number']})" if "number" in fields else ""
    pages = f", {fields['pages'].replace('--', '-')}" if "pages" in fields else ""
    return _without_marks(f"{names} ({fields['year']}). {fields['title']}. {where}{volume}{number}{pages}.")


def _short(author: str) -> str:
    """Family name and initials."""
    family, _, given = author.partition(", ")
    return f"{family}, {' '.join(f'{name[0]}.' for name in given.split())}"


def _without_marks(text: str) -> str:
    """A text as TeX would print it."""
    return text.replace("{\\v S}", "Š").replace(" -- ", " - ").replace("{", "").replace("}", "")
