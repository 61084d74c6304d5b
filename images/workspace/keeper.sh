#!/bin/bash
# The container's main process: keeper.sh DEADLINE_SECONDS [RUN_SECONDS], as a user that repository code cannot signal.
#
# It ends, and the container with it, when
#   124  DEADLINE_SECONDS have passed on the kernel's own uptime, so that a changed clock stretches nothing;
#   123  for 30 s no process lived that was started from outside: the controller is gone.
# 64 says that a deadline is not a number of seconds, 70 that the kernel's files cannot be read.
#
# A container that waits for its run has RUN_SECONDS too. The first SIGURG says that the run begins: from then on so many
# seconds are left, or fewer. It never makes a deadline later. SIGURG, because who does not know it is not ended by it.
#
# It forks nothing. A fork bomb that holds every process slot, where a `sleep` could not start,
# neither ends the container early nor keeps it alive.
set -u

ABANDONED_AFTER_SECONDS=30
TICK_SECONDS=2

# `read` with a timeout is bash's; a caller that names another shell gets bash all the same.
[ -n "${BASH_VERSION:-}" ] || exec /bin/bash --noprofile --norc "$0" "$@"

deadline=${1:-}
case $deadline in
'' | *[!0-9]* | ??????????*) exit 64 ;;
esac
run=${2:-}
case $run in
*[!0-9]* | ??????????*) exit 64 ;;
esac

begun=
trap 'begun=1' URG

# The free end of a terminal that nobody can open: waiting on it is a sleep without a process.
exec 3<>/dev/ptmx

# Sets `now` to whole seconds since the machine started.
read_uptime() {
    local uptime
    read -r uptime _ </proc/uptime || exit 70
    now=${uptime%%.*}
}

# True while a process exists that was started from outside. Such a process has no parent in here, so its PPid is 0;
# nothing inside can make one. `status` is read and not `stat`, since only `status` escapes what a process calls itself.
attended() {
    local file key value
    for file in /proc/[0-9]*/status; do
        [ "$file" = /proc/1/status ] && continue
        while read -r key value; do
            [ "$key" = PPid: ] || continue
            [ "$value" = 0 ] && return 0
            break
        done <"$file"
    done 2>/dev/null
    return 1
}

read_uptime
end=$((now + 10#$deadline))
last_attended=$now
while [ "$now" -lt "$end" ]; do
    if attended; then
        last_attended=$now
    elif [ $((now - last_attended)) -ge "$ABANDONED_AFTER_SECONDS" ]; then
        exit 123
    fi
    left=$((end - now))
    read -r -t "$((left < TICK_SECONDS ? left : TICK_SECONDS))" -u 3
    read_uptime
    if [ -n "$begun" ] && [ -n "$run" ]; then
        sooner=$((now + 10#$run))
        run=
        [ "$sooner" -lt "$end" ] && end=$sooner
    fi
done
exit 124
