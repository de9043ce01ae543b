"""Numba kernels: arrays in, arrays out.

Kernels neither validate nor raise nor draw random numbers, allocate only scratch space and release the
interpreter lock. Most work on a layout of rows sorted by class, with each class padded to whole blocks of
rows and features padded to whole vectors.

=======================  ================================================================
:mod:`.packing`          the layout, column statistics, quantization
:mod:`.distances`        distance tiles: float, weighted and quantized rows
:mod:`.sparse`           distances and margins of rows in CSR format
:mod:`.missing`          corrections of differences for missing values
:mod:`.candidates`       candidates for the k nearest of each class, tie sharing
:mod:`.nearest`          exact distances of candidates, margins of k-nearest neighborhoods
:mod:`.labelings`        nearest hits and misses under many labelings
:mod:`.radius`           neighbors within a radius, and beyond one
:mod:`.soft`             softmax neighborhoods
:mod:`.pair_sums`        sums over all pairs, and the mean margin they yield
:mod:`.pair_scan`        tables of counts of all pairs of features, on bit planes
:mod:`.hyperplanes`      distances to local hyperplanes, and their margins
:mod:`.online`           online I-RELIEF
:mod:`.descent`          stochastic descent on a margin loss
:mod:`.simba`            stochastic ascent on the margin (Simba)
:mod:`.gflip`            greedy feature flips (G-flip)
:mod:`.sorting`          column-wise sorting networks
:mod:`.vectors`          innermost loops over floats
:mod:`.simd`             vector instructions of the target machine
:mod:`.intrinsics`       Python fallbacks for intrinsics
:mod:`.jit`              compilation of all kernels
:mod:`.cache`            compiled kernels on disk
=======================  ================================================================
"""
