"""The policy document: every key that an operator may write, what it may hold, and what holds when it is left out.

Names are pinned, other programs write these files. Types are strict (`true` is no number, "5" is no number), an unknown
key is an error, and what cannot take effect is refused rather than ignored. All defaults are the safe ones: nothing
may be written, and there is no network at any time, set-up included (the preset `node-app` opens set-up to npm).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from runner.policy import fields
from runner.policy.argv_rule_check import require_effect, require_effect_together
from runner.policy.argv_rules import MAX_RULES, Rule
from runner.policy.hosts import FILE_HOST, host_of, sends_in_clear

__all__ = [
    "BINS",
    "Argv",
    "Binding",
    "Budget",
    "Commit",
    "Credential",
    "GitRemote",
    "Limits",
    "Network",
    "Policy",
    "Push",
    "Reach",
    "Sign",
    "policy_schema",
    "schema_text",
]

Bin = Literal["git", "pnpm", "npm", "node", "mise"]
BINS: tuple[Bin, ...] = ("git", "pnpm", "npm", "node", "mise")
"""The programs of the workspace image that a command may name."""

_INLINE = frozenset({"token", "password", "pass", "secret", "value", "key", "username"})

_OTHER_SIGNATURES = frozenset({"gpg", "openpgp", "pgp", "x509", "gpgsm"})

_Listed = BeforeValidator(fields.as_tuple)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=False)


class Argv(_Section):
    """Which rules judge a command line, beside those that always hold. Own rules come first, in their order."""

    preset: Literal["default", "strict"] = "default"
    rules: Annotated[
        tuple[Annotated[Rule, AfterValidator(require_effect)], ...], _Listed, Field(max_length=MAX_RULES)
    ] = ()

    @model_validator(mode="after")
    def _each_rule_can_take_effect(self) -> Self:
        require_effect_together(self.rules, self.preset)
        return self


class Budget(_Section):
    """How much a run may look at; null takes a bound away. Units are calls."""

    distinct: Annotated[int, Field(ge=1, le=1_000_000)] | None = 400
    rereads: Annotated[int, Field(ge=0, le=1_000_000)] | None = 40
    denials: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class Limits(_Section):
    """Bounds of a run. The ceilings keep a slip of the finger from taking the host's memory or a day of its time."""

    run_seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(1800, alias="runSeconds")
    command_seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(300, alias="commandSeconds")
    memory_mib: Annotated[int, Field(ge=64, le=1_048_576)] = Field(2048, alias="memoryMiB")
    cpus: Annotated[float, Field(ge=0.1, le=512)] = 2.0
    pids: Annotated[int, Field(ge=16, le=1_000_000)] = 512
    # The helper inside keeps its own out of programs' reach, from number 64 on: with less it could not start.
    open_files: Annotated[int, Field(ge=128, le=1_048_576)] = Field(4096, alias="openFiles")
    workspace_mib: Annotated[int, Field(ge=1, le=1_048_576)] = Field(2048, alias="workspaceMiB")
    workspace_inodes: Annotated[int, Field(ge=100, le=50_000_000)] = Field(500_000, alias="workspaceInodes")
    file_mib: Annotated[int, Field(ge=1, le=1_048_576)] = Field(512, alias="fileMiB")
    output_kib: Annotated[int, Field(ge=1, le=65_536)] = Field(1024, alias="outputKiB")


class Reach(_Section):
    """What may be reached: roles, host[:port], or *.host. An empty list is no network at all."""

    allow: Annotated[tuple[fields.AllowEntry, ...], _Listed] = ()


class Network(_Section):
    """What set-up may reach, and what the run may reach after it. Nothing, unless the policy names it."""

    setup: Reach = Reach()
    run: Reach = Reach()


class Push(_Section):
    """What the gate lets out. An empty list of branches lets nothing out."""

    branches: fields.Globs = ("*",)
    max_commits: Annotated[int, Field(ge=1, le=100_000)] = Field(100, alias="maxCommits")
    max_mib: Annotated[int, Field(ge=1, le=65_536)] = Field(200, alias="maxMiB")
    forbid: Annotated[tuple[Literal["symlink", "gitlink", "ci"], ...], _Listed] = (
        "symlink",
        "gitlink",
        "ci",
    )


class GitRemote(_Section):
    """A code host: which one, and how its repositories are addressed."""

    host: fields.GitHost
    repo: fields.Address | None = None
    repo_template: fields.Address | None = Field(None, alias="repoTemplate")

    @model_validator(mode="after")
    def _addresses_belong_to_the_host(self) -> Self:
        if self.repo_template is not None:
            if self.repo_template.count("{repo}") != 1:
                raise ValueError("has a repoTemplate without exactly one {repo}; expected https://host/{repo}.git")
            if self.host not in _hosts(self.repo_template):
                raise ValueError("has a repoTemplate of another host than `host`, so the binding would never match")
        if self.repo is not None and host_of(self.repo) is not None and self.host not in _hosts(self.repo):
            raise ValueError("has a repo of another host than `host`, so the binding would never match")
        return self


class Credential(_Section):
    """Where the gate finds the secret, at the moment it needs it. Exactly one of file, env and command."""

    file: fields.HostPath | None = None
    env: fields.VariableName | None = None
    command: fields.Words | None = None
    user: fields.OneLine | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_a_reference(cls, value: object) -> object:
        if isinstance(value, str) or (isinstance(value, dict) and _INLINE.intersection(value)):
            raise ValueError(
                "holds a secret; a credential is never inline, expected {file: PATH}, {env: NAME} or {command: [argv]}"
            )
        return value

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if sum(source is not None for source in (self.file, self.env, self.command)) != 1:
            raise ValueError("has none or more than one source; expected exactly one of file, env and command")
        return self


class Sign(_Section):
    """What `workspace.git_commit` signs with: an ssh key without a passphrase, read by the gate for each signature."""

    ssh: Credential

    @model_validator(mode="before")
    @classmethod
    def _is_by_ssh(cls, value: object) -> object:
        if isinstance(value, dict) and _OTHER_SIGNATURES.intersection(value):
            raise ValueError("asks for a kind of signature that is not made here; expected ssh: {file: PATH}")
        return value

    @model_validator(mode="after")
    def _a_key_has_no_user(self) -> Self:
        if self.ssh.user is not None:
            raise ValueError("has a user, which no signature carries; a commit carries commit.name and commit.email")
        return self


class Commit(_Section):
    """The identity that commits carry, and whether they are signed."""

    name: fields.OneLine = "runner"
    email: fields.OneLine = "runner@localhost"
    sign: Sign | None = None


class Binding(_Section):
    """A code host that pushes may go to, and the credential for it."""

    git: GitRemote
    credential: Credential | None = None

    @model_validator(mode="after")
    def _the_credential_is_of_use_and_stays_secret(self) -> Self:
        if self.credential is None:
            return self
        if self.git.host == FILE_HOST:
            raise ValueError("has a credential for local paths, which take none, so it would never be used")
        if any(address and sends_in_clear(address) for address in (self.git.repo, self.git.repo_template)):
            raise ValueError("would send its credential unencrypted; expected an https address")
        return self


class Policy(_Section):
    """One policy, whole."""

    version: fields.Version = 1
    write_allow: fields.GrantingGlobs = Field((), alias="writeAllow")
    rewrite_allow: fields.GrantingGlobs | None = Field(None, alias="rewriteAllow")
    write_deny: fields.Globs = Field((), alias="writeDeny")
    append_only: fields.GrantingGlobs = Field((), alias="appendOnly")
    bins: Annotated[tuple[Bin, ...], _Listed] = BINS
    argv: Argv = Argv()
    command_writes: Literal["report", "revert"] = Field("report", alias="commandWrites")
    verify_task: fields.Task = Field("os:red", alias="verifyTask")
    budget: Budget = Budget()
    limits: Limits = Limits()
    network: Network = Network()
    setup: fields.Setup = "auto"
    runtime: fields.RuntimeName = "runc"
    require_runtime: bool = Field(False, alias="requireRuntime")
    image: fields.PinnedImage | None = None
    pool: Annotated[int, Field(ge=0, le=100)] = 0
    env: Annotated[dict[fields.PolicyVariable, fields.VariableValue], Field(max_length=100)] = Field({})
    ca: fields.HostPath | None = None
    commit: Commit = Commit()
    push: Push = Push()
    bindings: Annotated[tuple[Binding, ...], _Listed] = ()
    # A policy that files narrow (`narrowing`) has their numbers and words in its own keys. What only a path, a branch
    # or a command line can settle stays as it is there, and each of these has to allow it too: who forgets to ask them
    # is as wide as the policy that was narrowed, and never wider.
    _narrower: tuple[tuple[int, Policy], ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _bindings_have_different_hosts(self) -> Self:
        hosts = [binding.git.host for binding in self.bindings]
        if len(set(hosts)) != len(hosts):
            raise ValueError("binds one host twice, so one of the two would never be used")
        return self

    @model_validator(mode="after")
    def _rules_are_about_allowed_programs(self) -> Self:
        for rule in self.argv.rules:
            if not any(argv[0] in self.bins for argv in rule.examples.match):
                raise ValueError(f"has the argv rule {rule.id} for programs that are not in `bins`")
        return self

    @property
    def rewritable(self) -> tuple[str, ...]:
        """The full-write patterns: `rewriteAllow`, or `writeAllow` where that is absent."""
        return self.write_allow if self.rewrite_allow is None else self.rewrite_allow

    @property
    def narrower(self) -> tuple[tuple[int, Policy], ...]:
        """The policy as each file that narrows it would have it, by the file's number from 1; each has to allow too."""
        return self._narrower

    def narrowed(self, keys: Mapping[str, object], narrower: Sequence[tuple[int, Policy]]) -> Policy:
        """The same policy with values that were checked already, by the names of the fields, and others to ask."""
        changed = self.model_copy(update=dict(keys))
        changed._narrower = tuple(narrower)
        return changed


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a policy document. It has the shapes; what patterns and names may hold, the loader checks."""
    schema = Policy.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Runner policy"}


def schema_text() -> str:
    """The schema as it is checked in, in `policies/schema.json`."""
    return json.dumps(policy_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _hosts(address: str) -> tuple[str, ...]:
    """The spellings of an address's host that `git.host` may have: with the port, and without it."""
    host = host_of(address)
    return () if host is None else (host, host.partition(":")[0])
