"""Compiled loops: arrays in, arrays out.

Nothing here validates, raises, allocates beyond a tile's scratch space or draws random numbers. Every
kernel releases the interpreter lock and works on the layout of :mod:`.packing`: rows sorted by class,
each class padded to whole blocks of rows, features padded to whole vectors, all values ≥ 0.

==================  =====================================================================
:mod:`.vectors`     the innermost loops, in the vector instructions of the machine
:mod:`.packing`     the layout, made once per fit
:mod:`.distances`   tiles of pairwise distances; exact distances of single pairs
:mod:`.nearest`     k nearest per class with shared ties, and the margins they give
:mod:`.soft`        softmax neighbourhoods, and the margins they give
:mod:`.online`      one sample after another
==================  =====================================================================
"""
