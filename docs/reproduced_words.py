"""What docs/reproduced.py is told: how much of each experiment it shows, and what came out, in words."""

from typing import Any

#: Scenarios and methods of the archive that take seconds.
_QUICK_SCENARIOS = (
    "core*",
    "XOR*",
    "epi*",
    "mainEff*",
    "2wayEpi_*",
    "2wayEpiHet*",
    "*Class*",
    "CA*",
    "MA*",
    "CE*",
)
_QUICK_METHODS = (
    "HighRelief",
    "IRelief",
    "ReliefF",
    "ReliefF-cat",
    "TuRF-ReliefF-cat",
    "MultiSURF-cat",
    "PairScan",
    "MultiSURFStar",
)
_QUICK_RIVALS = ("Mutual information", "mRMR", "LightGBM", "XGBoost", "fast-select MultiSURF")

#: Options of the commands whose cells are shown, where that is less than the whole experiment.
SHOWN: dict[str, list[dict[str, Any]]] = {
    "im4e-table3": [{"repeats": 10}],
    "im4e-table4": [{"repeats": 10}],
    "im4e-table5": [{"repeats": 10}],
    "lhr-fig1": [{"repeats": 2}],
    "lhr-table1": [{"repeats": 2}],
    "lhr-table2": [{"repeats": 2}],
    "rebate-power": [
        {
            "repeats": 1,
            "datasets": (*_QUICK_SCENARIOS, "6_bit*", "11_bit*", "20_bit*", "2wayEpiFeatures_a_100_*"),
            "settings": (*_QUICK_METHODS, "FisherScore", "RReliefF-cat", *_QUICK_RIVALS),
        },
    ],
    "passemiers-recovery": [
        {
            "repeats": 1,
            "settings": tuple(
                f"{method} n={n} m={digits}"
                for method in ("HighRelief", "IRelief", "PairScan", "LightGBM")
                for n in (1000, 250)
                for digits in ("?", "??", "???")
            ),
        },
        {
            "repeats": 1,
            "settings": tuple(
                f"{method} n=250 m=2048" for method in ("HighRelief", "IRelief", "PairScan", "LightGBM")
            ),
        },
    ],
}

#: What holds of a paper and what does not, by its file in ``protocols/``.
FOUND: dict[str, list[str]] = {
    "irelief_2007": [
        "Holds: I-RELIEF finds the original features best. Its area under the ROC curve is the largest on all"
        " eight sets, with and without wrong labels, and with 10 % of them the others fall behind by much on"
        " ringnorm, waveform and diabetics.",
        "Holds: RELIEF-F breaks down on ringnorm with wrong labels, I-RELIEF does not. On twonorm we do not"
        " see it.",
        "Holds: every width from 0.2 on converges, the larger the faster, from any start to the same weights;"
        " 0.05 never does. Online learning comes to the weights of the batch with every learning rate.",
        "Holds in part: that I-RELIEF's features classify better than RELIEF-F's. As in the paper it wins the"
        " t-tests on ringnorm with wrong labels, on waveform and on thyroid, and loses none; on twonorm with"
        " wrong labels and on yeast it does not win. On the microarrays there is no clear winner.",
        "Unexplained: on segmentation all our numbers are far from the paper's, worse with all features and"
        " better with selected ones.",
    ],
    "lfe_2008": [
        "Holds: LFE's errors on five of six sets are within a point of the published ones, and below those of"
        " plain k-NN and RELIEF on all of them. The metric that it learns is near zero where features are"
        " irrelevant.",
        "Does not hold: that LFE is better than NCA everywhere. scikit-learn's NCA does better than the"
        " paper's on splice, ringnorm and thyroid, and level with LFE there.",
        "Does not hold: that PCA is the worst. On waveform two principal components do as well as anything.",
        "The AR faces are not public. In their place stand handwritten digits, odd against even, somewhere on"
        " larger images (a second choice: on the unmodified digits every method was right nearly always)."
        " On these LFE leads by a point or so with k-NN, and not at all with an SVM.",
    ],
    "im4e_2012": [
        "Holds: what the illustration is to show. The quality of the margins prefers the features with which"
        " a sample depends on no single neighbor.",
        "Holds: on the colon and prostate sets nearly every number of Tables 3 and 4, of I-M4E and of its"
        " rivals, is the published one within the chance of the folds; so is I-M4E's on nine of ten UCI sets."
        " On WPBC it is lower.",
        "Does not hold: the breast set, of which only another selection of genes is at hand. All methods are"
        " near guessing there. With features chosen on all samples, those of the test too, several come up to"
        " the published numbers.",
        "Some published numbers look like mistakes: LOGO's on the wines is hardly above the share of the"
        " larger class; ours is near the other methods.",
        "One cut into ten folds is shown, not ten: differences of a few points are chance.",
    ],
    "lhr_2014": [
        "Holds: with genes selected on all samples, as the paper seems to have done, the rankings of single"
        " genes are right about as often as published, many to the digit. Selected inside the fold they are"
        " right less often: that is what new samples can expect.",
        "Does not hold: that LHR selects better genes than I-RELIEF and the others. Inside the fold I-RELIEF"
        " is ahead on average, by little; mRMR is far better than published.",
        "Holds for a spiral of one turn (the paper gives no equation) and features selected on all samples:"
        " LHR finds both features among up to 10,000 irrelevant ones, and k-NN and HKNN are then right as"
        " often as published; I-RELIEF loses one in some draws. Selected inside the fold, LHR becomes worse"
        " with the number of irrelevant features.",
        "Does not hold: that LOGO is behind on the spiral. It leaves the two features and no other. With 2.5"
        " turns no method finds both among a thousand.",
        "Several published numbers cannot be right (see the reasons beneath the tables).",
    ],
    "frel_2015": [
        "Holds: more members make every ensemble more stable, and less so beyond twenty. For the minimum of"
        " FREL's objective stability grows with the penalty on all three sets, as the theory predicts; for"
        " what Algorithm 1 leaves, which is not that minimum, it does not.",
        "Does not hold: that FREL with L2 is the most stable. Of the seven methods Fisher, ReliefF, Lmba and"
        " FREL with the square loss lead, depending on the set; FREL with the log loss is behind.",
        "The published measure gives 1 - 1/m to pure noise, since it is applied to averaged ranks. Both are"
        " shown: as published, and with the averages ranked again.",
        "The paper's figures have no numbers: ours stand alone, beside what the text states.",
    ],
    "urbanowicz_2018": [
        "Shown is replicate 1, which was development data of HighRelief, as replicates 2 to 5 were: its rules"
        " were chosen with these tables in view. Its numbers show that nothing is broken, not what to expect"
        " of new tables.",
        "Shown are the scenarios and methods that take seconds. LOGO and skrebate, which take about 4 CPU"
        " seconds at 1,600 samples, the random forest (2) and Boruta (more) are left out; fast-select's"
        " MultiSURF is the algorithm of skrebate. Without `--datasets` and `--settings` the command runs all"
        " files of the folder, up to 10,000 features and 20,000 samples, with all methods that are installed."
        " `--repeats 30` are all replicates.",
        "Rivals have the settings of their documentation: gain of boosting with default parameters,"
        " columns of few values discrete in fast-select. All ran"
        " on one thread, on the same tables; `benchmarks/requirements/rivals.txt` has their versions.",
        "The paper draws power against the percentage of features; its curves are not in the tables.",
        "Continuous endpoints are for RReliefF only: the others take classes.",
    ],
    "passemiers_2024": [
        "Shown is one of six folds, with four methods, n = 1,000 and 250, up to 512 features and for n = 250"
        " also 2,048. The tables were not used to design HighRelief, the problems were.",
        "The published numbers are those of the authors' files of results; other tables and methods of the"
        " paper, on real data, are not run.",
    ],
}
