"""A helper that lies, for a real container: the image's own does the work behind it until the host asks for a path that
names the lie, or for an operation that it was told to refuse.

Its source is given to the container's Python as an argument, so that no image has to be made for it.
"""

from __future__ import annotations

__all__ = ["LIES", "lying_helper", "path_of", "refusing_helper"]

_SOURCE = r"""
import json, os, struct, subprocess, sys, threading

def frame(head, body=b""):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("!II", len(text), len(body)) + text + body

def forever(data):
    while True:
        yield data

def lie(name, i):
    data, ok = {"id": i, "kind": "data"}, {"id": i, "kind": "ok", "size": 1, "mode": 420}
    return {
        "cut off": [frame(ok, b"x")[:-5]],
        "nothing": [],
        "head over its bound": [struct.pack("!II", 1 << 17, 0), b"x" * 1000],
        "body over its bound": [struct.pack("!II", 2, 1 << 31), b"{}"],
        "an answer of the last request": [frame({**ok, "id": i - 1}, b"x")],
        "an answer of the next request": [frame({**ok, "id": i + 1}, b"x")],
        "the end before the middle": [frame({"id": i, "kind": "out", "stream": 1}, b"x"), frame(ok, b"x")],
        "input wanted": [frame({"id": i, "kind": "want", "pieces": 1 << 40})],
        "deep JSON": [frame(b'{"id":' + b"[" * 60000)],
        "no JSON": [frame(b"\xff\xfe" * 100)],
        "a number without end": [frame(b'{"id":' + b"9" * 60000 + b"}")],
        "a key twice": [frame(b'{"id":1,"id":%d,"kind":"ok"}' % i)],
        "content without end": forever(frame(data, b"x" * (1 << 20))),
        "bytes without end": forever(b"x" * (1 << 16)),
        "zeros without end": forever(b"\0" * (1 << 16)),
        "empty pieces without end": forever(frame(data)),
        "a shell's escape": [b"\x1b]0;owned\x07\x1b[2J" * 100],
    }[name]

def read(source, size):
    data = b""
    while len(data) < size:
        data += os.read(source, size - len(data)) or sys.exit()
    return data

def tell(pieces):
    for piece in pieces:
        while piece:
            piece = piece[os.write(1, piece):]

def back(source):
    while data := os.read(source, 65536):
        tell([data])

words = ["/usr/bin/python3", "-I", "-S", "/opt/runner/helper.pyc", sys.argv[-1]]
real = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
threading.Thread(target=back, args=(real.stdout.fileno(),), daemon=True).start()
refused, passing = sys.argv[1], int(sys.argv[2])
while True:
    lengths = read(0, 8)
    sizes = struct.unpack("!II", lengths)
    rest = read(0, sum(sizes))
    head = json.loads(rest[:sizes[0]])
    path = str(head.get("path", ""))
    if path.startswith("LIE "):
        try:
            tell(lie(path[4:], head["id"]))
        finally:
            os._exit(0)
    if head.get("op") == refused:
        passing -= 1
        if passing < 0:
            told = {"id": head["id"], "kind": "fault", "fault": "denied", "detail": "forged", "size": None}
            tell([frame(told)])
            continue
    real.stdin.write(lengths + rest)
"""

LIES = (
    "cut off",
    "nothing",
    "head over its bound",
    "body over its bound",
    "an answer of the last request",
    "an answer of the next request",
    "the end before the middle",
    "input wanted",
    "deep JSON",
    "no JSON",
    "a number without end",
    "a key twice",
    "content without end",
    "bytes without end",
    "zeros without end",
    "empty pieces without end",
    "a shell's escape",
)


def lying_helper() -> tuple[str, ...]:
    """The command line of the helper, before the words that the engine adds to it."""
    return refusing_helper("nothing")


def refusing_helper(op: str, passing: int = 0) -> tuple[str, ...]:
    """The same of one that also refuses the operation, but for its first `passing` times."""
    return ("/usr/bin/python3", "-I", "-S", "-c", _SOURCE, op, str(passing))


def path_of(lie: str) -> str:
    """Asked for this path, it tells the lie and ends."""
    return f"LIE {lie}"
