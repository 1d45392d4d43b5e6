# Thin over Python: set-up is local/run/setup.py, the local run is `python -m local`, the rest are the tools themselves.
#   make run PYTHON=python3.12    another Python for .venv
#   make test PYTEST="-k lookup"  more arguments for pytest

PYTHON ?=
VENV ?= .venv
PYTEST ?=
MUTANTS ?=

# Any Python that really runs can start the set-up, which chooses the one for $(VENV) itself.
BOOTSTRAP := $(firstword $(foreach name,python3 python3.13 python3.12 python3.11 python $(PYTHON),\
	$(shell $(name) -c 'print()' >/dev/null 2>&1 && echo $(name))))
BIN := $(VENV)/bin

.PHONY: run demo test test-long mutants bench baseline lint clean setup setup-tests

run: setup
	@$(BIN)/python -m local up

demo: setup
	@$(BIN)/python -m local demo

test: setup-tests
	$(BIN)/pytest --numprocesses 3 --dist worksteal $(PYTEST)

test-long: setup-tests
	$(BIN)/pytest -m long --timeout 1800 --numprocesses 2 --dist worksteal $(PYTEST)

# Breaks lines of the protocol one by one: the tests must notice each.
mutants: setup-tests
	$(BIN)/python -m tests.mutants $(MUTANTS)

bench: setup
	@$(BIN)/python -m bench run

# A decision: commit what it writes, with the reason.
baseline: bench
	@$(BIN)/python -m bench baseline
	@$(BIN)/python -m bench report

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --verbose

clean:
	rm -rf .venv .venv-* .local local/node_modules tests/*/*/node_modules *.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

setup setup-tests:
ifeq ($(BOOTSTRAP),)
	@echo "error: no Python was found: install Python 3.11 or newer." >&2; exit 1
else
	@$(BOOTSTRAP) local/run/setup.py --venv "$(VENV)" --python "$(PYTHON)" $(if $(filter setup-tests,$@),--tests)
endif
