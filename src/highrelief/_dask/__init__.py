"""Computation on Dask collections, partitioned by columns or by rows, on a cluster or on local threads."""
