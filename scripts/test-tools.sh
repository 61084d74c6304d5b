#!/bin/bash
# What tests need of the host beside the virtual environment: ripgrep, since the helper is also tested without a container.
set -euo pipefail

command -v rg >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    printf '· installing ripgrep\n' >&2
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends ripgrep >/dev/null
else
    printf 'make: ripgrep is missing, which some tests run. Install it (Debian: apt-get install ripgrep), then again.\n' >&2
    exit 1
fi
