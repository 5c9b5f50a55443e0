# Two commands matter on a fresh machine: `make demo` and `make test`. Both set everything up by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs

.PHONY: help install demo test test-slow test-long check bench validation docs gpu clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14) and "antennaopt needs Python 3.11 to 3.14; set PYTHON=/path/to/python3.x")'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

install: | $(BIN)/python  ## the program alone, without what tests need
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .

demo: $(STAMP)  ## evolve the quickstart lens and print what was gained
	$(BIN)/antennaopt demo

test: $(STAMP)  ## the tests (under 10 minutes on two cores)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not long and not gpu"

test-slow: $(STAMP)  ## the slow tests (under an hour on two cores)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow and not long and not gpu"

test-long: $(STAMP)  ## tests of several minutes each, which CI leaves out: openEMS on fine cells, ten thousand generations
	$(BIN)/python -m pytest -n 2 -m "long and not gpu"

check: $(STAMP)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(STAMP)  ## throughput of the kernels on this machine
	$(BIN)/antennaopt bench kernels

validation: $(STAMP)  ## docs/validation.md from the tests' own figures (under 25 minutes on two cores)
	$(BIN)/python benchmarks/accuracy.py --json results/validation/accuracy.json
	$(BIN)/python benchmarks/outlines.py results/validation/accuracy.json
	$(BIN)/python benchmarks/accuracy.py --as-in-search results/validation/accuracy.json
	rm -f results/validation/tests.json
	-$(BIN)/python -m pytest -n 2 -m "not gpu" --validation results/validation/tests.json tests/physics tests/published
	$(BIN)/python benchmarks/validation.py

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	@touch $(DOCS_STAMP)

docs: $(DOCS_STAMP)  ## the documentation's site in build/site, links checked, gallery executed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

gpu: $(STAMP)  ## the tests that need a CUDA device; a skipped one is a failure
	FDTD_REQUIRE_GPU=1 $(BIN)/python -m pytest -m gpu

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache build *.egg-info
