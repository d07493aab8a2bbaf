# Each target but `clean` sets up its own virtual environment first.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# commands that the tests start would otherwise compile what they import, each for itself
unexport PYTHONDONTWRITEBYTECODE
# for two processors: some tests wait for signals, and for one child after the other
JOBS   ?= 3

.PHONY: demo demo-stream check test test-all test-oracles table bench results qor qor-asic docs wheel dist clean

demo: $(READY)
	$(BIN)/python examples/demo.py

# The sample tensors through AXI4-Stream, compared with the files of the command.
demo-stream: $(READY)
	$(BIN)/python examples/demo_stream.py

# Lint, layout, types and sentences of the code.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/house/check_types.py
	$(BIN)/python tests/house/check_words.py

# Every kind of check; what is more of the same is marked slow.
test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q -m "not slow"

# All of it, in two runs whose outcomes are kept. After a blank, pytest would take the file for one of tests.
test-all: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q -m "not slow" --outcome=records/tests.json
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q -m slow --outcome=records/tests.json

# What is compared with other libraries, with those that are heavy (the extra `oracles`); the outcome is kept.
test-oracles: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,oracles]'
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q -m "not slow" --outcome=records/tests.json --outcome-of=oracles tests/models tests/tensors tests/conformance/test_moved_libraries.py

# The six formats beside the paper's table VIII.
table: $(READY)
	$(BIN)/mxcast synth all

# Prints ratios against a baseline measured in the same run.
bench: $(READY)
	$(BIN)/python bench/speed.py --only quantize --print
	$(BIN)/python bench/speed.py --only verilated --print

$(READY): pyproject.toml $(wildcard models/native/*.[ch])
	@$(PYTHON) -c 'import sys; sys.exit("mxcast: Python >= 3.11 is needed, not %d.%d" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "mxcast: this Python has no venv: apt-get install python3-venv"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null || { echo "mxcast: a C++ compiler is needed: apt-get install g++"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@# not compiled here, but module by module when first imported: most never are
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[all]'
	@touch $@

# Measures what README.md and docs/results.md quote, and writes their tables.
results: $(READY)
	$(BIN)/python bench/speed.py

# The same for what converters cost beside others, place and route included: hours, if nothing is on record.
qor: $(READY)
	$(BIN)/python bench/qor.py

# Area and delay in the standard cells of OSU 0.18 um, which are fetched, next to the paper's Verilog.
qor-asic: $(READY)
	$(BIN)/python bench/qor.py --part cells

# The documents as an HTML site, in build/site.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/package .
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo build/site/index.html

# The wheel for Linux systems with glibc 2.17 or later, in dist/. It contains the compiled module.
wheel: $(READY)
	rm -rf build/wheel
	$(BIN)/python -m build --wheel --outdir build/wheel .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheel/*.whl

# The sdist and the wheel, in dist/; the packaging test builds both again and installs them in an empty environment.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --sdist --outdir dist .
	$(MAKE) wheel
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m pytest -q tests/house/test_packaging.py

clean:
	rm -rf $(VENV) build dist *.egg-info
