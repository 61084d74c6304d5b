#!/bin/sh
# git asks this to make a pack. A repository that holds `lie.pack` hands that out, whatever was asked for: so a client
# meets a pack that no git would make, over a protocol that is real.
if [ -e lie.pack ]; then
    cat >/dev/null
    exec cat lie.pack
fi
exec "$@"
