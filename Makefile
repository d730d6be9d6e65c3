# Thin over the verbs of `grader`; `make help` lists the targets.
ASSIGNMENT ?= attention
SUBMISSIONS ?= $(if $(wildcard submissions),submissions,solutions/$(ASSIGNMENT)/sample_class)
OUT ?= runs/$(ASSIGNMENT)
FILE ?=
RUN ?= $(OUT)

# The system's interpreter is preferred: one under a private home can't be read by the user that student code runs as.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11 /usr/bin/python3.10) python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.ready-dev

.DEFAULT_GOAL := help
.PHONY: setup grade check feedback gradescope audit release release-check bench lint test test-all clean help

setup: $(READY) ## make .venv with the grader command in it; once, a download of some minutes or more

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Python 3.10 to 3.13 is needed; choose one with: make PYTHON=/path/to/python3"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "$(PYTHON) can't make virtual environments; on Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

grade: $(READY) ## grade a class: ASSIGNMENT=attention SUBMISSIONS=submissions OUT=runs/attention; under a minute
	@$(BIN)/grader grade $(ASSIGNMENT) $(SUBMISSIONS) --out $(OUT)

check: $(READY) ## the public checks on one file: FILE=attention.py
	@$(BIN)/grader check $(ASSIGNMENT) $(FILE)

feedback: $(READY) ## write the pages of a run again: RUN=runs/attention
	@$(BIN)/grader feedback $(RUN)

gradescope: $(READY) ## build the Gradescope autograder zip
	@$(BIN)/grader gradescope build $(ASSIGNMENT)

audit: $(READY) ## what the hidden checks can and can't catch
	@$(BIN)/grader audit $(ASSIGNMENT)

release: $(READY) ## make the starters from the staff master
	@$(BIN)/grader release $(ASSIGNMENT)

release-check: $(READY) ## fail when a starter is out of date
	@for one in $(notdir $(wildcard assignments/*)); do $(BIN)/grader release $$one --check || exit 1; done

bench: $(DEV) ## measure speed, as ratios
	@$(BIN)/python -m bench

lint: $(DEV) ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: $(DEV) ## the tests that everybody runs: no network, no GPU; about a minute
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

test-all: $(DEV) ## and the slow ones: browser, hostile, long fuzz; many minutes
	$(BIN)/python -m pytest -m ''

clean: ## remove .venv, caches and runs
	rm -rf $(VENV) runs build *.egg-info .pytest_cache .mypy_cache .ruff_cache

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
