"""Every hostile repository of the corpus, fetched through the gate: from a folder of this host, and from a code host.

Whatever comes of it, no program was started on this host or elsewhere, and nobody called where an attacker listens.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gate.credentials import CredentialKind, CredentialSource
from runner.gate.fetch import Fetched, FetchLimits, fetch
from runner.gate.push import push
from runner.model.errors import ErrorCode, RepositoryUnavailable, ToolError
from tests.support.evil_listener import EvilListener
from tests.support.gate import Gate, address_of
from tests.support.hostile_config import CONFIG_FLAWS
from tests.support.hostile_repos import BORROWED, CLEAN, FLAWS, Flaw, Site, hostile_site
from tests.support.repos import git, tree_digest
from tests.support.services import CodeHostHttps

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

NAMES = {flaw.name: flaw for flaw in FLAWS}
LOCAL = [name for name, flaw in NAMES.items() if flaw.local is not None]
PUSHED = [flaw.name for flaw in CONFIG_FLAWS if flaw.local in (CLEAN, BORROWED)]
SERVED = [name for name, flaw in NAMES.items() if flaw.served is not None]


@pytest.fixture
def site(tmp_path: Path, evil: EvilListener) -> Site:
    return hostile_site(tmp_path / "hostile", tmp_path / "marks", evil)


def outcome(
    gate: Gate, where: Path | str, site: Site, flaw: Flaw, credential: CredentialSource | None = None
) -> tuple[str, Fetched | None]:
    """What the corpus calls it, and what was fetched."""
    try:
        limits = FetchLimits(seconds=flaw.seconds)
        fetched = fetch(gate.git, address_of(where), None, gate.mirrors, credential=credential, limits=limits)
    except RepositoryUnavailable as refused:
        assert (refused.message + refused.hint).isprintable()
        return refused.code, None
    return (BORROWED if has_somebody_elses(site, fetched) else CLEAN), fetched


def has_somebody_elses(site: Site, fetched: Fetched) -> bool:
    """Whether the commit of the other repository has come along."""
    if not site.somebody_elses.exists():
        return False
    objects = git(fetched.mirror, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").splitlines()
    return git(site.somebody_elses, "rev-parse", "main") in objects


def assert_nothing_happened(site: Site) -> None:
    assert site.trap.sprung() == []
    site.trap.evil.assert_untouched()


def assert_nothing_hostile_was_kept(gate: Gate, found: str, fetched: Fetched | None) -> None:
    """A refused repository left no mirror. That of the others holds branches and tags, and no setting or program."""
    if fetched is None:
        # Where only the starting point is missing, all objects were good, and are kept for who names a branch.
        assert gate.kept() == (["repo.git"] if found == "ref_not_found" else [])
        return
    names = git(fetched.mirror, "for-each-ref", "--format=%(refname)").splitlines()
    assert all(name.startswith(("refs/heads/", "refs/tags/")) for name in names)
    assert set(git(fetched.mirror, "config", "--local", "--name-only", "--list").split()) <= {
        "core.repositoryformatversion",
        "core.filemode",
        "core.bare",
    }
    strange = ("hooks", "info/grafts", "info/attributes", "shallow", "objects/info/alternates", "refs/replace")
    assert [name for name in strange if (fetched.mirror / name).exists()] == []


def test_every_flaw_has_a_name_of_its_own() -> None:
    assert len(NAMES) == len(FLAWS)


@pytest.mark.parametrize("name", LOCAL)
def test_a_hostile_folder_acts_on_nobody(gate: Gate, tmp_path: Path, site: Site, name: str) -> None:
    """Asset: the host. Attack: a repository read where it lies. Expected: inert, refused or whole, and unmodified."""
    flaw = NAMES[name]
    flaw.arm(site)
    before = tree_digest(tmp_path / "hostile")
    found, fetched = outcome(gate, site.repository, site, flaw)

    assert_nothing_happened(site)
    assert_nothing_hostile_was_kept(gate, found, fetched)
    assert tree_digest(tmp_path / "hostile") == before
    assert found == flaw.local


@pytest.mark.parametrize("name", SERVED)
def test_a_hostile_server_acts_on_nobody(
    open_gate: Callable[..., Gate], site: Site, session_code_host_https: CodeHostHttps, name: str
) -> None:
    """Asset: the host. Attack: what a code host serves. Expected: inert, refused or whole."""
    flaw = NAMES[name]
    flaw.arm(site)
    host = session_code_host_https  # each repository has a name of its own there, so nothing needs to be cleared
    host.put(site.repository, f"{name}.git")
    gate = open_gate(host.ca_file)
    source = CredentialSource(CredentialKind.ENV, "T", environment={"T": host.token})
    found, fetched = outcome(gate, host.address(f"{name}.git"), site, flaw, source)

    assert_nothing_happened(site)
    assert_nothing_hostile_was_kept(gate, found, fetched)
    assert found == flaw.served


@pytest.mark.parametrize("name", PUSHED)
def test_a_push_to_a_hostile_folder_acts_on_nobody(
    gate: Gate, clone_of: Callable[[Fetched], Path], site: Site, name: str
) -> None:
    """Asset: the host. Attack: who receives a push where it lies. Expected: inert; pushed, or refused with a code."""
    NAMES[name].arm(site)
    fetched = gate.fetch(site.repository)
    clone = clone_of(fetched)
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "more")
    try:
        with gate.take(fetched, clone) as quarantine:
            assert push(gate.git, quarantine, fetched, "agent/x1").pushed
    except ToolError as refused:
        assert refused.code is ErrorCode.GIT_PUSH_FAILED

    assert_nothing_happened(site)


def test_a_trap_that_is_sprung_is_seen_by_its_mark_and_by_the_listener(site: Site) -> None:
    """Without this, a corpus of broken traps would pass too."""
    NAMES["config_names_a_file_system_monitor"].arm(site)
    site.configure_key("core.bare", value="false")
    command = ["git", f"--git-dir={site.repository}", f"--work-tree={site.outside}", "status"]
    subprocess.run(command, capture_output=True, check=False)

    assert site.trap.sprung() == ["fsmonitor"]
    assert bytes(site.trap.evil.wait_for_a_visit().raw) == b"fsmonitor\n"


def test_a_trap_in_shell_text_is_sprung_by_a_shell(site: Site) -> None:
    subprocess.run(["/bin/sh", "-c", site.trap.shell("text") + "more words"], check=True)

    assert site.trap.sprung() == ["text"]
    assert bytes(site.trap.evil.wait_for_a_visit().raw) == b"text\n"
