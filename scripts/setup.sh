#!/bin/bash
# Afterwards .venv holds exactly what requirements.lock names, and this project as an editable install.
# Nothing is done when that is so already. pip's own configuration and environment apply as they are.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '· %s\n' "$*" >&2; }
die() {
    printf 'make setup: %s\n' "$*" >&2
    exit 1
}

# The stamp names all that the result depends on; the folder is in it because scripts in a venv carry its path.
stamp=$({
    pwd
    cat requirements.lock pyproject.toml
} | sha256sum)
if [ "$(cat .venv/.setup-stamp 2>/dev/null)" = "$stamp" ] && [ -x .venv/bin/runner ] && command -v git >/dev/null; then
    exit 0
fi

# Installs a Debian package where that is ours to do, else says what is to be done.
need() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $1"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$1" \
            >/dev/null || die "apt-get could not install $1."
    elif command -v apt-get >/dev/null; then
        die "$1 is missing. Run \`sudo apt-get install $1\`, then again."
    else
        die "$2"
    fi
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

command -v git >/dev/null || need git "git is missing. Install it with your system's package manager."
python=$(find_python) || python=
if [ -z "$python" ] && [ -z "${PYTHON:-}" ] && ! command -v python3 >/dev/null; then
    need python3-venv "Python is missing. Install Python 3.11 or newer."
    python=$(find_python) || python=
fi
[ -n "$python" ] || die "Python 3.11 or newer is needed; ${PYTHON:-python3} is $("${PYTHON:-python3}" --version 2>&1 | head -1)." \
    "Install one and name it: \`make setup PYTHON=/path/to/python3.11\`."

if ! new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        need python3-venv "$python has no venv module. Install the package of your system that brings it."
    fi
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
fi

say "installing $(grep -c '==' requirements.lock) pinned packages (a minute or two the first time)"
.venv/bin/python -m pip install --quiet --require-hashes -r requirements.lock
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
printf '%s\n' "$stamp" >.venv/.setup-stamp
say "ready: .venv/bin/runner"
