"""Repositories whose commits, tags and refs are malformed, borrowed, or shaped to be misread."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from tests.support.hostile_site import CLEAN, OBJECTS, OUTSIDE, UNAVAILABLE, Flaw, Site
from tests.support.pack_format import TAG, entry, pack
from tests.support.repos import git, raw_commit, raw_object, raw_tree

__all__ = ["HISTORY_FLAWS"]

_ADA = b"Ada <ada@example.com> 1700000000 +0000"
_LONG = 20 << 20
_CHAIN = 2_000


def _commit(function: str, make: Callable[[bytes], bytes]) -> Callable[[Site], None]:
    """A flaw that is called `function`: a branch whose commit is what `make` makes of the name of a good tree."""

    def arm(site: Site) -> None:
        tree = git(site.repository, "rev-parse", "main^{tree}").encode()
        site.ref("refs/heads/bad", raw_object(site.repository, "commit", make(tree)))

    arm.__name__ = function
    return arm


def _lines(tree: bytes, *lines: bytes) -> bytes:
    return b"\n".join([b"tree " + tree, *lines, b"", b"text", b""])


def _good(tree: bytes, *more: bytes) -> bytes:
    return _lines(tree, b"author " + _ADA, b"committer " + _ADA, *more)


def commit_whose_parent_is_a_tree(site: Site) -> None:
    tree = git(site.repository, "rev-parse", "main^{tree}")
    raw_commit(site.repository, tree, [tree], branch="bad")


def commit_whose_tree_is_a_commit(site: Site) -> None:
    raw_commit(site.repository, git(site.repository, "rev-parse", "main"), branch="bad")


def commit_whose_tree_is_missing(site: Site) -> None:
    raw_commit(site.repository, "1" * 40, branch="bad")


def commit_whose_parent_is_missing(site: Site) -> None:
    raw_commit(site.repository, git(site.repository, "rev-parse", "main^{tree}"), ["1" * 40], branch="bad")


def commit_with_a_thousand_parents(site: Site) -> None:
    tree = git(site.repository, "rev-parse", "main^{tree}")
    main = git(site.repository, "rev-parse", "main")
    raw_commit(site.repository, tree, [main] * 1000, branch="bad")


def tag_without_a_tagger(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    site.ref(
        "refs/tags/bad", raw_object(site.repository, "tag", f"object {main}\ntype commit\ntag bad\n\nx\n".encode())
    )


def tag_that_lies_about_its_type(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    text = f"object {main}\ntype blob\ntag bad\ntagger ".encode() + _ADA + b"\n\nx\n"
    site.ref("refs/tags/bad", raw_object(site.repository, "tag", text))


def tag_with_another_name_inside(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    text = f"object {main}\ntype commit\ntag --upload-pack=x\ntagger ".encode() + _ADA + b"\n\nx\n"
    site.ref("refs/tags/bad", raw_object(site.repository, "tag", text))


def tag_of_a_tag_two_thousand_times(site: Site) -> None:
    target, kind, entries = git(site.repository, "rev-parse", "main"), "commit", []
    for _ in range(_CHAIN):
        text = f"object {target}\ntype {kind}\ntag t\ntagger ".encode() + _ADA + b"\n\n"
        target, kind = hashlib.sha1(b"tag %d\0" % len(text) + text, usedforsecurity=False).hexdigest(), "tag"
        entries.append(entry(TAG, text))
    git(site.repository, "index-pack", "--stdin", stdin=pack(entries))
    site.ref("refs/tags/t", target)


def tag_of_an_object_that_is_missing(site: Site) -> None:
    text = f"object {'1' * 40}\ntype commit\ntag bad\ntagger ".encode() + _ADA + b"\n\nx\n"
    site.ref("refs/tags/bad", raw_object(site.repository, "tag", text))


def branch_that_is_a_file(site: Site) -> None:
    site.ref("refs/heads/bad", git(site.repository, "rev-parse", "main:a"))


def ref_names_shaped_like_options(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    for name in ("-x", "--upload-pack=touch", "--exec=x", "-", "--"):
        site.ref(f"refs/heads/{name}", main)


def ref_names_with_control_characters(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    for name in ("a\x1b[31m", "a\nb", "a\tb", "a b", "a\x7f"):
        site.ref(f"refs/heads/{name}", main)


def ref_names_that_are_read_backwards(site: Site) -> None:
    site.ref("refs/heads/\u202eniam", git(site.repository, "rev-parse", "main"))


def packed_ref_names_that_climb(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    names = (
        "refs/heads/../../config",
        "refs/heads/a..b",
        "refs/heads/x.lock",
        "refs/heads/a//b",
        "/etc/passwd",
        "config",
    )
    lines = "".join(f"{main} {name}\n" for name in names)
    (site.repository / "packed-refs").write_text(f"# pack-refs with: peeled\n{lines}{main} refs/heads/main\n")


def ref_names_that_are_refspecs(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    for name in ("+refs", "@", "HEAD", "refs/heads/main", "FETCH_HEAD", "{a,b}"):
        site.ref(f"refs/heads/{name}", main)


def ref_names_that_are_object_names(site: Site) -> None:
    site.ref(f"refs/heads/{git(site.repository, 'rev-parse', 'main')}", git(site.repository, "rev-parse", "main~1"))


def ref_that_points_at_itself(site: Site) -> None:
    site.ref("refs/heads/loop", "ref: refs/heads/loop")


def ref_that_points_out_of_the_refs(site: Site) -> None:
    site.ref("refs/heads/out", "ref: ../../../../etc/passwd")


def ref_that_is_garbage(site: Site) -> None:
    site.ref("refs/heads/bad", "\x00" * 4096)


def ref_to_nothing(site: Site) -> None:
    site.ref("refs/heads/bad", "1" * 40)


def head_that_climbs(site: Site) -> None:
    (site.repository / "HEAD").write_text("ref: refs/heads/../../config\n")


def head_shaped_like_an_option(site: Site) -> None:
    (site.repository / "HEAD").write_text("ref: refs/heads/--upload-pack=touch\n")


def two_thousand_branches(site: Site) -> None:
    main = git(site.repository, "rev-parse", "main")
    lines = "".join(f"{main} refs/heads/b{number:05}\n" for number in range(2_000))
    (site.repository / "packed-refs").write_text(
        f"# pack-refs with: peeled fully-peeled sorted \n{lines}{main} refs/heads/main\n"
    )


def replacement_of_the_default_branch(site: Site) -> None:
    other = raw_commit(site.repository, raw_tree(site.repository, []))
    site.ref(f"refs/replace/{git(site.repository, 'rev-parse', 'main')}", other)


def graft_that_cuts_the_history(site: Site) -> None:
    _info(site, "grafts").write_text(git(site.repository, "rev-parse", "main") + "\n")


def graft_that_invents_a_history(site: Site) -> None:
    _info(site, "grafts").write_text(git(site.repository, "rev-parse", "main") + f" {'1' * 40}\n")


def shallow_file_that_cuts_the_history(site: Site) -> None:
    (site.repository / "shallow").write_text(git(site.repository, "rev-parse", "main") + "\n")


def alternates_lend_a_repository_of_somebody_else(site: Site) -> None:
    """A branch points at a commit that only another repository of this host has."""
    secret = site.make_somebody_elses()
    _info(site, "alternates", "objects/info").write_text(f"{secret}/objects\n")
    site.ref("refs/heads/bad", git(secret, "rev-parse", "main"))


def objects_are_a_link_to_a_repository_of_somebody_else(site: Site) -> None:
    secret = site.make_somebody_elses()
    (site.repository / "objects").rename(site.outside / "objects")
    (site.repository / "objects").symlink_to(secret / "objects")
    site.ref("refs/heads/main", git(secret, "rev-parse", "main"))


def _info(site: Site, name: str, folder: str = "info") -> Path:
    (site.repository / folder).mkdir(parents=True, exist_ok=True)
    return site.repository / folder / name


HISTORY_FLAWS = (
    Flaw(_commit("commit_with_nul_in_its_text", lambda t: _good(t) + b"a\0b\n"), OBJECTS, OBJECTS),
    Flaw(
        _commit("commit_with_nul_in_its_head", lambda t: _lines(t, b"author A\0" + _ADA, b"committer " + _ADA)),
        OBJECTS,
        OBJECTS,
    ),
    Flaw(_commit("commit_with_a_head_of_20_mebibytes", lambda t: _good(t, b"x " + b"h" * _LONG)), CLEAN, CLEAN),
    Flaw(
        _commit("commit_with_a_signature_of_20_mebibytes", lambda t: _good(t, b"gpgsig " + b"\n h" * (_LONG // 3))),
        CLEAN,
        CLEAN,
    ),
    Flaw(_commit("commit_without_an_author", lambda t: _lines(t, b"committer " + _ADA)), OBJECTS, OBJECTS),
    Flaw(_commit("commit_without_a_committer", lambda t: _lines(t, b"author " + _ADA)), OBJECTS, OBJECTS),
    Flaw(
        _commit("commit_with_two_authors", lambda t: _good(t).replace(b"author", b"author " + _ADA + b"\nauthor", 1)),
        OBJECTS,
        OBJECTS,
    ),
    Flaw(_commit("commit_with_two_trees", lambda t: b"tree " + t + b"\n" + _good(t)), OBJECTS, OBJECTS),
    Flaw(
        _commit("commit_of_another_millennium", lambda t: _good(t).replace(b"1700000000", b"99999999999999999999")),
        OBJECTS,
        OBJECTS,
    ),
    Flaw(
        _commit(
            "commit_with_an_author_that_a_terminal_acts_on", lambda t: _good(t).replace(b"Ada", b"\x1b]0;x\x07\xff")
        ),
        CLEAN,
        CLEAN,
    ),
    Flaw(_commit("commit_with_a_tree_that_is_no_name", lambda t: _good(b"z" * 40)), UNAVAILABLE, UNAVAILABLE),
    Flaw(_commit("commit_that_is_empty", lambda _: b""), UNAVAILABLE, UNAVAILABLE),
    Flaw(commit_whose_parent_is_a_tree, UNAVAILABLE, UNAVAILABLE),
    Flaw(commit_whose_tree_is_a_commit, UNAVAILABLE, UNAVAILABLE),
    Flaw(commit_whose_tree_is_missing, UNAVAILABLE, UNAVAILABLE),
    Flaw(commit_whose_parent_is_missing, UNAVAILABLE, UNAVAILABLE),
    Flaw(commit_with_a_thousand_parents, CLEAN, CLEAN),
    Flaw(tag_without_a_tagger, CLEAN, CLEAN),
    Flaw(tag_that_lies_about_its_type, UNAVAILABLE, UNAVAILABLE),
    Flaw(tag_with_another_name_inside, CLEAN, CLEAN),
    Flaw(tag_of_a_tag_two_thousand_times, CLEAN, CLEAN),
    Flaw(tag_of_an_object_that_is_missing, UNAVAILABLE, UNAVAILABLE),
    Flaw(branch_that_is_a_file, UNAVAILABLE, UNAVAILABLE),
    Flaw(ref_names_shaped_like_options, CLEAN, CLEAN),
    Flaw(ref_names_with_control_characters, UNAVAILABLE, UNAVAILABLE),
    Flaw(ref_names_that_are_read_backwards, CLEAN, CLEAN),
    Flaw(packed_ref_names_that_climb, UNAVAILABLE, UNAVAILABLE),
    Flaw(ref_names_that_are_refspecs, CLEAN, CLEAN),
    Flaw(ref_names_that_are_object_names, CLEAN, CLEAN),
    Flaw(ref_that_points_at_itself, CLEAN, CLEAN),
    Flaw(ref_that_points_out_of_the_refs, CLEAN, CLEAN),
    Flaw(ref_that_is_garbage, UNAVAILABLE, UNAVAILABLE),
    Flaw(ref_to_nothing, UNAVAILABLE, UNAVAILABLE),
    Flaw(head_that_climbs, "ref_not_found", "ref_not_found"),
    Flaw(head_shaped_like_an_option, "ref_not_found", "ref_not_found"),
    Flaw(two_thousand_branches, CLEAN, CLEAN),
    Flaw(replacement_of_the_default_branch, CLEAN, CLEAN),
    Flaw(graft_that_cuts_the_history, OBJECTS, OBJECTS),
    Flaw(graft_that_invents_a_history, UNAVAILABLE, UNAVAILABLE),
    Flaw(shallow_file_that_cuts_the_history, "repository_shallow", "repository_shallow"),
    Flaw(alternates_lend_a_repository_of_somebody_else, OUTSIDE, None),
    Flaw(objects_are_a_link_to_a_repository_of_somebody_else, OUTSIDE, None),
)
