# The door to everything a developer does. Each target may be called again at any time and is quick when there is
# nothing to do. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin

# For `make engine` only: where an engine that we start listens, where it keeps its data (empty: its own default), and
# further flags for it. ENGINE_DRY_RUN=1 prints what would be started.
export ENGINE_SOCKET ?= /var/run/docker.sock
export ENGINE_DATA_ROOT ?=
export ENGINE_FLAGS ?=
export ENGINE_DRY_RUN ?=

# For `make setup` only: the Python to make the virtual environment with (empty: the first one that is new enough).
export PYTHON ?=

# For `make mutants` only: patterns of mutants' names to run again, such as 'runner.policy.push.*' (empty: all that have
# no verdict yet).
MUTANTS ?=

# For `make test` and `make test-unit`: how many tests at once. Those that need Docker mostly wait for it. Any number may
# be given, and 0 runs them one after another in one process, which `-p no:xdist` in PYTEST_FLAGS does as well.
WORKERS ?=
CORES := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
PARALLEL = $(if $(findstring no:xdist,$(PYTEST_FLAGS)),,-n $(or $(WORKERS),$(1)) --dist loadfile --no-loadscope-reorder)

# Each worker, and each process that a test starts, would compile everything anew, and rewrite every test's assertions.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/' | expand -t 12

.PHONY: setup
setup: ## virtual environment in .venv with everything in requirements.lock
	@scripts/setup.sh

.PHONY: engine
engine: setup ## a Docker engine that answers: the running one, or one that is installed and started
	@scripts/engine.sh

.PHONY: image
image: setup engine ## the workspace image, rebuilt only when its inputs changed
	@$(BIN)/runner image build

.PHONY: demo
demo: setup engine image ## a whole run on a small repository, explained as it goes
	@$(BIN)/python -m examples.demo

.PHONY: test-tools
test-tools:
	@scripts/test-tools.sh

.PHONY: test
test: setup engine image test-tools ## every test; one that needs Docker fails where Docker is missing
	@scripts/test-tools.sh chromium
	@RUNNER_REQUIRE_DOCKER=1 RUNNER_REQUIRE_BROWSER=1 RUNNER_DIFFERENTIAL_EXAMPLES=10000 $(BIN)/python -m pytest $(call PARALLEL,$(shell expr $(CORES) + 1)) $(PYTEST_FLAGS)

.PHONY: test-unit
test-unit: setup test-tools ## the tests that need neither Docker nor network
	@RUNNER_QUICK_EXAMPLES=1 $(BIN)/python -m pytest tests/unit tests/property tests/architecture $(call PARALLEL,$(CORES)) $(PYTEST_FLAGS)

.PHONY: bench
bench: setup engine image ## measure what the parts cost
	@$(BIN)/python -m benchmarks

.PHONY: bench-quick
bench-quick: setup engine image ## the same with fewer samples and smaller trees, in three minutes
	@$(BIN)/python -m benchmarks --quick

.PHONY: bench-pure
bench-pure: setup ## the pure parts by themselves (build/bench-pure.json)
	@mkdir -p build
	@$(BIN)/python -m pytest -o addopts=--import-mode=importlib benchmarks/pure.py -q \
		--benchmark-columns=median,iqr,min,max,rounds --benchmark-json=build/bench-pure.json

.PHONY: profile
profile: setup engine image ## where the time of the figures named by FIGURE goes (build/profile-*.txt)
	@$(BIN)/python -m benchmarks.profile "$(FIGURE)"

# For `make soak` only: how many runs.
N ?= 500

.PHONY: soak
soak: setup engine image ## N runs, 4 at once, a third of them hostile, and what they leave; figures in build/soak.json
	@$(BIN)/python -m soak --runs $(N)

.PHONY: faults
faults: setup engine image test-tools ## every fault at every step of a run, and how many were survived
	@RUNNER_REQUIRE_DOCKER=1 $(BIN)/python -m pytest tests/integration/test_fault_matrix.py \
		tests/integration/test_lifecycle.py tests/integration/test_lying_helper.py $(PYTEST_FLAGS)

.PHONY: doors
doors: setup engine image ## every conformance case through HTTP and MCP too, of which `make test` takes one of a kind
	@RUNNER_REQUIRE_DOCKER=1 RUNNER_ALL_CASES=1 $(BIN)/python -m pytest tests/interfaces/test_cases_through_doors.py \
		$(PYTEST_FLAGS)

# For `make fuzz` only: how many rounds, or the seed of one to play again.
ROUNDS ?= 5
SEED ?=

.PHONY: fuzz
fuzz: setup test-tools ## the property tests on inputs that they never met; each round's seed is printed
	@$(BIN)/python -m scripts.fuzz --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) -- $(call PARALLEL,$(CORES)) $(PYTEST_FLAGS)

.PHONY: mutants
mutants: setup ## change the policy's code a little, thousands of times, and list the changes that no test notices
	@PATH="$(CURDIR)/$(BIN):$$PATH" nice -n 10 $(BIN)/python -m scripts.mutants $(MUTANTS)

.PHONY: check
check: setup ## lint, format, types and import directions
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: fmt
fmt: setup ## format the code, and mend what the linter can
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

.PHONY: openapi
openapi: setup ## docs/openapi.json, written anew from the code
	@$(BIN)/python -m scripts.openapi
.PHONY: package
package: setup ## wheel and sdist in dist/, for pip and pipx
	@rm -rf dist
	@$(BIN)/python -m hatchling build

.PHONY: clean
clean: ## remove build products, our images and containers, caches and .venv (not the engine, not runs' records)
	@scripts/clean.sh
