#!/bin/sh
# Starts one server once its configuration lies in /srv/etc: certificates name the address that the container got.
set -eu
# A test process that was killed leaves its container behind; it ends by itself then.
LIFE_SECONDS=3600

until [ -e /srv/etc/ready ]; do sleep 0.02; done
case $1 in
https)
    fcgiwrap -f -c 4 -s unix:/tmp/fcgiwrap.sock &
    exec timeout "$LIFE_SECONDS" nginx -e stderr -c /srv/etc/nginx.conf
    ;;
ssh)
    exec timeout "$LIFE_SECONDS" /usr/sbin/sshd -D -E /srv/log/sshd -f /srv/etc/sshd_config
    ;;
client)
    exec sleep "$LIFE_SECONDS"
    ;;
esac
