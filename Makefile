# Everything runs in a virtual environment of its own; nothing else needs to be installed first.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
DOCS := .venv-docs
BENCH := .venv-bench
TOOLS := .venv-tools
# Tests in a few processes; each has threads of its own.
PROCESSES := --numprocesses=auto --maxprocesses=4 --dist=worksteal
# Byte code is kept, whatever the shell says: to make it anew takes seconds in every process that a test starts.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo warmup test test-slow test-oldest test-python test-long coverage coverage-kernels memory-check docs lint format bench \
	bench-quick performance-page audit package-check freeze freeze-check freeze-speed clean

demo: $(VENV)/.installed
	$(VENV)/bin/highrelief demo

# Compile every kernel ahead, for all processes of this user.
warmup: $(VENV)/.installed
	$(VENV)/bin/python -m highrelief.warmup

# The quick suite: minutes where the kernels are compiled already. TESTS names files instead, to be run whole.
test: $(VENV)/.installed
	$(VENV)/bin/python -m pytest $(PROCESSES) $(or $(TESTS),-m "not slow")

# What starts processes, browsers and clusters, and all else that takes a second or more each. Much of it is
# waiting, so that one process more than there are cores keeps these busy.
test-slow: $(VENV)/.installed
	$(VENV)/bin/python -m pytest $(PROCESSES) -m slow --durations=20 \
		--numprocesses=$$($(VENV)/bin/python -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')

# Both, and which lines and branches of the Python they do not run; too many fail (pyproject.toml).
coverage: $(VENV)/.installed
	$(VENV)/bin/python -m pytest $(PROCESSES) --cov --cov-report=term

# The kernels as Python functions, on tables of a few rows: which of their lines and branches nothing runs.
coverage-kernels: $(VENV)/.installed
	NUMBA_DISABLE_JIT=1 $(VENV)/bin/python -m pytest $(PROCESSES) \
		tests/_kernels/kernels_as_python.py --cov --cov-config=tests/_kernels/coverage.toml --cov-report=term

# What other versions of the libraries may break; all else is asked of the newest alone: pages in a browser, the
# tutorial, the papers' experiments, benchmarks, what is compiled when, variants of a method, and all that is slow.
OLDEST_TESTS := $(addprefix contract/test_, dask input scikit_learn weights) _engine/test_sparse \
	$(addprefix base/test_, categorical meta notebook) inspection/report/test_page io/test_reading \
	cli/test_commands selection/test_ensemble test_saving
test-oldest: $(OLDEST)/.installed
	HIGHRELIEF_ONLY_PLAIN_VARIANTS=1 $(OLDEST)/bin/python -m pytest $(PROCESSES) -m "not slow" \
		$(OLDEST_TESTS:%=tests/%.py)
	$(OLDEST)/bin/python -m pytest $(PROCESSES) tests/plots/test_plots.py

# The same on another Python (PYTHON=python3.13), in an environment of its own, and what depends on Python besides:
# how kernels are kept and linked, signals, threads, processes, what is warned of.
PYTHON_TESTS := $(OLDEST_TESTS) contract/test_errors plots/test_plots $(addprefix _kernels/test_, cache jit linking) $(addprefix _engine/test_, faults threads) \
	$(addprefix project/test_, code_blocks packaging security) contract/test_fuzz test_warmup
test-python:
	HIGHRELIEF_ONLY_PLAIN_VARIANTS=1 $(MAKE) test TESTS="$(PYTHON_TESTS:%=tests/%.py)" \
		VENV=.venv-$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2] + sys.abiflags)')

# All that takes minutes, and every estimator with every choice that the quick suite tries in turn.
test-long: $(VENV)/.installed
	HIGHRELIEF_THOROUGH=1 $(VENV)/bin/python -m pytest $(PROCESSES)
	$(VENV)/bin/python -m pytest tests/long

# No kernel reads or writes beside its arrays: between unmapped pages, which end the process, and with checked indices,
# for which all kernels are compiled once more. HIGHRELIEF_THOROUGH=1: every estimator on every table.
GUARDED := $(VENV)/bin/python -X faulthandler -m pytest $(PROCESSES) -p guarded_memory tests/_kernels/memory_checks.py
memory-check: $(VENV)/.installed
	PYTHONPATH=tests/helpers HIGHRELIEF_GUARD=end $(GUARDED)
	PYTHONPATH=tests/helpers HIGHRELIEF_GUARD=begin $(GUARDED)
	PYTHONPATH=tests/helpers NUMBA_BOUNDSCHECK=1 $(GUARDED)

# The site, in docs/_build/html. A warning is an error. Its pages are then checked in a browser, if there is one.
docs: $(DOCS)/.installed $(VENV)/.installed
	$(DOCS)/bin/python -m sphinx -b html -W --keep-going --quiet docs docs/_build/html
	$(VENV)/bin/python -m pytest --quiet -k fits_a_phone tests/project/test_site.py

lint: $(VENV)/.installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python .ci/words.py

# Unsafe code of ours, and known holes in what we install: bandit and pip-audit.
audit: $(VENV)/.installed $(TOOLS)/.installed
	$(TOOLS)/bin/bandit --quiet --recursive --configfile pyproject.toml src
	$(TOOLS)/bin/python .ci/audit.py "$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

# The wheel and the sdist, as a stranger installs and uses them; and how we wish to be cited. DIST keeps them.
package-check: $(VENV)/.installed $(TOOLS)/.installed
	$(TOOLS)/bin/cffconvert --validate --infile CITATION.cff
	$(TOOLS)/bin/python .ci/package_check.py $(VENV)/bin/python $(DIST)

format: $(VENV)/.installed
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# About 20 minutes. Weka is Debian's: apt-get install weka default-jdk-headless. Without it, and without g++,
# the rest is measured.
bench: $(BENCH)/.installed $(BENCH)-orange/.installed
	$(BENCH)/bin/python -m benchmarks $(OPTIONS)

bench-quick: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks --quick

# docs/performance.md and its tables, from the figures that `make bench` stored.
performance-page: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks page

# What every estimator computes, to the last bit, on this machine: a record, and the comparison with one. FREEZE is
# its path, OPTIONS are those of tests/freeze.py: --only TEXT, and --timing for freeze-check.
FREEZE ?= .freeze/record.json
freeze: $(VENV)/.installed
	$(VENV)/bin/python tests/freeze.py write --record $(FREEZE) $(OPTIONS)

freeze-check: $(VENV)/.installed
	$(VENV)/bin/python tests/freeze.py check --record $(FREEZE) $(OPTIONS)

# Time and memory against another tree, fits in turn: OLD is its folder.
freeze-speed: $(VENV)/.installed
	$(VENV)/bin/python -m benchmarks.trees $(OLD) $(OPTIONS)

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

$(TOOLS)/.installed: .ci/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement .ci/tools.txt
	touch $@

# A rival whose versions clash with ours, in an environment of its own.
$(BENCH)-%/.installed: benchmarks/requirements/%.txt
	$(PYTHON) -m venv $(BENCH)-$*
	$(BENCH)-$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

clean:
	rm -rf $(VENV) .venv-3.* $(OLDEST) $(DOCS) docs/_build docs/api docs/gallery $(TOOLS) $(BENCH) $(BENCH)-* benchmarks/.build \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
