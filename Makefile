# `make demo` and `make test` are all a newcomer needs. Each target installs what it uses into $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# -qq leaves errors only.
INSTALL = $(BIN)/pip install -qq -c constraints.txt -e

.PHONY: demo test fuzz bench lint types imports docs clean

demo: $(VENV)/installed-plot
	$(BIN)/physupport demo

# Two workers, one thread each: more threads than cores only wait for each other. Tests of one long run share a worker.
test: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

# Three thousand mutated projects, data files and reports; the tests try the first fifty.
fuzz: $(VENV)/installed-dev
	PHYSUPPORT_FUZZ=0-3000 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/fuzz

# Ratios taken in one run; nothing is asserted.
bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/installed-dev
	$(BIN)/mypy

imports: $(VENV)/installed-dev
	$(BIN)/lint-imports

# Not with --quiet, which hides warnings from --strict.
docs: $(VENV)/installed-dev
	$(BIN)/python docs/gallery.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site

$(BIN)/python:
	@echo "Making $(VENV) with $(PYTHON)."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "physupport needs Python 3.11 or newer; try make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing physupport[$*] into $(VENV)."
	@$(INSTALL) '.[$*]'
	@touch $@
