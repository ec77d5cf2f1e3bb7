# `make demo` and `make test` are all a newcomer needs. Each target installs what it uses into $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# -qq leaves errors only.
INSTALL = $(BIN)/pip install -qq -c constraints.txt -e

.PHONY: demo test fuzz oracle mutants levels bench lint types imports docs release clean

demo: $(VENV)/installed-plot
	$(BIN)/physupport demo

# Two workers, one thread each: more threads than cores only wait for each other. A file of tests stays with one worker,
# which makes the long runs that its tests share once. Modules are compiled once for all processes that the tests start.
test: $(VENV)/installed-dev
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# Three thousand mutated projects, data files and reports; the tests try the first thirty.
fuzz: $(VENV)/installed-dev
	PHYSUPPORT_FUZZ=0-3000 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/fuzz

# The examples, the studies and two hundred random projects against their frozen answers; the tests compare a slice.
# ORACLE=--loose where draws are others on purpose, ORACLE=--freeze once the answers are meant to be new.
oracle: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m tests.oracle $(ORACLE)

# A sample of small faults in laws, judges and questions, and which of them no test sees; an hour of CPU at most.
# MUTANTS="--seed 2 --count 50" takes another sample.
mutants: $(VENV)/installed-dev
	nice -n 19 $(BIN)/python -m benchmarks.mutants $(MUTANTS)

# How often every judge loses the truth, counted finely enough to see .12 for .1, into docs/levels.md; ONLY=rotation for a line.
levels: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.levels $(ONLY)

# Ratios taken in one run; nothing is asserted. CASES="maps rotation" measures these alone.
bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks $(CASES)

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

# Wheel and source archive, and a CycloneDX list of all that the wheel and its extras install, in the versions we test.
RELEASE = .venv-release
release:
	rm -rf dist $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/tools
	$(RELEASE)/tools/bin/pip install -qq build==1.6.1 cyclonedx-bom==7.5.0
	$(RELEASE)/tools/bin/python -m build --outdir dist .
	$(PYTHON) -m venv --without-pip $(RELEASE)/installed
	$(RELEASE)/tools/bin/pip --python $(RELEASE)/installed/bin/python install -qq -c constraints.txt \
		"$$(echo dist/*.whl)[plot,io,learn,maps]"
	version=$$($(RELEASE)/installed/bin/python -c 'import physupport; print(physupport.__version__)') && \
		sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > $(RELEASE)/pyproject.toml
	$(RELEASE)/tools/bin/cyclonedx-py environment --pyproject $(RELEASE)/pyproject.toml --mc-type library \
		--output-reproducible --output-file dist/physupport.cdx.json $(RELEASE)/installed/bin/python
	rm -rf $(RELEASE)

clean:
	rm -rf $(VENV) site dist

$(BIN)/python:
	@echo "Making $(VENV) with $(PYTHON)."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "physupport needs Python 3.11 or newer; try make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing physupport[$*] into $(VENV)."
	@$(INSTALL) '.[$*]'
	@touch $@
