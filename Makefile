# Every target works on a fresh machine: it builds .venv from the hashed locks, then does its job.
# Stamp files inside .venv make the second call instant.

PYTHON ?= python3

BIN := .venv/bin
LOWEST := build/lowest
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
LOCK := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header

# What `make faults` runs; docs/reliability.md says what each of them causes.
FAULTS := tests/crash tests/races tests/simulation \
	tests/adapters/test_kills.py tests/channels/test_kill.py tests/memory/test_kills.py \
	$(addprefix tests/flows/test_, bad_input.py fairness.py forecast.py late.py limits.py new_zone_rules.py retries.py soak.py) \
	$(addprefix tests/server/test_, crowd.py hostile_text.py killed.py other_process.py reconnecting.py schema.py) \
	$(addprefix tests/store/test_, commit_stamps.py differential.py faults.py model.py postgres_faults.py \
		postgres_scarce.py postgres_watch.py sqlite_deleted.py sqlite_disk.py sqlite_file.py sqlite_processes.py) \
	tests/unit/test_dst.py tests/unit/when/test_properties.py tests/workers/test_keeper.py tests/workers/test_reaper.py

# The tests start hundreds of processes, each of which would have to compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

# How many tests run at once. Many wait, for a process or for the end of a lease: two would not fill two cores. The
# fault tests measure, and are left more room.
test lowest: WORKERS ?= 4
faults: WORKERS ?= 2

.DELETE_ON_ERROR:
.PHONY: help run test check faults bench docs reference lock lowest packages compatibility clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.run ## Serve on this machine, with the data in .segue/ and a model that needs no key
	$(BIN)/segue serve --data .segue

test: check ## Check, then run every test
	@# Those that need the machine for themselves run even if others failed; that there is none of them (5) is no fault.
	failed=0; \
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not serial" || failed=1; \
	$(BIN)/pytest -m serial $$(grep -rl --include='*.py' 'mark\.serial' tests) || test $$? -eq 5 || failed=1; \
	exit $$failed

check: .venv/.dev ## Lint, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

faults: .venv/.dev ## Run the long forms of the fault tests, and write what they measured into docs/reliability.md
	@# Some run for longer than a test may before its stack is printed, and to print that of one at work can end Python.
	failed=0; export SEGUE_LONG=1 SEGUE_FIGURES=docs/reliability.md; \
	$(BIN)/pytest -n $(WORKERS) --maxschedchunk=1 -o faulthandler_timeout=0 -m "not serial" $(FAULTS) || failed=1; \
	$(BIN)/pytest -o faulthandler_timeout=0 -m serial $(FAULTS) || failed=1; \
	exit $$failed

bench: .venv/.dev ## Measure Segue and its peers, and write the field into docs/performance.md
	$(BIN)/python -m bench.field --write
	$(BIN)/python -m bench

docs: .venv/.dev ## Build the documentation site into build/site, and check that every page can be reached
	$(BIN)/python -m website.pages
	cd build && ../$(BIN)/zensical build --strict
	$(BIN)/python -m website.check build/site

reference: .venv/.dev ## Write docs/reference/python.md from the docstrings
	$(BIN)/python -m tests.docs.python_reference

lock: .venv/.dev ## Pin the newest versions that pyproject.toml allows
	printf 'hatchling\nuv\n' | $(LOCK) - -o requirements/build.txt
	$(LOCK) pyproject.toml --extra postgres --extra server -o requirements/run.txt
	$(LOCK) pyproject.toml --extra dev -o requirements/dev.txt
	@! grep -n '://' requirements/*.txt || { echo "a lock must not contain an address"; exit 1; }

lowest: .venv/.dev ## Run the tests of what depends on libraries with the oldest versions that pyproject.toml allows
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --no-header --no-annotate \
		pyproject.toml --extra dev -o build/lowest.txt
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(BIN)/uv pip sync --quiet --python $(LOWEST)/bin/python build/lowest.txt
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --no-deps --editable .
	@# Old versions use what newer ones of their own dependencies deprecate.
	$(LOWEST)/bin/pytest -n $(WORKERS) --dist worksteal -W default::DeprecationWarning -m "not serial" \
		tests/agents tests/tools tests/channels tests/cli tests/server

packages: .venv/.dev ## Install each extra of the wheel and the sdist alone, on each Python of this machine
	SEGUE_LONG=1 $(BIN)/pytest tests/packaging/test_installed.py

compatibility: .venv/.dev ## Check that the newest agent frameworks can be installed beside Segue, and list the versions
	$(BIN)/python -m tests.packaging.compatibility

clean: ## Remove what make and the tools have built, .venv included
	rm -rf .venv build dist .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.run: requirements/build.txt requirements/run.txt pyproject.toml
	@echo "Installing what Segue needs into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(INSTALL) --require-hashes -r requirements/run.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: .venv/.run requirements/dev.txt
	@echo "Installing what its tests need into .venv"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@
