# Nothing needs to be installed but Python 3.11 or newer, git and make.
#
#   make demo     made-up data through the real flows, and what can be asked of it
#   make test     all tests
#   make lint     style, format and types
#   make bench    every benchmark, full size; bench-quick is the short form
#   make fuzz     a minute of damaged files for every importer
#   make extension  the browser extension, to load in Chromium or Firefox (npm for its libraries)
#   make lab      JupyterLab on the notebooks, over the demo's lake
#
# Another Python: make demo PYTHON=python3.13.   Tests on all processors: make test TESTFLAGS="-n auto --dist loadfile"

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := data/demo

.PHONY: demo test lint bench bench-quick fuzz extension lab setup model clean
.DEFAULT_GOAL := demo

demo: model
	@$(BIN)/brain demo --keep $(DEMO)

test: model
	$(BIN)/python -m pytest $(TESTFLAGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Retrieval needs judged sets, which do not ship: make bench JUDGED="a.json b.json"
BENCHES := bench/import_history.py bench/leases.py bench/search_speed.py bench/embedding.py bench/captures.py \
	bench/live_events.py

bench: model
	@set -e; for script in $(BENCHES); do echo "== $$script"; $(BIN)/python $$script; done
	@test -z "$(JUDGED)" || $(BIN)/python bench/retrieval.py $(JUDGED)

bench-quick: model
	@set -e; for script in $(BENCHES); do echo "== $$script"; $(BIN)/python $$script --quick; done

fuzz: setup
	@$(BIN)/python tests/faults/fuzz_importers.py

extension:
	@$(PYTHON) extension/build.py

lab: $(VENV)/.lab model
	@test -f $(DEMO)/lake.duckdb || $(BIN)/brain demo --keep $(DEMO)
	BRAIN_HOME="$${BRAIN_HOME:-$(abspath $(DEMO))}" $(BIN)/jupyter lab --notebook-dir notebooks

# --- what the above rest on -------------------------------------------------------------------------------

setup: $(VENV)/.setup

# The stamps are renewed when the dependencies may have changed.
$(VENV)/.setup: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.13"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a few minutes the first time) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/.lab: $(VENV)/.setup
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev,notebooks]'
	@touch $@

# Quick when the model is there already; the only step beside pip that uses the network.
model: setup
	@$(BIN)/brain model install

clean:
	rm -rf $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis
