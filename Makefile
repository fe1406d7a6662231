# Everything runs in .venv, which the first target that needs it creates; the stamp is renewed when the requirements change.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
C_FILES := $(wildcard src/dpselect/*/*.[ch] src/dpselect/*/*/*.[ch])

.PHONY: help demo test test-fast check house fuzz bench clean
help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# An environment whose set-up was interrupted before it had pip is made anew; what pip left half-done it finishes itself.
define fresh
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || { rm -rf $(1) && $(PYTHON) -m venv $(1); }
endef

$(STAMP): pyproject.toml constraints.txt setup.py $(C_FILES)
	$(call fresh,$(VENV))
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	@touch $@

# The demo needs little, so it has an environment of its own, unless the one for developers is there already.
DEMO_VENV := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)
DEMO      := $(DEMO_VENV)/.installed-demo

$(DEMO): pyproject.toml constraints.txt setup.py $(C_FILES)
	$(call fresh,$(DEMO_VENV))
	@echo "Setting up the demo; this is done once."
	@$(DEMO_VENV)/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[demo]'
	@touch $@

demo:            ## the main job on real data, ending in a report to open
	@began=$$(date +%s) && $(MAKE) --no-print-directory $(DEMO) && ready=$$(date +%s) && \
	$(DEMO_VENV)/bin/dpselect demo && \
	echo "" && echo "Set-up took $$((ready - began)) s and $$(du -sm $(DEMO_VENV) | cut -f1) MB, the demo $$(($$(date +%s) - ready)) s."

check: $(STAMP)  ## format, lint, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

house: $(STAMP)  ## the counts of the house, into docs/ARCHITECTURE.md; fails where a limit is broken
	$(BIN)/python tools/house.py

test: check      ## all checks and all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-fast: check ## the same without Spark, PostgreSQL, the browser and the slow ones
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not spark and not postgres and not browser and not slow'

fuzz: $(STAMP)   ## changed inputs for every reader; more with: make fuzz INPUTS=100000 SEED=2
	$(BIN)/python tests/fuzz --inputs $(or $(INPUTS),10000) --seed $(or $(SEED),1607)

bench: $(STAMP)  ## against peers, as ratios in one run
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.terms
	$(BIN)/python -m benchmarks.gather
	$(BIN)/python -m benchmarks.votes
	$(BIN)/python -m benchmarks.paper speed

clean:           ## remove the environment and what was built
	rm -rf $(VENV) .venv-demo site build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
