"""What docs/reproduced.py is told: how much of each experiment it shows, and what came out, in words."""

#: Repeats shown, where they are fewer than the paper's.
SHOWN: dict[str, int] = {}

#: What holds of a paper and what does not, by its file in ``protocols/``.
FOUND: dict[str, list[str]] = {
    "irelief_2007": [],
    "lfe_2008": [],
    "im4e_2012": [],
    "lhr_2014": [],
    "frel_2015": [],
}
