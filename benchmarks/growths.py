"""What must not cost more than its work: the lines of the table of growth, and the sizes that each is looked at."""

from __future__ import annotations

from benchmarks.growth import Growth

__all__ = ["AUDIT", "FILE", "GROWTHS", "OUTPUT", "QUICK_AUDIT", "QUICK_FILE", "QUICK_OUTPUT", "QUICK_TREE", "TREE"]

TREE, QUICK_TREE = (1_000, 10_000, 50_000), (250, 1_000, 4_000)
FILE, QUICK_FILE = (1_000, 100_000, 1_000_000, 10_000_000, 50_000_000), (1_000, 100_000, 1_000_000, 4_000_000)
OUTPUT, QUICK_OUTPUT = (1_000, 100_000, 1_000_000, 10_000_000, 100_000_000), (1_000, 100_000, 1_000_000, 4_000_000)
AUDIT, QUICK_AUDIT = (10, 100, 1_000, 10_000, 100_000), (10, 100, 1_000)


def _tree(figure: str, name: str, how: str) -> Growth:
    return Growth(figure, "files", "growing_tree", name, TREE, QUICK_TREE, how)


def _file(figure: str, name: str, how: str) -> Growth:
    return Growth(figure, "bytes", "growing_files", name, FILE, QUICK_FILE, how)


def _audit(figure: str, name: str, how: str) -> Growth:
    return Growth(figure, "calls", "growing_audit", name, AUDIT, QUICK_AUDIT, how)


GROWTHS = (
    _tree("list_dir, by files of the tree", "list", "The root, which has a folder for each 50 files."),
    _tree("search, by files of the tree", "search", "The tool call; 20 files of the tree hold the text."),
    _tree("run_command, by files of the tree", "command", "`git --version` with the scan after it."),
    _tree("baseline, by files of the tree", "baseline", "A scan that lists every file, and the ledger made of it."),
    _file("write_file, by bytes", "write", "The tool call; 50 MB is near the limit of the file tools, 50 MiB."),
    _file("read_file, by bytes", "read", "The tool call, whole file."),
    _file("run_command over a file, by its bytes", "hash", "`git hash-object`, as for files above the tools' limit."),
    Growth("run_command, by bytes of its output", "bytes", "growing_output", "output", OUTPUT, QUICK_OUTPUT,
           "A program of node that prints; 2 MiB are kept, the rest is counted and dropped."),
    _audit("audit log written, by calls", "append", "Three lines a call, each flushed, and the file put on the disk."),
    _audit("audit log verified, by calls", "verify", "The verifier over that file: form, chain, and the run in short."),
)  # fmt: skip
"""All growths. Those of one measure are looked at in the same sizes."""
