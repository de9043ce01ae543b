"""From rows to margins in this process: layout, pair sources, reductions, threads and memory."""
