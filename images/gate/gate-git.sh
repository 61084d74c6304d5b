#!/bin/sh
# One git of the gate: gate-git.sh MAX_FILE_KIB HANDOVER ARGUMENT...
#
# HANDOVER says what the first lines of standard input are; they are taken off, the rest is git's.
#   none    nothing
#   token   two lines, user name and token: answered to git's credential helper from a pipe, and nowhere else
#   key     a count of lines, and so many lines of an ssh key: in a file of this room's memory while git runs
#
# A secret is in no argument and no environment. A key's file goes with the call, or, where git was killed, with the next
# call or the room.
set -eu

[ "$1" = unlimited ] || ulimit -f "$(($1 * 2))" # in units of 512 bytes
ulimit -c 0
ulimit -v 8388608 # 8 GiB: an inflated object is held in memory once, and this ends a decompression bomb
handover=$2
shift 2

case $handover in
none)
    exec git "$@"
    ;;
token)
    IFS= read -r user
    IFS= read -r token
    # dash keeps a text of this size in a pipe, which ends with its readers.
    exec 9<<ANSWER
username=$user
password=$token
ANSWER
    user='' token=''
    exec git "$@"
    ;;
key)
    umask 077
    rm -f /tmp/key.* # of a git that was killed at its deadline, before it could remove it
    key=/tmp/key.$$
    trap 'rm -f "$key"' EXIT
    IFS= read -r lines
    while [ "$lines" -gt 0 ]; do
        IFS= read -r line
        printf '%s\n' "$line"
        lines=$((lines - 1))
    done >"$key"
    export GIT_SSH_COMMAND="$GATE_SSH -o IdentityFile=$key"
    git "$@"
    ;;
*)
    exit 64
    ;;
esac
