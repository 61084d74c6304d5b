"""The push: exactly one commit goes to exactly one branch of exactly the recorded remote, or nothing does.

The source is the quarantine, a repository without a remote, a configuration of anybody else's, or a hook. History is
never rewritten, the remote's default branch is never touched, and whatever the remote answers is reported in its words.

A local remote's own hooks would be programs of the repository running on this host. None is run; a remote that has one
is refused, since leaving out a check that its owner put there would be wrong as well.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runner.gate.address import Address
from runner.gate.credentials import CredentialSource, Secret
from runner.gate.failures import one_line, visible
from runner.gate.fetch import Fetched
from runner.gate.git import Git, GitResult
from runner.gate.local import common_folder
from runner.gate.outgoing import Quarantine
from runner.gate.refs import HEADS, branch_refusal
from runner.gate.remote_now import push_secret
from runner.model.errors import ErrorCode, ToolError
from runner.policy.push import is_default_branch

__all__ = ["PUSH_SECONDS", "PushOutcome", "PushStatus", "push"]

PUSH_SECONDS = 300.0
"""The longest that a push may take, the server's own checks included."""

_MAX_REASON_CHARACTERS = 2000
_RECEIVING_HOOKS = (
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
    "proc-receive",
    "reference-transaction",
    "push-to-checkout",
)


class PushStatus(StrEnum):
    """What became of the push."""

    PUSHED = "pushed"
    UP_TO_DATE = "up_to_date"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """`reason` is git's and the remote's own words, without the credential, several lines at most."""

    status: PushStatus
    reason: str

    @property
    def pushed(self) -> bool:
        """The remote has it now and did not have it before."""
        return self.status is PushStatus.PUSHED


def push(
    git: Git,
    quarantine: Quarantine,
    fetched: Fetched,
    branch: str,
    *,
    credential: CredentialSource | None = None,
    deadline_seconds: float = PUSH_SECONDS,
) -> PushOutcome:
    """The remote's branch is at the quarantine's commit, or the outcome says why not and nothing moved.

    The caller has had every outgoing commit judged; this does not judge them.

    Raises:
        ToolError: DEFAULT_BRANCH_REFUSED; GIT_PUSH_FAILED for a branch name that is not pushed to, and for a local
            remote with hooks; PUSH_CREDENTIAL_MISSING when the credential cannot be read.
    """
    _require_branch(fetched, branch)
    _require_no_local_hooks(git, fetched.address)
    secret = push_secret(credential, fetched.address)
    destination = HEADS + branch
    # In a repository that nobody else wrote to: the quarantine's own configuration is the judging room's.
    source = git.scratch / f"push-{secrets.token_hex(6)}.git"
    git.output(["init", "--quiet", "--bare", "--template=", "--", str(source)])
    result = git.run(
        [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--no-recurse-submodules",
            *_serving(git, fetched.address),
            "--",
            fetched.address.url,
            f"{quarantine.commit}:{destination}",
        ],
        repository=source,
        borrow=quarantine.repository / "objects",
        address=fetched.address,
        credential=secret,
        deadline_seconds=deadline_seconds,
    )
    return _outcome(result, f"{quarantine.commit}:{destination}", secret)


def _require_branch(fetched: Fetched, branch: str) -> None:
    refusal = branch_refusal(branch)
    if refusal is not None:
        raise ToolError(
            ErrorCode.GIT_PUSH_FAILED,
            f"The branch {visible(branch[:200])} is not pushed: {refusal}.",
            rule="push.branchName",
            hint="Give the branch a plain name and push again.",
        )
    if is_default_branch(branch, fetched.default_branch):
        raise ToolError(
            ErrorCode.DEFAULT_BRANCH_REFUSED,
            f"{branch} is, or may be, the remote's default branch.",
            rule="push.defaultBranch",
            hint="Make a branch of your own and push that.",
        )


def _require_no_local_hooks(git: Git, address: Address) -> None:
    if address.path is None:
        return
    folder = common_folder(Path(address.path))
    # `core.hooksPath` may be set in the repository's own file or in one that it includes.
    configured = git.run(["config", "--local", "--includes", "--get", "core.hooksPath"], repository=folder)
    place = configured.stdout.decode("utf-8", "surrogateescape").rstrip("\n") or "hooks"
    present = [name for name in _RECEIVING_HOOKS if _is_executable(folder / place / name)]
    if place.startswith("~"):
        present.append(place)  # whose home it means is not known here
    if present:
        raise ToolError(
            ErrorCode.GIT_PUSH_FAILED,
            f"The local remote has hooks ({', '.join(present)}), which are not run on this host.",
            rule="push.localHooks",
            hint="Serve the repository over https, or use a bare repository without hooks as the remote.",
        )


def _is_executable(path: Path) -> bool:
    try:
        return path.is_file() and bool(path.stat().st_mode & 0o111)
    except OSError:
        return True  # what cannot be looked at is taken for a hook


def _serving(git: Git, address: Address) -> list[str]:
    return [f"--receive-pack={git.serving_command('receive-pack')}"] if address.path is not None else []


def _outcome(result: GitResult, refspec: str, secret: Secret | None) -> PushOutcome:
    """What git reported for the one ref, by its documented flags; no report at all is a refusal."""
    report = result.stdout.decode("utf-8", "replace")
    if secret is not None:
        report = secret.redactor().scrub(report)
    for line in report.splitlines():
        flag, _, rest = line.partition("\t")
        named, _, summary = rest.partition("\t")
        if named != refspec:
            continue
        if result.ok and flag in (" ", "*"):
            return PushOutcome(PushStatus.PUSHED, visible(summary))
        if result.ok and flag == "=":
            return PushOutcome(PushStatus.UP_TO_DATE, visible(summary))
        return PushOutcome(PushStatus.REFUSED, _reason(summary, result))
    return PushOutcome(PushStatus.REFUSED, _reason("", result))


def _reason(summary: str, result: GitResult) -> str:
    """Git's summary, and what the remote's programs said."""
    if result.timed_out:
        return "the push took longer than its limit"
    said = [line for line in result.stderr.splitlines() if line.startswith("remote:")]
    first = summary or one_line(result.stderr) or f"git ended with {result.exit}"
    return "\n".join(visible(line.rstrip()) for line in (first, *said))[:_MAX_REASON_CHARACTERS]
