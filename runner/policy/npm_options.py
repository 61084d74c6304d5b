"""npm's options with their types, and its short forms, as its own definitions have them."""

from __future__ import annotations

from runner.policy.nopt import Dialect, option_types

__all__ = ["NPM"]

_TYPES = option_types(
    {
        "boolean": """
            all allow-same-version allow-scripts-pending allow-scripts-pin audit bin-links bypass-2fa commit-hooks
            dangerously-allow-all-scripts description dev diff-ignore-all-space diff-name-only diff-no-prefix
            diff-text dry-run engine-strict force foreground-scripts format-package-lock fund git-tag-version
            global global-style if-present ignore-scripts include-attestations include-staged
            include-workspace-root init-private install-links json legacy-bundling legacy-peer-deps link long
            offline omit-lockfile-registry-resolved package-lock package-lock-only packages-all parseable
            prefer-dedupe prefer-offline prefer-online progress provenance read-only rebuild-bundle save
            save-bundle save-dev save-exact save-optional save-peer save-prod shrinkwrap sign-git-commit
            sign-git-tag strict-allow-scripts strict-peer-deps strict-ssl timing unicode update-notifier usage
            version versions workspaces-update
        """,
        "string": """
            call diff-dst-prefix diff-src-prefix editor git heading init-author-email init-author-name
            init-license init-type init.author.email init.author.name init.license message pack-destination preid
            save-prefix scope searchexclude searchopts shell tag tag-version-prefix user-agent viewer
        """,
        "other": """
            cache cafile globalconfig init-author-url init-module init-version init.author.url init.module
            init.version node-gyp prefix provenance-file registry umask userconfig
        """,
        "null|string": "_auth cert cpu key libc name node-options os otp password script-shell token-description",
        "number": """
            cache-max cache-min diff-unified fetch-retries fetch-retry-factor fetch-retry-maxtimeout
            fetch-retry-mintimeout fetch-timeout logs-max maxsockets searchlimit searchstaleness
        """,
        "other|string": "allow-scripts diff min-release-age-exclude noproxy package workspace",
        "boolean|null": "expect-results optional production workspaces yes",
        "null|number": "depth expect-result-count expires min-release-age which",
        "null|other|string": "ca cidr orgs packages scopes",
        "all|none|root": "allow-directory allow-file allow-git allow-remote",
        "null|other": "before https-proxy local-address logs-dir",
        "1|2|3|null|other": "lockfile-version",
        "always|boolean": "color",
        "always|never|npmjs|string": "replace-registry-host",
        "application|framework|library": "sbom-type",
        "boolean|null|string": "browser",
        "critical|high|info|low|moderate|none|null": "audit-level",
        "cyclonedx|spdx": "sbom-format",
        "dev|development|null": "also",
        "dev|optional|other|peer": "omit",
        "dev|optional|other|peer|prod": "include",
        "error|http|info|notice|silent|silly|verbose|warn": "loglevel",
        "false|null|other": "proxy",
        "global|project|user": "location",
        "hoisted|linked|nested|shallow": "install-strategy",
        "legacy|web": "auth-type",
        "no-access|null|read-only|read-write": "orgs-permission",
        "no-access|null|read-only|read-write|read-write-stage-only": "packages-and-scopes-permission",
        "null|private|public|restricted": "access",
        "null|prod|production": "only",
    }
)
_SHORTHANDS: dict[str, tuple[str, ...]] = {
    "enjoy-by": ("--before",),
    "d": ("--loglevel", "info"),
    "dd": ("--loglevel", "verbose"),
    "ddd": ("--loglevel", "silly"),
    "quiet": ("--loglevel", "warn"),
    "q": ("--loglevel", "warn"),
    "s": ("--loglevel", "silent"),
    "silent": ("--loglevel", "silent"),
    "verbose": ("--loglevel", "verbose"),
    "desc": ("--description",),
    "help": ("--usage",),
    "local": ("--no-global",),
    "n": ("--no-yes",),
    "no": ("--no-yes",),
    "porcelain": ("--parseable",),
    "readonly": ("--read-only",),
    "reg": ("--registry",),
    "iwr": ("--include-workspace-root",),
    "ws": ("--workspaces",),
    "a": ("--all",),
    "c": ("--call",),
    "f": ("--force",),
    "g": ("--global",),
    "L": ("--location",),
    "l": ("--long",),
    "m": ("--message",),
    "p": ("--parseable",),
    "C": ("--prefix",),
    "S": ("--save",),
    "B": ("--save-bundle",),
    "D": ("--save-dev",),
    "E": ("--save-exact",),
    "O": ("--save-optional",),
    "P": ("--save-prod",),
    "?": ("--usage",),
    "H": ("--usage",),
    "h": ("--usage",),
    "v": ("--version",),
    "w": ("--workspace",),
    "y": ("--yes",),
}
NPM = Dialect(_TYPES, _SHORTHANDS)
