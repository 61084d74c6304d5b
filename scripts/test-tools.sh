#!/bin/bash
# What tests need of the host beside the virtual environment: ripgrep, since the helper is also tested without a container;
# PostgreSQL's, since the server's store is tested with both of its databases; where there is an engine to test on, two
# more runtimes, crun and gVisor's runsc; and the programs that are named.
set -euo pipefail

missing=()
command -v rg >/dev/null || missing+=(ripgrep)
command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
if command -v dockerd >/dev/null; then
    for runtime in crun runsc; do
        command -v "$runtime" >/dev/null || missing+=("$runtime")
    done
fi
for program in "$@"; do
    command -v "$program" >/dev/null || missing+=("$program")
done
[ ${#missing[@]} = 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    printf '· installing %s\n' "${missing[*]}" >&2
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        # Tests make clusters of their own; none is to run on this machine because of them.
        mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    fi
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
else
    printf 'make: %s missing, which some tests run. Install it (Debian: apt-get install %s), then again.\n' \
        "${missing[*]}" "${missing[*]}" >&2
    exit 1
fi
