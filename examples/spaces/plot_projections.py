"""
Directions instead of features
==============================

If the classes differ in a sum or a difference of features, no single column separates them. LFE finds
directions along which nearest misses are far and nearest hits are near. DANN is an alternative, and PCA
ignores the classes.
"""

# %%
# Three handwritten digits and 64 pixels of noise
# -----------------------------------------------
#
# Half of the images for training; the others are shown.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from highrelief import DANN, LFE

images, digits = load_digits(return_X_y=True)
chosen = np.isin(digits, (3, 5, 8))
noise = np.random.default_rng(0).normal(scale=0.3, size=(chosen.sum(), 64))
X, y = np.hstack([images[chosen] / 16.0, noise]), digits[chosen]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

spaces = {
    "PCA": make_pipeline(MinMaxScaler(), PCA(2)),
    "DANN": DANN(n_components=2),
    "LFE": LFE(n_components=2, n_neighbors=5),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
accuracy = {}
for ax, (name, space) in zip(axes, spaces.items(), strict=True):
    knn = KNeighborsClassifier(5).fit(space.fit(X_train, y_train).transform(X_train), y_train)
    shown = space.transform(X_test)
    accuracy[name] = knn.score(shown, y_test)
    for digit, marker in zip((3, 5, 8), "o^s", strict=True):
        ax.scatter(*shown[y_test == digit].T, s=16, marker=marker, label=str(digit))
    ax.set(title=f"{name}: 5-NN right in {accuracy[name]:.0%}", xticks=[], yticks=[])
axes[0].legend(loc="best")
plt.show()

# %%
# What the directions look at
# ---------------------------
#
# The first two directions of LFE as images: the pixels on the left half, the noise on the right. A digit
# with ink where it is red moves one way, where it is blue the other way. Noise is hardly looked at.

components = spaces["LFE"].components_
figure, axes = plt.subplots(2, 2, figsize=(6.5, 6), layout="constrained")
reach = np.abs(components).max()
for row, component in zip(axes, components, strict=True):
    for ax, part, title in zip(row, (component[:64], component[64:]), ("pixels", "noise"), strict=True):
        image = ax.imshow(part.reshape(8, 8), cmap="RdBu_r", vmin=-reach, vmax=reach)
        ax.set(xticks=[], yticks=[], title=title)
figure.colorbar(image, ax=axes, shrink=0.6)
plt.show()

shares = [float(np.linalg.norm(component[:64]) / np.linalg.norm(component)) for component in components]
print(
    "share of the length of the directions that is among the pixels:", [round(share, 2) for share in shares]
)

# %%
# How much of the margin these two directions hold, and how much more there would be:

every = LFE(n_neighbors=5).fit(X_train, y_train)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(1 + np.arange(30), np.cumsum(every.discriminant_power_ratio_)[:30], "o-", ms=3)
ax.set(xlabel="directions", ylabel="share of the power", ylim=(0, 1.05))
plt.show()
