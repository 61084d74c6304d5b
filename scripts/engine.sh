#!/bin/bash
# Afterwards a Docker engine answers. A running one is used as it is; where there is none, and installing and starting
# one is ours to do (root on Debian or Ubuntu), that happens. Elsewhere it says what to do.
set -euo pipefail
cd "$(dirname "$0")/.."

WAIT_SECONDS=60 # a first start that makes its storage takes 2 to 20 s
LOG=/var/log/runner-engine.log

say() { printf '· %s\n' "$*" >&2; }
die() {
    printf 'make engine: %s\n' "$*" >&2
    exit 1
}
# Asked through the client that the product itself uses, so DOCKER_HOST and its kin count.
answers() { .venv/bin/python -c 'import docker; docker.from_env(timeout=5).ping()' 2>/dev/null; }

socket=${ENGINE_SOCKET:-/var/run/docker.sock}
if [ "$socket" != /var/run/docker.sock ]; then
    export DOCKER_HOST="unix://$socket"
fi

if [ -z "${ENGINE_DRY_RUN:-}" ] && answers; then
    exit 0
fi

case ${DOCKER_HOST:-} in
'' | "unix://$socket") ;;
*) die "nothing answers at DOCKER_HOST=$DOCKER_HOST. Start that engine, or unset DOCKER_HOST." ;;
esac
if [ -S "$socket" ] && [ ! -w "$socket" ]; then
    die "you may not use $socket. Run \`sudo usermod -aG docker $(id -un)\` and log in again, or use sudo."
fi

command=(dockerd "--host=unix://$socket" --log-level=warn)
if [ -n "${ENGINE_DATA_ROOT:-}" ]; then
    command+=("--data-root=$ENGINE_DATA_ROOT" "--exec-root=$ENGINE_DATA_ROOT.run" "--pidfile=$ENGINE_DATA_ROOT.pid")
fi
read -r -a more <<<"${ENGINE_FLAGS:-}"
command+=(${more[@]+"${more[@]}"})

if [ -n "${ENGINE_DRY_RUN:-}" ]; then
    printf '%q ' "${command[@]}"
    echo
    exit 0
fi

[ "$(id -u)" = 0 ] || die "no Docker engine answers, and starting one needs root. Run \`sudo make engine\`, or start yours."

if ! command -v dockerd >/dev/null; then
    command -v apt-get >/dev/null || die "Docker is not installed. Install Docker 20.10 or newer and start it."
    say "installing docker.io"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends docker.io iptables >/dev/null ||
        die "apt-get could not install docker.io. Install Docker 20.10 or newer and start it."
    # The package starts its service itself where there is an init system for it.
    answers && exit 0
fi

if [ -d /run/systemd/system ] && [ -z "${ENGINE_DATA_ROOT:-}${ENGINE_FLAGS:-}" ] && [ "$socket" = /var/run/docker.sock ]; then
    say "starting the docker service"
    systemctl start docker || die "the docker service does not start; see \`journalctl -u docker\`."
    engine=
else
    say "starting ${command[*]} (log: $LOG)"
    setsid "${command[@]}" >"$LOG" 2>&1 </dev/null &
    engine=$!
fi

for ((second = 0; second < WAIT_SECONDS; second++)); do
    if answers; then
        say "the engine answers"
        exit 0
    fi
    if [ -n "$engine" ] && ! kill -0 "$engine" 2>/dev/null; then
        tail -n 5 "$LOG" >&2
        die "the engine ended; its last words are above. Where this host allows no firewall rules, runs work" \
            "without: \`make engine ENGINE_FLAGS='--iptables=false --bridge=none'\`."
    fi
    [ $((second % 5)) = 4 ] && say "waiting for the engine ($((second + 1)) s)"
    sleep 1
done
die "the engine did not answer within $WAIT_SECONDS s; see $LOG."
