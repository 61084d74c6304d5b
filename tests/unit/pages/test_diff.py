"""A patch as a page shows it: what is said of each file, and that no content passes for a file's head."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.pages.diff import Diff, DiffFile, read_diff
from runner.pages.untrusted import inline, untrusted


def read(text: str) -> Diff:
    return read_diff(text.encode(), len(text.encode()))


def kinds(file: DiffFile) -> list[str]:
    return [line.kind for line in file.lines]


def test_files_are_told_with_their_kind_and_their_lines_counted() -> None:
    made = read(
        "diff --git a/a.js b/a.js\nindex 1..2 100644\n--- a/a.js\n+++ b/a.js\n"
        "@@ -1,2 +1,3 @@ f\n same\n-old\n+new\n+more\n"
        "diff --git a/b.js b/b.js\ndeleted file mode 100644\n--- a/b.js\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        "diff --git a/c b/c\nnew file mode 100755\n--- /dev/null\n+++ b/c\n"
        "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )
    assert [(f.path, f.kind, f.added, f.removed) for f in made.files] == [
        (untrusted("a.js"), "changed", 2, 1),
        (untrusted("b.js"), "deleted", 0, 1),
        (untrusted("c"), "created", 1, 0),
    ]
    assert kinds(made.files[0]) == ["hunk", "same", "removed", "added", "added"]
    assert kinds(made.files[2]) == ["hunk", "added", "note"] and made.files[2].notes == [untrusted("mode 100755")]


def test_lines_are_numbered_as_in_the_file_before_and_after() -> None:
    (file,) = read("diff --git a/a b/a\n@@ -10,3 +20,3 @@ f\n same\n-old\n+new\n same\n@@ -99 +0,0 @@\n-x\n").files
    assert [(line.old, line.new) for line in file.lines] == [
        (None, None),
        (10, 20),
        (11, None),
        (None, 21),
        (12, 22),
        (None, None),
        (99, None),
    ]


def test_removed_lines_that_read_like_heads_stay_lines() -> None:
    made = read(
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,1 @@\n"
        "--- a/other\n-diff --git a/x b/x\n-@@ -1 +1 @@\n+++ b/other\n"
    )
    assert len(made.files) == 1 and (made.files[0].added, made.files[0].removed) == (1, 3)


def test_quoted_names_and_binary_files_and_changed_modes_are_told() -> None:
    made = read(
        'diff --git "a/t\\tb" "b/t\\tb"\nold mode 100644\nnew mode 100755\n'
        "diff --git a/i.png b/i.png\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZQz\n"
    )
    assert [inline(f.path) for f in made.files] == ["<bdi>t\\tb</bdi>", "<bdi>i.png</bdi>"]
    assert made.files[0].notes == [untrusted("old mode 100644"), untrusted("new mode 100755")]
    assert made.files[1].binary and not made.files[1].lines


def test_what_is_beyond_the_bounds_is_counted() -> None:
    lines = "+x\n" * 2000
    made = read(f"diff --git a/a b/a\n@@ -0,0 +1,2000 @@\n{lines}" + "diff --git a/n b/n\n" * 400)
    assert (made.files[0].added, made.files[0].cut) == (2000, 501)
    assert (len(made.files), made.unlisted) == (300, 101)
    assert read_diff(b"diff --git a/a b/a\n", 5000).unread_bytes == 5000 - 19


@given(st.binary(max_size=400) | st.text(alphabet="@-+ 0123456789,di f\\git\n", max_size=200).map(str.encode))
def test_no_bytes_make_it_fail(patch: bytes) -> None:
    read_diff(b"diff --git a/a b/a\n" + patch, len(patch) + 19)
