"""Repositories whose own configuration, hooks and layout attack who reads them where they lie."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.hostile_site import CLEAN, OUTSIDE, SPECIAL_FILE, UNAVAILABLE, Flaw, Site
from tests.support.repos import explode, git

__all__ = ["CONFIG_FLAWS"]

HOOKS = (
    "applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change "
    "post-merge post-receive post-rewrite post-update post-upload-pack pre-applypatch pre-auto-gc pre-commit "
    "pre-merge-commit pre-push pre-rebase pre-receive pre-upload-pack prepare-commit-msg proc-receive "
    "push-to-checkout reference-transaction sendemail-validate update"
).split()


def hooks_of_every_name(site: Site) -> None:
    for hook in HOOKS:
        site.trap.program(site.repository / "hooks" / hook, hook)


def hooks_that_are_links(site: Site) -> None:
    program = site.trap.program(site.outside / "program", "linked-hook")
    (site.repository / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        (site.repository / "hooks" / hook).unlink(missing_ok=True)
        (site.repository / "hooks" / hook).symlink_to(program)


def config_names_a_hooks_folder(site: Site) -> None:
    for hook in HOOKS:
        site.trap.program(site.outside / "hooks" / hook, hook)
    site.configure_key("core.hooksPath", value=str(site.outside / "hooks"))


def config_names_a_file_system_monitor(site: Site) -> None:
    site.configure_key("core.fsmonitor", value=site.trap.program(site.outside / "program", "fsmonitor"))


def config_names_programs_of_the_transport(site: Site) -> None:
    program = site.trap.program(site.outside / "program", "transport")
    site.configure_key("core.sshCommand", "core.gitProxy", "core.askPass", "credential.helper", value=program)
    site.configure_key("remote.origin.uploadpack", "remote.origin.receivepack", value=program)


def config_names_programs_as_shell_text(site: Site) -> None:
    text = site.trap.shell("shell-text")
    site.configure_key("core.sshCommand", "core.fsmonitor", "core.alternateRefsCommand", "core.pager", value=text)
    site.configure_key("credential.helper", value="!" + text)


def config_names_a_hook_of_upload_pack(site: Site) -> None:
    site.configure_key(
        "uploadpack.packObjectsHook", value=site.trap.program(site.outside / "program", "pack-objects-hook")
    )


def config_names_editors_pagers_and_signers(site: Site) -> None:
    program = site.trap.program(site.outside / "program", "people's-programs")
    keys = "core.editor core.pager sequence.editor diff.external interactive.diffFilter gpg.program gpg.ssh.program"
    site.configure_key(*keys.split(), "gpg.x509.program", "man.viewer", "browser.x.cmd", value=program)


def config_includes_other_files(site: Site) -> None:
    program = site.trap.program(site.outside / "program", "included")
    (site.outside / "extra").write_text(f"[core]\n\tfsmonitor = {program}\n\thooksPath = {site.outside}\n")
    site.configure_key("include.path", "includeIf.gitdir:/**.path", value=str(site.outside / "extra"))
    site.configure_key("includeIf.hasconfig:remote.*.url:**.path", value=str(site.outside / "extra"))


def config_includes_itself(site: Site) -> None:
    site.configure_key("include.path", value=str(site.repository / "config"))


def config_aliases_every_command(site: Site) -> None:
    for verb in "upload-pack receive-pack pack-objects rev-list index-pack fetch fsck gc maintenance".split():
        site.configure_key(f"alias.{verb}", value="!" + site.trap.shell("alias"))


def config_rewrites_every_address(site: Site) -> None:
    site.configure_key("protocol.allow", "protocol.ext.allow", value="always")
    for address in (f"ext::sh -c {site.trap.shell('ext')}", f"https://{site.trap.evil.host}/"):
        for before in ("file://", "https://", "/"):
            site.configure_key(f"url.{address}.insteadOf", f"url.{address}.pushInsteadOf", value=before)


def config_sends_requests_through_a_proxy(site: Site) -> None:
    proxy = f"http://{site.trap.evil.host}"
    site.configure_key("http.proxy", "http.https://x.proxy", "remote.origin.proxy", value=proxy)
    site.configure_key("http.sslVerify", value="false")


def config_names_a_remote_helper(site: Site) -> None:
    site.trap.program(site.outside / "git-remote-evil", "remote-helper")
    site.configure_key("remote.origin.vcs", value="evil")
    site.configure_key("remote.origin.url", value=f"evil::{site.outside}")


def config_and_attributes_name_drivers(site: Site) -> None:
    program = site.trap.program(site.outside / "program", "driver")
    keys = "filter.x.clean filter.x.smudge filter.x.process diff.x.command diff.x.textconv merge.x.driver"
    site.configure_key(*keys.split(), "core.attributesFile", value=program)
    (site.repository / "info").mkdir(exist_ok=True)
    (site.repository / "info" / "attributes").write_text("* filter=x diff=x merge=x\n")


def config_names_a_work_tree_elsewhere(site: Site) -> None:
    site.configure_key("core.bare", value="false")
    site.configure_key("core.worktree", value="/etc")


def config_runs_a_daemon(site: Site) -> None:
    """A file system monitor that is git's own: a process that would stay behind on this host."""
    site.configure_key("core.bare", value="false")
    site.configure_key("core.fsmonitor", "core.untrackedCache", "maintenance.auto", value="true")


def config_promises_objects_from_a_program(site: Site) -> None:
    """A partial clone whose missing object would be fetched by a program of its choice."""
    blob = git(site.repository, "rev-parse", "main:a")
    explode(site.repository)
    (site.repository / "objects" / blob[:2] / blob[2:]).unlink()
    site.configure_key("core.repositoryFormatVersion", value="1")
    site.configure_key("extensions.partialClone", value="origin")
    site.configure_key("remote.origin.url", value="file:///")
    site.configure_key("remote.origin.promisor", value="true")
    site.configure_key("remote.origin.uploadpack", value=site.trap.program(site.outside / "program", "lazy-fetch"))


def config_points_to_packs_elsewhere(site: Site) -> None:
    """A server may tell a client to get a part of its pack from an address of its choice."""
    blob = git(site.repository, "rev-parse", "main:a")
    address = f"https://{site.trap.evil.host}/x.pack"
    site.configure_key("uploadpack.blobPackfileUri", value=f"{blob} {'1' * 40} {address}")
    site.configure_key("uploadpack.advertiseBundleURIs", value="true")
    site.configure_key("bundle.version", value="1")
    site.configure_key("bundle.mode", value="all")
    site.configure_key("bundle.one.uri", value=address)


def config_asks_for_a_format_that_nobody_knows(site: Site) -> None:
    site.configure_key("core.repositoryFormatVersion", value="999")


def config_is_garbage(site: Site) -> None:
    (site.repository / "config").write_bytes(b"\xff\xfe[core\0" * 1000)


def config_is_a_pipe(site: Site) -> None:
    """Whoever opens it waits for ever."""
    (site.repository / "config").unlink()
    os.mkfifo(site.repository / "config")


def a_ref_is_a_pipe(site: Site) -> None:
    (site.repository / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    os.mkfifo(site.repository / "refs" / "heads" / "pipe")


def a_ref_is_a_link_out_of_the_repository(site: Site) -> None:
    (site.repository / "refs" / "heads" / "passwd").symlink_to("/etc/passwd")


def refs_are_a_link_to_another_folder(site: Site) -> None:
    (site.repository / "refs" / "heads" / "etc").symlink_to("/etc")


def packed_refs_are_a_link_to_a_file_of_the_host(site: Site) -> None:
    (site.repository / "packed-refs").unlink(missing_ok=True)
    (site.repository / "packed-refs").symlink_to("/etc/passwd")


def head_is_a_link_to_a_file_of_the_host(site: Site) -> None:
    (site.repository / "HEAD").unlink()
    (site.repository / "HEAD").symlink_to("/etc/passwd")


def gitfile_points_to_another_repository(site: Site) -> None:
    """The folder that was named holds no repository, but the address of one with hooks and configuration."""
    inner = site.outside / "inner.git"
    site.repository.rename(inner)
    site.repository.mkdir()
    (site.repository / ".git").write_text(f"gitdir: {inner}\n")
    moved = Site(inner, site.outside, site.trap)
    hooks_of_every_name(moved)
    config_names_programs_as_shell_text(moved)


def gitfile_points_at_itself(site: Site) -> None:
    site.repository.rename(site.outside / "gone.git")
    site.repository.mkdir()
    (site.repository / ".git").write_text("gitdir: .git\n")


def commondir_points_to_another_repository(site: Site) -> None:
    other = Site(site.make_somebody_elses(), site.outside, site.trap)
    config_names_programs_as_shell_text(other)
    (site.repository / "commondir").write_text(f"{other.repository}\n")


def alternates_command_lists_refs(site: Site) -> None:
    _lend(site.repository, site.make_somebody_elses() / "objects")
    site.configure_key("core.alternateRefsCommand", value=site.trap.program(site.outside / "program", "alternate-refs"))


def alternates_go_round(site: Site) -> None:
    _lend(site.repository, site.repository / "objects")


def alternates_name_a_pipe(site: Site) -> None:
    os.mkfifo(site.outside / "pipe")
    _lend(site.repository, site.outside / "pipe")


def alternates_name_devices_and_remote_places(site: Site) -> None:
    address = f"https://{site.trap.evil.host}/objects"
    _lend(site.repository, Path("/dev/zero"))
    (site.repository / "objects" / "info" / "http-alternates").write_text(f"{address}\n")


def _lend(repository: Path, objects: Path) -> None:
    (repository / "objects" / "info").mkdir(exist_ok=True)
    (repository / "objects" / "info" / "alternates").write_text(f"{objects}\n")


CONFIG_FLAWS = (
    Flaw(hooks_of_every_name, CLEAN, None),
    Flaw(hooks_that_are_links, CLEAN, None),
    Flaw(config_names_a_hooks_folder, CLEAN, None),
    Flaw(config_names_a_file_system_monitor, CLEAN, None),
    Flaw(config_names_programs_of_the_transport, CLEAN, None),
    Flaw(config_names_programs_as_shell_text, CLEAN, None),
    Flaw(config_names_a_hook_of_upload_pack, CLEAN, CLEAN),
    Flaw(config_names_editors_pagers_and_signers, CLEAN, None),
    Flaw(config_includes_other_files, CLEAN, None),
    Flaw(config_includes_itself, UNAVAILABLE, CLEAN),
    Flaw(config_aliases_every_command, CLEAN, None),
    Flaw(config_rewrites_every_address, CLEAN, None),
    Flaw(config_sends_requests_through_a_proxy, CLEAN, None),
    Flaw(config_names_a_remote_helper, CLEAN, None),
    Flaw(config_and_attributes_name_drivers, CLEAN, None),
    Flaw(config_names_a_work_tree_elsewhere, CLEAN, None),
    Flaw(config_runs_a_daemon, CLEAN, None),
    Flaw(config_promises_objects_from_a_program, UNAVAILABLE, None),
    Flaw(config_points_to_packs_elsewhere, CLEAN, CLEAN),
    Flaw(config_asks_for_a_format_that_nobody_knows, UNAVAILABLE, None),
    Flaw(config_is_garbage, UNAVAILABLE, None),
    Flaw(config_is_a_pipe, SPECIAL_FILE, None, seconds=2),
    Flaw(a_ref_is_a_pipe, SPECIAL_FILE, None, seconds=2),
    Flaw(a_ref_is_a_link_out_of_the_repository, UNAVAILABLE, None),
    Flaw(refs_are_a_link_to_another_folder, UNAVAILABLE, None),
    Flaw(packed_refs_are_a_link_to_a_file_of_the_host, OUTSIDE, None),
    Flaw(head_is_a_link_to_a_file_of_the_host, OUTSIDE, None),
    Flaw(gitfile_points_to_another_repository, OUTSIDE, None),
    Flaw(gitfile_points_at_itself, UNAVAILABLE, None),
    Flaw(commondir_points_to_another_repository, OUTSIDE, None),
    Flaw(alternates_command_lists_refs, OUTSIDE, None),
    Flaw(alternates_go_round, CLEAN, None),
    Flaw(alternates_name_a_pipe, OUTSIDE, None, seconds=2),
    Flaw(alternates_name_devices_and_remote_places, OUTSIDE, None),
)
"""Over https a server obeys the configuration itself, so these are met where the repository is read in place."""
