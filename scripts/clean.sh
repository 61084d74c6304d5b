#!/bin/bash
# Afterwards nothing is left that this checkout made: images and containers by their labels, then files. The engine stays,
# and so do the records of runs in the state folder: they may be somebody's audit log.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -x .venv/bin/runner ]; then
    .venv/bin/runner image rm ||
        printf 'make clean: images and containers were left; the line above says why.\n' >&2
elif [ -e build/images.json ]; then
    printf 'make clean: images are left, since .venv is gone. Run `make setup` and `make clean` to remove them.\n' >&2
fi
rm -rf build dist mutants .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov
find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
