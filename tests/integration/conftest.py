from __future__ import annotations

from tests.support.engine_fixtures import asking_for
from tests.support.service_fixtures import (
    authority,
    code_host_https,
    code_host_ssh,
    evil,
    npm_registry,
    private_registry,
    service_client,
    service_image,
    session_code_host_https,
    session_code_host_ssh,
    session_npm_registry,
    session_private_registry,
)

__all__ = [
    "asking_for",
    "authority",
    "code_host_https",
    "code_host_ssh",
    "evil",
    "npm_registry",
    "private_registry",
    "service_client",
    "service_image",
    "session_code_host_https",
    "session_code_host_ssh",
    "session_npm_registry",
    "session_private_registry",
]
