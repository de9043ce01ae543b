"""Sizes and thresholds that choose between code paths, or bound the memory or the time of one.

Code reads ``limits.band`` where it needs the value, never when it is imported. ``with limits(band=64):``
changes values for a block of code; tests use it to run on small tables what large ones run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Limits:
    """Sizes and thresholds, changed only by ``with limits(...)``.

    A change holds for all threads of this process, as kernels run on helper threads and on those of Dask,
    which do not inherit context variables. Other processes, as the workers of a cluster, have the defaults.
    """

    # Memory

    #: Share of the free memory that is the default budget.
    memory_share: float = 0.5
    #: Assumed bytes of free memory if the system does not report it.
    assumed_memory: float = 2.0**31
    #: Allocations up to this many bytes are not checked: a check would take longer than to fill them.
    unchecked_bytes: float = 2.0**27
    #: Largest number of cached bytes.
    max_cached_bytes: int = 2**25
    #: Arrays of fewer bytes are not cached: the allocator does not return them to the system.
    min_cached_bytes: int = 2**20
    #: Cached memory is reused for arrays that take at least this share of it.
    min_reused_share: float = 0.5

    # Columns of a table

    #: Bytes of a block of columns that is copied.
    block_bytes: int = 2**24
    #: Columns of a block that is not copied.
    block_columns: int = 2**16
    #: A pass over a table with this many times more features than samples takes little longer than a copy: up
    #: to ``wide_copy_bytes`` it is copied once, rather than block by block in every pass.
    wide_copy_ratio: int = 10
    #: Bytes of the largest wide table that is copied.
    wide_copy_bytes: int = 8 * 10**7
    #: Columns copied at a time: all of their rows stay in the cache.
    copied_columns: int = 512
    #: Columns whose mean and variance are computed at a time.
    moment_columns: int = 1024

    # Distances

    #: Columns of a matrix product; bounds the error of its sums.
    product_width: int = 2048
    #: Rows of a matrix product.
    rows_per_product: int = 512
    #: Least number of columns of a piece in floats.
    min_piece_columns: int = 64
    #: Least number of columns of few levels for which bit planes are used.
    min_level_columns: int = 64
    #: Rows that are scanned for levels first: they suffice to recognize most continuous columns.
    first_scanned_rows: int = 16
    #: Bytes of a copy of columns that are quantized.
    quantized_bytes: int = 2**22
    #: Sparse rows per task of a thread: whole cache lines of the transposed copy.
    sparse_rows: int = 64
    #: Sparse columns with a larger share of stored values are faster to compare densified,
    dense_share: float = 0.2
    #: if there are at least this many of them.
    min_dense_columns: int = 32

    # Search of nearest neighbors

    #: Below this share of the samples, anchors are cheaper row by row than by symmetric tiles.
    few_anchors: float = 1 / 4
    #: With this ratio of bytes per row to rows, all distances take at most a fifth of the memory of the
    #: table.
    wide_search_ratio: float = 20
    #: Rows of a band: distances between two bands are in memory at a time.
    band: int = 2048
    #: Bytes of a piece of the columns if they are processed in pieces, and of all columns otherwise.
    piece_bytes: float = 2.0**24
    #: Anchors whose distances to all rows are in memory at a time.
    anchors_at_once: int = 256
    #: Bytes of all candidate lists; if they need more, distances are computed row by row.
    list_bytes: float = 2.0**26
    #: Anchors whose lists are turned into neighbors at a time.
    list_rows: int = 8192
    #: Bytes of the neighbors of a portion of the anchors if all rows are tied.
    portion_bytes: float = 2.0**27

    # Margins to nearest neighbors

    #: Differences or products per partial sum: fewer are not worth a second thread.
    part_work: float = 1.6e7
    #: Few enough rows that some vectors of features fit into the L1 cache.
    few_rows: int = 128
    #: Anchors whose margins are in memory at a time where squares of margins are summed.
    squared_anchors: int = 512
    #: Pairs whose distances are in memory at a time; all samples may be tied.
    pairs_at_once: int = 2**21

    # Missing values

    #: Values of a block of columns whose excess is computed at a time.
    excess_values: int = 2**18
    #: Values that are summed in vectors in the time of one random access.
    values_per_access: int = 128
    #: Largest number of samples for which a sorting network is faster than buckets.
    max_network_samples: int = 4096
    #: Number of partial sums, for any number of threads.
    missing_sums: int = 8

    # Soft neighborhoods

    #: Bytes of the columns that are processed at a time: two such blocks, one per thread, fit into the
    #: last-level cache.
    weighted_bytes: int = 2**23
    #: A table with this many times more columns than rows is not copied,
    view_ratio: int = 10
    #: unless the copy takes no more bytes than this: it is faster then.
    copy_bytes: int = 2**24
    #: Pairs × features above which it pays to determine the features that need not be summed,
    screened_terms: float = 1e8
    #: if distances and coefficients together take no more bytes than this,
    screened_bytes: float = 2e8
    #: and if weights (of norm 1) change by no more than this.
    small_step: float = 5e-3
    #: Largest number of anchors over which a kernel width is determined.
    width_anchors: int = 1024
    #: Sums of earlier coefficients that are stored, if memory allows, to bound later ones. An iteration
    #: computes about three; in a cycle of two, the step before the last is still there.
    stored_references: int = 8
    #: Fewer features are all summed, which takes no longer than to bound them.
    min_bounded_features: int = 256
    #: If more than this share of the features may be above the threshold, all are summed as a new reference.
    max_bounded_share: float = 0.2

    # Hyperplanes

    #: Length of a list above which rows that are equal in all features of positive weight are merged: ties
    #: among few values would make lists very long.
    long_list: int = 32
    #: Bytes of the Gram matrices in memory at a time, unless those of one sample are larger.
    gram_bytes: float = 2.0**26
    #: Bytes of the scalar products of a thread at a time,
    query_bytes: float = 2.0**25
    #: and fewest and most new samples.
    min_query_rows: int = 16
    max_query_rows: int = 512
    #: Fitted rows centered at a time.
    centered_rows: int = 1024

    # Permuted labels

    #: Share of the labelings that use a pair below which it is added by itself instead of in the product.
    pair_share: float = 0.2
    #: Bytes of the differences, and of the coefficients, in memory at a time.
    label_bytes: float = 2.0**25
    #: Least number of columns of a block: shorter rows would not fill vectors and products.
    label_columns: int = 128
    #: Entries of neighbor lists in memory at a time.
    label_entries: int = 2**25
    #: Samples up to which lists of all neighbors are stored.
    label_samples: int = 8192

    # Dask

    #: Maximum bytes of a block, if the number of samples allows it.
    dask_block_bytes: int = 2**27
    #: Distances over fewer columns than this take longer to send than to compute.
    min_dask_columns: int = 256
    #: Blocks with fewer rows than this are not worth a task.
    min_dask_rows: int = 256
    #: Maximum rows of a block: distances to another such block take 134 MB in float64.
    max_dask_rows: int = 4096
    #: Concurrent fits per worker: while one waits for its neighborhoods, or for the client, another runs.
    fits_per_worker: int = 2
    #: A matrix of margins of up to so many bytes is gathered on the client: solvers need many products.
    max_gathered_bytes: int = 2**24
    #: Candidates tied with the k-th that a list has beyond those that determine its distance.
    max_extra_ties: int = 64
    #: Candidates of lists that are pruned at a time, as if all were as long as the longest.
    max_padded_candidates: int = 2**19
    #: Pairs of an anchor and another row that are listed at a time: all of them may be tied.
    max_listed_pairs: int = 2**18

    # Single methods

    #: Rows of the largest matrix of which LFE finds all eigenvalues: half a gigabyte, and minutes.
    max_eigh_rows: int = 8192
    #: OnlineIRelief: of so few features,
    max_column_features: int = 64
    #: so many references per class,
    min_column_references: int = 64
    #: and in so few bytes that one more copy does not matter, sums run faster along the references than
    #: along the features.
    max_column_bytes: int = 2**24
    #: Features up to which each knockoff has an s of its own; beyond, all share one, and no p × p matrix is
    #: made.
    max_individual_s: int = 600
    #: Most features that are compared with each other as redundant: about 12 bytes for each two, 5 GB.
    max_grouped_features: int = 20_000

    # Files, terminals and pages

    #: Bytes of a text file in which the separator is searched; more if fewer whole lines are in them.
    sniffed_bytes: int = 2**22
    #: Work of an elimination in HighRelief, and of a scan by default: about nanoseconds on one core.
    search_work: float = 2e11
    #: Bytes of the functions of the numbers in a scan.
    function_bytes: float = 2.0**31
    #: Seconds of work before the terminal shows progress.
    progress_delay: float = 2.0
    #: Seconds of compiling before it is announced.
    compilation_delay: float = 1.0
    #: Work of the refits to halves and to permuted labels: that of three fits, or this. It is counted in
    #: squared samples times iterations times features, 50 more of which stand for a pair of samples itself.
    resampling_work: float = 5e9
    #: The same for the refits that measure interactions, unless the user requested them.
    interaction_work: float = 2e9
    #: Maximum number of features in a page: about 10 MB, with quick searching and sorting.
    page_features: int = 100_000

    @contextmanager
    def __call__(self, **values: float) -> Iterator[None]:
        """Change some values until the end of a ``with`` block, which may be nested."""
        before = {name: getattr(self, name) for name in values}
        try:
            for name, value in values.items():
                object.__setattr__(self, name, value)
            yield
        finally:
            for name, value in before.items():
                object.__setattr__(self, name, value)


#: The limits in force.
limits = Limits()
