"""Compiled loops: arrays in, arrays out.

Nothing here validates, raises, allocates beyond scratch space or draws random numbers. Every kernel releases
the interpreter lock. Most work on a layout of rows that are sorted by class, each class padded to whole
blocks of rows, features padded to whole vectors.

=======================  ================================================================
:mod:`.packing`          the layout
:mod:`.columns`          ranges, levels, and how values become whole numbers
:mod:`.integer_tiles`    tiles of distances between rows of whole numbers
:mod:`.distances`        tiles of distances between rows of floats
:mod:`.candidates`       who may be among the k nearest of each class
:mod:`.shares`           how the k nearest share a weight of 1, ties included
:mod:`.nearest`          exact distances of candidates, and the margins that neighbors give
:mod:`.hyperplanes`      distances from the hyperplanes through the nearest of each class
:mod:`.differences`      sums of differences between a row and others
:mod:`.soft`             softmax neighborhoods
:mod:`.pair_sums`        sums over pairs, and the mean margin they give
:mod:`.soft_margins`     the margins of single rows
:mod:`.expectations`     expected distances in softmax neighborhoods, and their entropies
:mod:`.weighted`         distances under weights
:mod:`.online`           one sample after another
:mod:`.simd`             what innermost loops are written in: vectors of the machine
:mod:`.vectors`          the innermost loops over floats
:mod:`.jit`              how all this is compiled; kept by :mod:`.cache`
=======================  ================================================================
"""
