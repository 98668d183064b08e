# The doors to everything that is done here. `make` alone prints them.

PYTHON  ?= python3
# Two processes share the tests, each with a database server of its own.
WORKERS ?= 2
ARGS    ?=

BIN   := .venv/bin
READY := $(BIN)/tenure

.DEFAULT_GOAL := help
.PHONY: help check twins format test stories pooler demo crash outage mutants bench lock clean

help: ## print this list
	@awk -F ':[^#]*## ' '/^[a-zA-Z.\/]+:[^#]*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Written by the last step, so a broken installation is repeated whole. The pins hold everything,
# the build's own tools too: nothing is resolved here, and nothing is fetched that is not pinned.
.venv/bin/tenure: requirements/dev.txt pyproject.toml ## install everything, pinned, into .venv
	@$(PYTHON) -c 'import sys; sys.exit("Tenure needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

check: $(READY) ## lint, format, types and fences, without running anything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

twins: $(READY) ## write what `def` handlers are given anew
	@$(BIN)/python -m tests.house.twins

format: $(READY) ## let the formatter have its way
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

test: check ## the checks, then every test
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

stories: $(READY) ## the promises alone, one test each
	$(BIN)/python -m pytest tests/stories -v $(ARGS)

pooler: $(READY) ## the promises through PgBouncer in transaction mode, which it installs where it can
	@command -v pgbouncer > /dev/null || apt-get install -y -qq pgbouncer > /dev/null || \
		{ echo "PgBouncer is missing: install the package pgbouncer of your system" >&2; exit 1; }
	TENURE_TEST_POOLER=1 $(BIN)/python -m pytest tests/stories -n $(WORKERS) $(ARGS)

demo: $(READY) ## a tour on an embedded database
	@$(READY) demo $(ARGS)

crash: $(READY) ## kill everything that can die and count what is lost (ARGS=--short)
	@$(BIN)/python -m tests.crash $(ARGS)

outage: $(READY) ## take the database away for a while (ARGS="--seconds 45", ARGS=--failover)
	@$(BIN)/python -m tests.outage $(ARGS)

mutants: $(READY) ## break the code on purpose and see the tests notice (ARGS=--short)
	@$(BIN)/python -m tests.mutants $(ARGS)

bench: $(READY) ## measure
	@$(BIN)/python -m benchmarks $(ARGS)

# Resolved on the oldest Python we serve: newer ones need a part of what it needs.
lock: ## renew the pins in requirements/dev.txt (ARGS=--upgrade for newer ones)
	@$(PYTHON) -c 'import sys; sys.exit("Pins are made on Python 3.11: make lock PYTHON=python3.11" if sys.version_info[:2] != (3, 11) else 0)'
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check pip-tools==7.6.2
	sed '/^#/d' requirements/dev.txt > build/dev.txt
	build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --all-extras \
		--build-deps-for editable --no-header --no-emit-options --annotation-style line \
		$(ARGS) -o build/dev.txt pyproject.toml
	{ sed '/^[^#]/,$$d' requirements/dev.txt; cat build/dev.txt; } > build/dev.new
	mv build/dev.new requirements/dev.txt

clean: ## remove what the tools left behind; .venv and .tenure stay
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
