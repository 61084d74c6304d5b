#!/bin/sh
# One signature of the gate, for a commit: gate-sign.sh, without arguments.
#
# Standard input is a count of lines, so many lines of an ssh key, and then, to its end, what is signed. The key is in a
# file of this room's memory while ssh-keygen runs; it is in no argument and no environment,
# and goes with the call, the next one, or the room.
set -eu

ulimit -c 0
umask 077
rm -f /tmp/key.* # of a signature that was cut short
key=/tmp/key.$$
trap 'rm -f "$key" "$key.pub"' EXIT
IFS= read -r lines
while [ "$lines" -gt 0 ]; do
    IFS= read -r line
    printf '%s\n' "$line"
    lines=$((lines - 1))
done >"$key"
# A key in PEM form does not hold its public half where signing looks for it; and a passphrase is asked of nobody.
ssh-keygen -y -P '' -f "$key" >"$key.pub" </dev/null
ssh-keygen -q -Y sign -n git -f "$key"
