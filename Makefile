# `make demo` and `make test` set up what they need on a fresh Debian machine with Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_FLAGS ?=

.PHONY: demo test test-fast lint format setup system-packages clean

demo: setup
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/edgelab demo; else $(BIN)/edgelab demo --headless; fi

test: setup system-packages
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

test-fast: setup
	$(BIN)/python -m pytest -m "not slow and not integration" $(PYTEST_FLAGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "EdgeLab needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "No venv module: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

# What Debian provides for some tests; where it may not be installed, the tests that need it say so and skip.
system-packages:
	@sh .ci/system-packages

clean:
	rm -rf $(VENV) build *.egg-info
