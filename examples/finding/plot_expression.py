"""
Marker genes of natural killer cells
====================================

Natural killer (NK) cells and cytotoxic T cells kill with the same proteins and are easily confused. Which
genes distinguish them? The data is real: expression of 765 genes in single blood cells (Zheng et al. 2017).
Scanpy contains a sample of it, so that nothing is downloaded.
"""

# %%
# 85 cells, 765 genes
# -------------------
#
# ``raw`` holds normalized counts on a logarithmic scale.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import scanpy

from highrelief import HighRelief

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # the file is older than the current format
    blood = scanpy.datasets.pbmc68k_reduced()
cells = blood[blood.obs["bulk_labels"].isin(["CD56+ NK", "CD8+ Cytotoxic T"])]
expression = cells.raw.to_adata().to_df()
cell_type = cells.obs["bulk_labels"].astype(str).to_numpy()
print(expression.shape, (cell_type == "CD56+ NK").sum(), "NK cells")

# %%
# How many genes, and which
# -------------------------
#
# ``HighRelief`` recommends the genes whose association with the cell type chance does not explain: the
# probability of recommending any irrelevant gene is at most 10 % (``level=0.1``).

selector = HighRelief(random_state=0).fit(expression, cell_type)
order = np.argsort(selector.ranking_)[: selector.n_features_]
genes = expression.columns[order]
print(f"{len(genes)} of {expression.shape[1]} genes: {', '.join(genes)}")

# %%
# Known markers are among them: CD3D is part of the T-cell receptor, which NK cells do not have; GNLY, NKG7,
# GZMB, FCER1G, TYROBP and SPON2 are markers of NK cells.
#
# Expression of the recommended genes
# -----------------------------------

by_type = np.argsort(cell_type, kind="stable")
figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
image = ax.imshow(expression.to_numpy()[by_type][:, order].T, aspect="auto", cmap="viridis")
border = (cell_type == "CD56+ NK").sum() - 0.5
ax.axvline(border, color="white", lw=2)
ax.set_yticks(range(len(genes)), genes)
ax.set_xticks([border / 2, (border + len(cell_type)) / 2], ["NK cells", "cytotoxic T cells"])
ax.tick_params(length=0)
figure.colorbar(image, label="expression (log)")
plt.show()

# %%
# How strong is the evidence?
# ---------------------------
#
# Adjusted p-values of the best 30 genes. Left of the line are the recommended ones.

best = np.argsort(selector.ranking_)[:30]
figure, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
ax.bar(
    range(30),
    -np.log10(selector.adjusted_pvalues_[best]),
    color=np.where(selector.support_[best], "C0", "silver"),
)
ax.axvline(len(genes) - 0.5, color="black", lw=1)
ax.set_xticks(range(30), expression.columns[best], rotation=90, fontsize=8)
ax.set(ylabel=r"$-\log_{10}$ adjusted p")
plt.show()
