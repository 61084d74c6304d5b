"""runner: a self-hosted, container-isolated sandbox runner for work on repositories that nobody trusts."""

__version__ = "0.1.0"
