"""Wrappers around any method: ensembles, elimination, where to cut, error control."""
