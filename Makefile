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

.PHONY: run demo test test-long mutants bench baseline docs docs-check lint lock deployed licenses sbom packages clean setup setup-tests setup-docs

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

bench: setup-tests
	@$(BIN)/python -m bench run

# A decision: commit what it writes, with the reason.
baseline: bench
	@$(BIN)/python -m bench baseline
	@$(BIN)/python -m bench report

# The site, at http://127.0.0.1:8000; made anew while pages change.
docs: setup-docs
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs serve --dev-addr 127.0.0.1:8000

# Builds it strictly, looks for broken links and for anything that a network would have to bring, and checks the spelling.
docs-check: setup-docs setup-tests
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict
	.venv-docs/bin/python docs/site/check.py
	SITE=dist/site $(BIN)/pytest tests/docs/test_site.py tests/docs/test_diagrams.py --quiet
	.venv-docs/bin/codespell --config docs/site/codespell.ini README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs

lint: setup-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --verbose

# Compiles requirements/*.in: every package pinned with the hashes of its files. UV="--upgrade" takes newer ones.
UV ?=
LOCK = $(BIN)/uv pip compile --quiet --generate-hashes --custom-compile-command "make lock" $(UV)
lock: setup-tests
	$(LOCK) --universal --python-version 3.11 requirements/tests.in --output-file requirements/tests.txt
	$(LOCK) --universal --python-version 3.11 requirements/local.in --output-file requirements/local.txt \
		--constraints requirements/tests.txt
	$(LOCK) --universal --python-version 3.11 requirements/docs.in --output-file requirements/docs.txt
	$(LOCK) --python-version 3.13 --python-platform x86_64-manylinux_2_28 requirements/app.in \
		--output-file requirements.txt --constraints requirements/tests.txt

# An environment with what Azure runs and nothing else: every file is compared with its hash.
deployed: setup-tests
	$(BIN)/uv venv --quiet --clear --python "$(if $(PYTHON),$(PYTHON),3.13)" .venv-deployed
	$(BIN)/uv pip install --quiet --python .venv-deployed --require-hashes --requirement requirements.txt
	.venv-deployed/bin/python -c "import function_app"

licenses: deployed
	.venv-deployed/bin/python .ci/licenses.py > docs/licenses.md

# What a release lists of its parts, in the form of CycloneDX.
sbom: deployed
	mkdir -p dist
	$(BIN)/cyclonedx-py environment .venv-deployed --output-format JSON --output-file dist/index-tables.cdx.json
	$(BIN)/python .ci/sbom.py dist/index-tables.cdx.json

# The clients, as pip and npm install them.
packages: setup-tests
	mkdir -p dist
	$(BIN)/uv build --quiet --out-dir dist clients/python
	cd clients/typescript && npm ci --ignore-scripts --loglevel=error && npm run build && npm pack --ignore-scripts --pack-destination ../../dist

clean:
	rm -rf .venv .venv-* .local dist local/node_modules docs/site/node_modules tests/*/*/node_modules *.egg-info
	rm -rf clients/*/build clients/*/dist clients/*/node_modules clients/python/src/*.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

setup setup-tests setup-docs:
ifeq ($(BOOTSTRAP),)
	@echo "error: no Python was found: install Python 3.11 or newer." >&2; exit 1
else
	@$(BOOTSTRAP) local/run/setup.py --venv "$(VENV)" --python "$(PYTHON)" $(if $(filter setup-tests,$@),--tests) \
		$(if $(filter setup-docs,$@),--docs)
endif
