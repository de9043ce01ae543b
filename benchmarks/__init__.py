"""Speed, memory and start-up: against the peers, against the limit of the machine, against the targets.

``python -m benchmarks`` runs it; README.md tells what is measured and how.
"""
