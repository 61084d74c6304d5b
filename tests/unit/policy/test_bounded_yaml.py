from __future__ import annotations

import time

import pytest

from runner.policy.bounded_yaml import MAX_BYTES, MAX_DEPTH, MAX_LINES, MAX_NODES, YamlRefused, read_yaml


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1", {"a": 1}),
        ("a: off\nb: yes\nc: no\nd: on", {"a": "off", "b": "yes", "c": "no", "d": "on"}),
        ("a: true\nb: false\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: '1'\nb: \"true\"", {"a": "1", "b": "true"}),
        (
            "a: 1.5\nb: 010\nc: 1_000\nd: 0x10\ne: 2024-01-01",
            {"a": 1.5, "b": "010", "c": "1_000", "d": "0x10", "e": "2024-01-01"},
        ),
        ("a: .inf\nb: .nan\nc: 1e999", {"a": ".inf", "b": ".nan", "c": "1e999"}),
        ("a: [x, {y: z}]", {"a": ["x", {"y": "z"}]}),
        ("\ufeffa: 1", {"a": 1}),
        ("on: 1\n2: x", {"on": 1, "2": "x"}),
        ("- a", ["a"]),
        ('{"a": [1, null]}', {"a": [1, None]}),
    ],
)
def test_plain_data_is_read_as_yaml_1_2_reads_it(text: str, data: object) -> None:
    assert read_yaml(text.encode()).data == data


def test_every_value_has_its_line() -> None:
    lines = read_yaml(b"a:\n  - x\n  - y: 1\n    z: 2\n").lines
    assert lines[("a",)] == 1
    assert lines[("a", 0)] == 2
    assert lines[("a", 1, "z")] == 4


BILLION_LAUGHS = "\n".join(["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)])

HOSTILE = {
    "billion laughs": BILLION_LAUGHS,
    "an anchor": "a: &x 1",
    "an alias": "a: *x",
    "a merge": "a: &x {b: 1}\nc:\n  <<: *x",
    "a python object": "a: !!python/object/apply:os.system [id]",
    "a tag": "a: !x 1",
    "a tag on a list": "a: !!set [x]",
    "a standard tag": "a: !!str 1",
    "a directive": "%TAG ! x\n---\na: 1",
    "two documents": "a: 1\n---\nb: 2",
    "nothing": "",
    "only a comment": "# x\n",
    "a key twice": "a: 1\na: 2",
    "a key twice, deep": "a:\n  b: 1\n  'b': 2",
    "a list as a key": "[a]: 1",
    "a mapping as a key": "{a: b}: 1",
    "deep nesting": "[" * 5000,
    "deep blocks": "".join(" " * n + f"k{n}:\n" for n in range(50)),
    "many values": "[" + "1," * 30_000 + "]",
    "a tab": "a:\n\tb: 1",
    "an open quote": 'a: "b',
    "an open brace": "a: {b",
    "a NUL escape": 'a: "\\0"',
    "a lone surrogate": 'a: "\\ud800"',
    "an escape beyond unicode": 'a: "\\UFFFFFFFF"',
    "a control character": "a: \x01",
}


@pytest.mark.parametrize("flaw", HOSTILE)
def test_hostile_yaml_is_refused_quickly_with_a_line(flaw: str) -> None:
    begin = time.process_time()
    with pytest.raises(YamlRefused) as caught:
        read_yaml(HOSTILE[flaw].encode())
    assert caught.value.line >= 1
    assert time.process_time() - begin < 5  # generous: with coverage on a busy core; an expanding bomb never ends


def test_text_that_is_not_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(YamlRefused) as caught:
        read_yaml(b"a: 1\nb: \xff\n")
    assert caught.value.line == 2


@pytest.mark.parametrize("content", [b"- a\n" * 100_000, b"#" * 1_048_577])
def test_what_is_too_big_is_refused_before_it_is_parsed(content: bytes) -> None:
    begin = time.process_time()
    with pytest.raises(YamlRefused):
        read_yaml(content)
    assert time.process_time() - begin < 0.5


REASONS = [
    ("a: 1\nb: &x 1", 2, "an anchor"),
    ("a: 1\nb: *x", 2, "an alias"),
    ("a: 1\nb: [&x y]", 2, "an anchor"),
    ("a: 1\nb: " + "9" * 19, 2, "more than 18 digits"),
    ("a: 1\nb: -" + "9" * 19, 2, "more than 18 digits"),
    ("a: 1\nb: !x 1", 2, "a tag"),
    ("a: 1\n!x b: 1", 2, "a tag"),
    ('a: 1\nb: "\\0"', 2, "a NUL"),
    ('a: 1\n"\\0": 1', 2, "a NUL"),
    ('a: 1\nb: "\\ud800"', 2, "surrogate"),
    ('a: 1\nb: "\\udfff"', 2, "surrogate"),
    ("a: 1\n\na: 2", 3, "'a' twice"),
    ("a: 1\n? [x]\n: 1", 2, "not text"),
    ("a: 1\nb: \x01", 2, "YAML forbids"),
    ("a:\n\tb: 1", 2, "a tab"),
    ('a: 1\nb: "c', 2, "is not YAML: found"),
    ("%YAML 1.1\n---\na: 1", 1, "% directive"),
    ("%TAG ! x\n---\na: 1", 1, "% directive"),
    ("a: 1\n---\nb: 2", 2, "second document"),
    ("", 1, "is empty"),
    ('a: "\\UFFFFFFFF"', 1, "no text can hold"),
    ("\n" * (MAX_LINES + 1), MAX_LINES, "lines"),
    ("#" * (MAX_BYTES + 1), 1, "bytes"),
    ("[" + "1," * (MAX_NODES - 1) + "1]", 1, "values"),
    ("a:\n  " + "[" * MAX_DEPTH + "x" + "]" * MAX_DEPTH, 2, "deep"),
    ("\n".join(" " * depth + f"k{depth}:" for depth in range(MAX_DEPTH + 1)), MAX_DEPTH + 1, "deep"),
]


@pytest.mark.parametrize(("text", "line", "reason"), REASONS, ids=[reason for _, _, reason in REASONS])
def test_a_refusal_has_the_line_and_the_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(YamlRefused, match=reason) as caught:
        read_yaml(text.encode())
    assert (caught.value.line, caught.value.reason) == (line, str(caught.value))


@pytest.mark.parametrize(
    "text",
    [
        "a: 1" + "\n" * MAX_LINES,
        "[" + "1," * (MAX_NODES - 2) + "1]",
        "[" * MAX_DEPTH + "x" + "]" * MAX_DEPTH,
        "\n".join(" " * depth + f"k{depth}:" for depth in range(MAX_DEPTH)),
        'a: "X\\ud7ff\\ue000X"',
        "%X y\n---\na: 1",
    ],
)
def test_the_largest_document_that_fits_is_read(text: str) -> None:
    assert read_yaml(text.encode()).data


def test_each_key_and_each_item_has_the_line_of_its_own() -> None:
    document = read_yaml(b"a:\n\n  1\nb:\n  - x\n  - - y\n    - z\n")
    assert document.lines == {
        (): 1,
        ("a",): 1,
        ("b",): 4,
        ("b", 0): 5,
        ("b", 1): 6,
        ("b", 1, 0): 6,
        ("b", 1, 1): 7,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("+1", 1),
        ("0", 0),
        ("-0.5", -0.5),
        ("9" * 18, 10**18 - 1),
        ("'" + "9" * 19 + "'", "9" * 19),
        ("1.", "1."),
        (".5", ".5"),
        ("True", "True"),
        ("NULL", "NULL"),
    ],
)
def test_a_plain_word_is_what_yaml_1_2_makes_of_it(text: str, value: object) -> None:
    assert read_yaml(f"a: {text}".encode()).data == {"a": value}
