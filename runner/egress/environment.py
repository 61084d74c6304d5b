"""The environment variables that make the workspace's programs use the proxy and trust the run's certificates. Pure.

They are a convenience for programs that mean well. What keeps the others in is that the container has no network.
"""

from __future__ import annotations

__all__ = ["RELAY_PORT", "ca_environment", "proxy_environment"]

RELAY_PORT = 3128
"""The port on the workspace's loopback; `images/workspace/relay.py` has the same default."""


def proxy_environment(port: int = RELAY_PORT) -> dict[str, str]:
    """The variables for a command that runs while the relay listens on `port`.

    Plain http is pointed there as well: it is refused with a line that says so, instead of with a failed look-up.
    """
    proxy = f"http://127.0.0.1:{port}"
    return {
        "HTTPS_PROXY": proxy,
        "https_proxy": proxy,
        "HTTP_PROXY": proxy,
        "http_proxy": proxy,
        # No host is reached in another way, whatever a default says.
        "NO_PROXY": "",
        "no_proxy": "",
        "npm_config_https_proxy": proxy,
        "npm_config_proxy": proxy,
        "npm_config_noproxy": "",
        # node's own fetch and http look at the proxy variables only when told to (22.21 and later).
        "NODE_USE_ENV_PROXY": "1",
    }


def ca_environment(ca_path: str) -> dict[str, str]:
    """The variables that make node, npm, pnpm, git and OpenSSL's users trust the PEM bundle at `ca_path` inside."""
    return {
        "NODE_EXTRA_CA_CERTS": ca_path,
        "npm_config_cafile": ca_path,
        "SSL_CERT_FILE": ca_path,
        "GIT_SSL_CAINFO": ca_path,
    }
