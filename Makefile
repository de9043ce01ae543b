# Everything runs in a virtual environment of its own; nothing else needs to be installed first.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
DOCS := .venv-docs
BENCH := .venv-bench
# Tests in a few processes; each has threads of its own.
PROCESSES := --numprocesses=auto --maxprocesses=4 --dist=worksteal

.PHONY: demo test test-oldest test-long docs lint format bench bench-quick performance-page clean

demo: $(VENV)/.installed
	$(VENV)/bin/highrelief demo

test: $(VENV)/.installed
	$(VENV)/bin/python -m pytest $(PROCESSES)

# What other versions of the libraries may break; all else is asked of the newest alone: pages in a browser, the
# tutorial, the papers' experiments, benchmarks, what is compiled when, variants of a method.
OLDEST_TESTS := scikit_learn.py contract_*.py errors.py golden.py oracles.py kernels.py core.py table*.py command.py \
	plots.py repr_html.py routing.py sparse.py mixed.py missing_nearest.py missing_soft.py surf.py rrelieff.py \
	elimination.py combined.py class_weight.py stability.py ensemble.py cv_selector.py datasets.py minimizers.py \
	hknn.py lfe.py dann.py irelief_online.py report_contents.py page.py
test-oldest: $(OLDEST)/.installed
	HIGHRELIEF_ONLY_PLAIN_VARIANTS=1 $(OLDEST)/bin/python -m pytest $(PROCESSES) \
		$(wildcard $(addprefix tests/test_, $(OLDEST_TESTS)))

test-long: $(VENV)/.installed
	$(VENV)/bin/python -m pytest tests/long

# The site, in docs/_build/html. A warning is an error.
docs: $(DOCS)/.installed
	$(DOCS)/bin/python -m sphinx -b html -W --keep-going --quiet docs docs/_build/html

lint: $(VENV)/.installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.installed
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# About 20 minutes. Weka is Debian's: apt-get install weka default-jdk-headless. Without it, and without g++,
# the rest is measured.
bench: $(BENCH)/.installed $(BENCH)-orange/.installed
	$(BENCH)/bin/python -m benchmarks

bench-quick: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks --quick

# docs/performance.md, from the figures that `make bench` stored.
performance-page: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks page

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

# The lower bounds of pyproject.toml, exactly.
$(OLDEST)/.installed: pyproject.toml tests/oldest-requirements.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement tests/oldest-requirements.txt --editable .
	touch $@

$(BENCH)/.installed: pyproject.toml benchmarks/requirements/bench.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement benchmarks/requirements/bench.txt --editable .
	touch $@

# A rival whose versions clash with ours, in an environment of its own.
$(BENCH)-%/.installed: benchmarks/requirements/%.txt
	$(PYTHON) -m venv $(BENCH)-$*
	$(BENCH)-$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(DOCS) docs/_build docs/api docs/gallery $(BENCH) $(BENCH)-* benchmarks/.build .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
