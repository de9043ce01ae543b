"""
Samples whose labels look wrong
===============================

A margin measures by how much a sample is nearer to its own class than to another, under the learned
weights. Samples with a negative margin are at a border, or have the wrong label.
"""

# %%
# Twenty labels of breast tissue, exchanged
# -----------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from highrelief import IRelief
from highrelief.datasets import flip_labels
from highrelief.plots import MarginDisplay

data = load_breast_cancer()
X, y = data.data, data.target
y_wrong, flipped = flip_labels(y, 20 / len(y), random_state=0)[:2]
flipped = y_wrong != y
names = data.target_names[y_wrong]

weighter = IRelief().fit(X, names)
display = MarginDisplay.from_estimator(weighter, X, names, n_named=4)
plt.show()

# %%
# Rings mark the suspects. How many of the twenty are among the samples of the smallest margins? The guide's
# page on margins has more tables, also those where it fails.

order = np.argsort(weighter.margins(X, names))
caught = np.cumsum(flipped[order])
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(np.arange(1, 101), caught[:100], label="found, by margin")
ax.plot([0, 100], [0, 100 * flipped.mean()], color="gray", ls=":", label="by chance")
ax.axhline(flipped.sum(), color="black", lw=0.5)
ax.set(xlabel="samples looked at, the smallest margin first", ylabel="wrong labels found")
ax.legend()
plt.show()

print(f"{caught[39]} of {flipped.sum()} wrong labels are among the 40 samples of the smallest margins.")
