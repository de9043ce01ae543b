"""
Missing values and categories
=============================

A table with numbers, categories and missing values. ``ReliefF`` and its family take it without preparation.
Two categories are equal or differ by 1; a difference to a missing value is replaced by its expectation.
Nothing is imputed.
"""

# %%
# Patients
# --------
#
# The disease depends on a measurement, and on the blood group for smokers only; center, age and the rest
# mean nothing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from highrelief import ReliefF

rng = np.random.default_rng(0)
n = 500
patients = pd.DataFrame(
    {
        "marker": rng.normal(size=n),
        "smoker": pd.Categorical(rng.choice(["no", "yes"], n)),
        "blood": pd.Categorical(rng.choice(["A", "B", "0"], n, p=[0.45, 0.15, 0.4])),
        "center": pd.Categorical(rng.choice(["north", "east", "south", "west"], n)),
        "age": rng.integers(20, 80, n).astype(float),
        **{f"noise {j}": rng.normal(size=n) for j in range(10)},
    }
)
risk = 1.2 * patients["marker"] + 3.0 * (patients["smoker"].eq("yes") ^ patients["blood"].eq("A")) - 1.5
ill = np.where(risk + rng.logistic(size=n) > 0, "ill", "healthy")

weighter = ReliefF(categorical_features="from_dtype").fit(patients, ill)
for rank in range(1, 5):
    name = patients.columns[weighter.ranking_ == rank][0]
    print(rank, name, round(float(weighter.feature_weights_[weighter.ranking_ == rank][0]), 3))

# %%
# With more and more gaps
# -----------------------
#
# Cells are emptied at random. Weights shrink, since missing values carry no information; the three relevant
# features stay first for long. Leaving out every patient with a missing value would soon leave none.

shares = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4]
weights, complete = [], []
for share in shares:
    gaps = pd.DataFrame(np.random.default_rng(1).random(patients.shape) < share, columns=patients.columns)
    table = patients.mask(gaps)
    weights.append(ReliefF(categorical_features="from_dtype").fit(table, ill).feature_weights_)
    complete.append(int((~table.isna()).all(axis=1).sum()))
weights = np.array(weights)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(shares, weights[:, 3:], color="silver")
for place, name in enumerate(patients.columns[:3]):
    left.plot(shares, weights[:, place], "o-", label=name)
left.set(title="Weights", xlabel="share of cells that are missing", ylabel="weight")
left.legend()
right.bar([str(share) for share in shares], complete, color="gray")
right.set(title="Patients without any gap", xlabel="share of cells that are missing")
plt.show()
