"""pnpm's options with their types, its commands, and which options each command reads, as its own sources have them.

pnpm reads its words twice: once with the options of `add` and `install` to find the command, and once more with those
of the command. An option that takes a value in one reading and none in the other moves the words behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from runner.policy.nopt import Dialect, option_types

__all__ = ["COMMANDS", "EVERY_OPTION", "FIRST_READING", "PASSED_TO_NPM", "RECURSIVE", "second_reading"]

RECURSIVE = frozenset({"recursive", "multi", "m"})
PASSED_TO_NPM = frozenset(
    """
    access adduser bugs deprecate dist-tag docs edit find home info issues login logout owner ping prefix
    profile pkg repo s se search set-script show star stars team token unpublish unstar v version view whoami
    xmas
    """.split()
)
"""Where the first word is one of these, pnpm starts npm with all words as they are."""

_ALIASES = {
    "ci": "clean-install ic install-clean",
    "config": "c",
    "install": "i",
    "install-test": "it",
    "link": "ln",
    "list": "ls",
    "ll": "la",
    "rebuild": "rb",
    "recursive": "multi m",
    "remove": "uninstall rm un uni",
    "run": "run-script",
    "unlink": "dislink",
    "update": "up upgrade",
}
_NAMES = """
    add approve-builds audit bin cache cat-file cat-index ci completion completion-server config create dedupe
    deploy dlx doctor env exec fetch find-hash get help ignored-builds import init install install-test licenses
    link list ll outdated pack patch patch-commit patch-remove prune publish rebuild recursive remove restart
    root run self-update server set setup store unlink update why
""".split()
COMMANDS: Mapping[str, str] = {
    **{name: name for name in _NAMES},
    **{alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()},
}
"""Every word that pnpm takes for a command of its own, with the command's name."""

EVERY_OPTION = option_types(
    {
        "boolean": """
            aggregate-output all background bail bare check compatible config dangerously-allow-all-builds dev
            dry-run embed-readme engine-strict exclude-peers fail-if-no-match fix fix-lockfile force
            force-legacy-deploy frozen-lockfile git-checks global help hoist if-present ignore-existing
            ignore-pnpmfile ignore-registry-errors ignore-scripts ignore-stop-requests ignore-unfixable
            ignore-upload-requests ignore-workspace ignore-workspace-root-check include-workspace-root
            init-package-manager interactive json latest lockfile lockfile-include-tarball-url lockfile-only
            long merge-git-branch-lockfiles offline only-projects optimistic-repeat-install optional parseable
            pending prefer-frozen-lockfile prefer-offline production provenance recursive remote report-summary
            reporter-hide-prefix resolution-only reverse save save-dev save-exact save-optional save-peer
            save-prod save-workspace-protocol shamefully-flatten shamefully-hoist shared-workspace-lockfile
            shell-mode side-effects-cache side-effects-cache-readonly sort stream strict-peer-dependencies table
            unsafe-perm update-checksums use-running-store-server use-stderr use-store-server
            verify-store-integrity workspace workspace-root
        """,
        "string": """
            cache-dir dir edit-dir global-bin-dir global-dir global-pnpmfile lockfile-dir lockfile-directory
            modules-dir noproxy npm-path out pack-destination patches-dir pnpmfile publish-branch reporter
            resume-from save-catalog-name save-prefix store-dir tag use-node-version virtual-store-dir
        """,
        "other|string": """
            allow-build changed-files-ignore-pattern cpu filter filter-prod find-by ignore libc os package
            test-pattern trust-policy-exclude workspace-packages
        """,
        "number": """
            child-concurrency depth fetch-retries fetch-retry-factor fetch-retry-maxtimeout
            fetch-retry-mintimeout fetch-timeout network-concurrency pack-gzip-level port
            trust-policy-ignore-after workspace-concurrency
        """,
        "other": "hoist-pattern merge-git-branch-lockfiles-branch-pattern prefix public-hoist-pattern",
        "null|other": "https-proxy registry",
        "always|boolean": "color",
        "auto|clone|copy|hardlink": "package-import-method",
        "auto|false|true|warn-only": "scripts-prepend-node-path",
        "auto|ipc|tcp": "protocol",
        "boolean|deep": "link-workspace-packages",
        "commonjs|module": "init-type",
        "critical|high|low|moderate": "audit-level",
        "dev|development|null|prod|production": "only",
        "error|http|info|notice|silent|silly|timing|verbose|warn": "loglevel",
        "false|null|other": "proxy",
        "global|project": "location",
        "hoisted|isolated|pnp": "node-linker",
        "json|list|table": "format",
        "name": "sort-by",
        "no-downgrade|off": "trust-policy",
        "null|public|restricted": "access",
        "null|string": "otp",
    }
)
_GLOBAL = """
    aggregate-output changed-files-ignore-pattern color dir fail-if-no-match filter filter-prod ignore-workspace
    include-workspace-root loglevel parseable prefix reporter stream test-pattern use-stderr workspace-packages
    workspace-root
"""
_INSTALL = """
    cache-dir child-concurrency cpu dangerously-allow-all-builds dev engine-strict fetch-retries
    fetch-retry-factor fetch-retry-maxtimeout fetch-retry-mintimeout fetch-timeout fix-lockfile force
    frozen-lockfile global global-dir global-pnpmfile hoist hoist-pattern https-proxy ignore-pnpmfile
    ignore-scripts libc link-workspace-packages lockfile lockfile-dir lockfile-directory lockfile-only
    merge-git-branch-lockfiles merge-git-branch-lockfiles-branch-pattern modules-dir network-concurrency
    node-linker noproxy offline only optimistic-repeat-install optional os package-import-method pnpmfile
    prefer-frozen-lockfile prefer-offline production proxy public-hoist-pattern recursive registry
    resolution-only save-workspace-protocol scripts-prepend-node-path shamefully-flatten shamefully-hoist
    shared-workspace-lockfile side-effects-cache side-effects-cache-readonly store-dir strict-peer-dependencies
    trust-policy trust-policy-exclude trust-policy-ignore-after unsafe-perm update-checksums
    use-running-store-server use-store-server verify-store-integrity virtual-store-dir
"""
_ADD = """
    allow-build config global-bin-dir ignore-workspace-root-check npm-path save save-catalog-name save-dev
    save-exact save-optional save-peer save-prefix save-prod workspace
"""
_NOT_OF_ADD = frozenset(
    """
    dev fix-lockfile frozen-lockfile merge-git-branch-lockfiles merge-git-branch-lockfiles-branch-pattern
    optimistic-repeat-install prefer-frozen-lockfile resolution-only scripts-prepend-node-path update-checksums
    """.split()
)
# What a command reads beside the global options; one that is not listed is taken to read them all, and says of a
# foreign one that it does not know it.
_OPTIONS: dict[str, str] = {
    "add": " ".join(sorted({*_INSTALL.split(), *_ADD.split()} - _NOT_OF_ADD)),
    "install": _INSTALL,
    "install-test": _INSTALL,
    "deploy": f"{_INSTALL} force-legacy-deploy",
    "ci": "",
    "recursive": "",
    "run": """
        bail if-present recursive report-summary reporter-hide-prefix resume-from reverse
        scripts-prepend-node-path sort unsafe-perm use-node-version workspace-concurrency
    """,
    "exec": """
        bail recursive report-summary reporter-hide-prefix resume-from reverse shell-mode sort unsafe-perm
        use-node-version workspace-concurrency
    """,
    "dlx": "allow-build cpu libc os package shell-mode use-node-version",
    "create": "allow-build use-node-version",
    "restart": "if-present",
    "config": "global json location",
    "get": "global json location",
    "set": "global json location",
    "link": """
        global global-dir only package-import-method production registry save-dev save-exact save-optional
        save-prefix unsafe-perm
    """,
    "pack": "dry-run json out pack-destination pack-gzip-level recursive workspace-concurrency",
    "publish": """
        access dry-run embed-readme force git-checks ignore-scripts json npm-path otp provenance publish-branch
        recursive registry report-summary tag unsafe-perm
    """,
    "rebuild": "npm-path pending recursive scripts-prepend-node-path store-dir unsafe-perm",
    "prune": "dev ignore-scripts optional production",
}
_SHORTHANDS = {
    "s": "--reporter silent",
    "d": "--loglevel info",
    "dd": "--loglevel verbose",
    "ddd": "--loglevel silly",
    "L": "--latest",
    "r": "--recursive",
    "silent": "--reporter silent",
    "verbose": "--loglevel verbose",
    "quiet": "--loglevel warn",
    "q": "--loglevel warn",
    "h": "--help",
    "H": "--help",
    "?": "--help",
    "usage": "--help",
    "v": "--version",
    "f": "--force",
    "local": "--no-global",
    "l": "--long",
    "p": "--parseable",
    "porcelain": "--parseable",
    "prod": "--production",
    "development": "--dev",
    "g": "--global",
    "S": "--save",
    "D": "--save-dev",
    "P": "--save-prod",
    "E": "--save-exact",
    "O": "--save-optional",
    "C": "--dir",
    "w": "--workspace-root",
    "i": "--interactive",
    "F": "--filter",
}
_PARALLEL = "--workspace-concurrency Infinity --no-sort --stream --recursive"
_KIND = {"D": "--dev", "P": "--production"}
_SHORTHANDS_OF = {
    "add": {"save-catalog": "--save-catalog-name default"},
    "install": _KIND,
    "list": _KIND,
    "outdated": _KIND,
    "update": _KIND,
    "why": _KIND,
    "deploy": {**_KIND, "legacy": "--config.force-legacy-deploy true"},
    "exec": {"parallel": _PARALLEL, "c": "--shell-mode"},
    "dlx": {"c": "--shell-mode"},
    "run": {
        "parallel": _PARALLEL,
        "sequential": "--workspace-concurrency 1",
    },
}


def _dialect(names: Iterable[str], shorthands: Mapping[str, str]) -> Dialect:
    types = {name: EVERY_OPTION[name] for name in (*_GLOBAL.split(), "recursive", *names)}
    return Dialect(types, {short: tuple(long.split()) for short, long in shorthands.items()})


FIRST_READING = _dialect([*_ADD.split(), *_INSTALL.split(), "help"], _SHORTHANDS)
"""Every option that pnpm knows while it looks for the command."""


@cache
def second_reading(command: str) -> Dialect:
    """The options that pnpm knows once the command is found."""
    names = _OPTIONS[command].split() if command in _OPTIONS else EVERY_OPTION
    return _dialect(names, {**_SHORTHANDS, **_SHORTHANDS_OF.get(command, {})})
