# Every target sets up what it needs in .venv. As root on Debian a missing Java is installed as well.

BIN     := .venv/bin
TOY     := PYTHONPATH=examples/toy_engine $(BIN)/dvs
WORKERS ?= 2
# What `make test` selects, and which environments its tests need. `make check` runs the slow tests, too, and
# `make nightly` those that repeat at length, on Spark, Delta, dbt or S3, what a quicker one shows.
TESTS   ?= not slow and not nightly
APART   ?=
# The first Python that is new enough; python3 when none is, so that the pre-flight check can say so.
PYTHON  ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)

# Python's compiled modules are kept, whatever the caller's environment says: without them each of the hundreds
# of processes that tests start compiles 350 modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup preflight demo test check nightly style types format clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.installed  ## .venv with the locked libraries; Delta's jars and, with npm, PGlite in a cache
	@$(BIN)/python -m dynamic_tables.session --fetch
	@$(BIN)/python -m engines.others.node --fetch --optional

# Counted in scenarios, so that a busy machine shows the same; the budgets are upper bounds. Exit status 3, undecided
# because the time was over, is no reason to stop: the tables say what was done. A failure of the engine is.
demo: setup  ## a few minutes: random dynamic tables on Spark + Delta and in memory; an engine with a bug; a history
	@echo "Random dynamic tables on Spark + Delta, each refresh judged by DuckDB:"
	@$(BIN)/dvs fuzz --tier delta --profile quick --seed 1 --scenarios 5 --budget 5m --out .dvs/demo/delta || test $$? -eq 3
	@echo "The same engine's plans in memory, many more of them:"
	@$(BIN)/dvs fuzz --tier rules --profile smoke --seed 1 --scenarios 200 --budget 3m --out .dvs/demo/rules || test $$? -eq 3
	@echo "An engine with a bug, examples/toy_engine; what was found, and the rows (exit status 1: a failure):"
	@$(TOY) fuzz --tier adapter:toy:Toy --profile quick --seed 1 --scenarios 12 --out .dvs/demo/toy || test $$? -eq 1
	@$(TOY) replay "$$(ls -rS .dvs/demo/toy/failures/*/scenario.json | head -1)" --tier adapter:toy:Toy || test $$? -eq 1
	@echo "A transaction history, with the derivations that a refresh hides (exit status 1: a level is violated):"
	@$(BIN)/dvs check examples/histories/refresh-hides-read-skew.adya --html .dvs/demo/history.html || test $$? -eq 1

test: setup  ## the main claims, a few minutes; as root, Debian's chromium, postgresql, mariadb-server for some
	@$(BIN)/python setup/for_tests.py $(APART)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -m "$(TESTS)"

check: setup  ## what CI runs at each change: format, lint, types, import contracts, all tests but the nightly ones
	@$(MAKE) --no-print-directory -j 2 -O style types
	@$(MAKE) --no-print-directory test TESTS="not nightly" APART=dbt

nightly: setup  ## all tests, half an hour; before a release, and after a change of what they are about
	@$(MAKE) --no-print-directory test TESTS="nightly or not nightly" APART="dbt s3"

style: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	@$(BIN)/python -m tests.contracts.house

types: .venv/.installed
	$(BIN)/mypy

format: setup  ## rewrite the sources into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove .venv, results and caches (the cache of jars, shared by checkouts, stays)
	rm -rf .venv .dvs .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# On a machine without a usable Java this installs one (as root, with apt-get) or names the command to run.
preflight:
	@command -v $(PYTHON) >/dev/null || { echo "error: Python 3.11 or newer is needed (there is no $(PYTHON)). \
	Install one: apt-get install python3 python3-venv." >&2; exit 2; }
	@$(PYTHON) setup/preflight.py

.venv/.installed: pyproject.toml constraints.txt setup/install.py | preflight
	@$(PYTHON) setup/install.py
