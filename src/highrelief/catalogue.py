"""The methods: what users call them, where they are, what they do in a line, and who is to be cited."""

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


METHODS: Mapping[str, Method] = {
    "irelief": Method(
        "IRelief", "I-RELIEF: margins under the weights they make; nothing to tune", ("sun2007",)
    ),
    "online-irelief": Method("OnlineIRelief", "I-RELIEF, one sample after another", ("sun2007",)),
    "relief": Method("Relief", "nearest hit and nearest miss", ("kira1992",)),
    "relieff": Method("ReliefF", "k nearest of every class", ("kononenko1994", "robnik2003")),
    "logo": Method("LOGO", "few features that give every sample a margin", ("sun2010",)),
    "im4e": Method("IM4E", "margins that do not hang on single samples", ("bei2012",)),
    "frel": Method("FREL", "margin losses with a penalty; stable rankings", ("li2015",)),
    "lmba": Method("Lmba", "FREL's square loss over several neighbours", ("li2015",)),
    "lhr": Method("LHRelief", "margins to local hyperplanes", ("cai2014",)),
    "simba": Method("Simba", "gradient steps on the margin, with restarts", ("gilad2004",)),
    "gflip": Method("GFlip", "features flipped while the margins grow", ("gilad2004",)),
    "fisher": Method("FisherScore", "one feature at a time: between over within classes", ("duda1973",)),
}

#: Papers of what is no weighter, by the names of the classes in small letters.
BESIDE = {"lfe": ("sun2008",), "dann": ("hastie1996", "sun2008"), "hknn": ("vincent2002",)}
