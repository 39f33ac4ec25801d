# Everything lives in .venv and is installed on first use; a changed pyproject.toml installs again. Only a browser for
# the tests, if there is none, goes where Playwright or apt-get puts it.

VENV := .venv
BIN := $(VENV)/bin
# Rivals bring packages that nothing else here needs, so they have an environment to themselves.
RIVALS := .venv-bench
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11
# Run each candidate: a name on the PATH may be a launcher for a version that is not installed.
PYTHON ?= $(shell for python in $(CANDIDATES); do \
	$$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; \
	done)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
# Workers for pytest: two fit the smallest machine we support. Each takes neighbouring tests, which use the same programs
# and fixtures; who is done first takes over some of the other's.
JOBS ?= 2
PARALLEL := -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test browser slow fuzz endurance bench docs check lint types imports format clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/has-package ## four clinics and one regression, then the paper's five agents; under a minute
	$(BIN)/hocket demo

test: $(VENV)/has-test browser ## run the tests, without the slow laws
	$(BIN)/pytest $(PARALLEL)

browser: $(VENV)/has-test ## find or install a Chromium, which the tests of pages need
	@$(BIN)/python tests/browser/chromium.py

# pytest leaves with 5 where no test is marked slow, which is no failure.
slow: $(VENV)/has-test ## run the slow laws, with more examples each
	$(BIN)/pytest $(PARALLEL) -m slow || [ $$? -eq 5 ]

fuzz: $(VENV)/has-test ## feed a million made-up inputs to whatever reads bytes, about ten minutes
	nice -n 19 $(BIN)/python -m tests.fuzz.fuzz $(FUZZ)

endurance: $(VENV)/has-test ## run what takes many minutes: bad weather, attacks, claims
	$(BIN)/pytest -m endurance

bench: $(RIVALS)/has-rivals ## measure beside what one would pick instead, about five minutes on two quiet cores
	$(RIVALS)/bin/python benchmarks/bench.py $(BENCH)

docs: $(VENV)/has-docs ## build the documentation into build/site, and check every link
	$(BIN)/python -m docs.making.gather build/pages
	$(BIN)/zensical build --strict --clean
	$(BIN)/python -m docs.making.check_links build/site

check: lint types imports ## lint, format, types and import contracts

lint: $(VENV)/has-check ## style and format only
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/has-check ## types only
	$(BIN)/pyright

imports: $(VENV)/has-check ## import contracts only
	$(BIN)/lint-imports

format: $(VENV)/has-check ## mend what lint can mend by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove .venv, caches and built packages
	rm -rf $(VENV) $(RIVALS) build dist .cache .pytest_cache .hypothesis .ruff_cache .import_linter_cache
	find hocket tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/pip:
	@test -n "$(PYTHON)" || { \
		echo "hocket needs Python 3.11 or newer with its venv module; none of these is: $(CANDIDATES)."; \
		echo "Install one (on Debian also python3-venv), or name it: make PYTHON=/path/to/python"; \
		exit 1; } >&2
	$(PYTHON) -m venv $(VENV)

$(VENV)/has-package: pyproject.toml | $(BIN)/pip
	@echo "Installing hocket into $(VENV), once; this takes a minute or two."
	@$(PIP) install --editable '.[learning]'
	@touch $@

$(VENV)/has-%: pyproject.toml | $(BIN)/pip
	@echo "Installing hocket with what 'make $*' needs into $(VENV), once; this takes a minute or two."
	@$(PIP) install --editable '.[$*]'
	@touch $@

$(RIVALS)/has-rivals: pyproject.toml benchmarks/rivals/installed.py
	@$(MAKE) --no-print-directory VENV=$(RIVALS) $(RIVALS)/has-bench
	@$(RIVALS)/bin/python benchmarks/rivals/installed.py
	@touch $@
