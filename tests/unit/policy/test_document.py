from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from runner.policy.document import BINS, Policy, policy_schema, schema_text
from tests.support.policies import policy

ROOT = Path(__file__).resolve().parents[3]


def refused_at(**keys: object) -> set[tuple[str | int, ...]]:
    with pytest.raises(ValidationError) as caught:
        policy(**keys)
    messages = [error["msg"] for error in caught.value.errors()]
    assert not any(message.endswith("None") for message in messages), "a fault without words"
    return {error["loc"] for error in caught.value.errors()}


def test_the_defaults_are_the_safe_ones() -> None:
    empty = policy()
    assert empty.write_allow == ()
    assert empty.rewritable == ()
    assert empty.network.setup.allow == ()
    assert empty.network.run.allow == ()
    assert empty.bins == BINS
    assert empty.bindings == ()
    assert empty.push.forbid == ("symlink", "gitlink", "ci")
    assert empty.limits.run_seconds == 1800
    assert empty.budget.denials is None


@pytest.mark.parametrize(
    "keys",
    [
        {"version": 2},
        {"version": True},
        {"version": 1.0},
        {"version": "1"},
        {"writeAlow": []},
        {"write_allow": []},
        {"writeAllow": "src/**"},
        {"writeAllow": [1]},
        {"writeAllow": None},
        {"writeAllow": {"a": 1}},
        {"writeAllow": ["/abs"]},
        {"writeAllow": ["a"] * 1001},
        {"writeAllow": [".git/hooks/**"]},
        {"appendOnly": ["x/.GIT/y"]},
        {"rewriteAllow": ["~/x"]},
        {"writeDeny": ["/workspace/src/secret/**"]},
        {"bins": ["bash"]},
        {"bins": ["/usr/bin/git"]},
        {"bins": "git"},
        {"argv": {"preset": "open"}},
        {"argv": {"preset": "default", "extra": 1}},
        {"commandWrites": "keep"},
        {"verifyTask": ""},
        {"verifyTask": "-x"},
        {"verifyTask": "a b"},
        {"budget": {"distinct": 0}},
        {"budget": {"distinct": True}},
        {"budget": {"rereads": -1}},
        {"budget": {"denials": 0}},
        {"limits": {"runSeconds": 0}},
        {"limits": {"runSeconds": 86_401}},
        {"limits": {"runSeconds": "5"}},
        {"limits": {"runSeconds": True}},
        {"limits": {"runSeconds": 1.0}},
        {"limits": {"run_seconds": 1}},
        {"limits": {"cpus": True}},
        {"limits": {"cpus": 0}},
        {"limits": {"cpus": float("nan")}},
        {"limits": {"cpus": float("inf")}},
        {"limits": {"memoryMiB": 1}},
        {"limits": {"openFiles": 127}},
        {"limits": None},
        {"network": {"setup": ["npm"]}},
        {"network": {"run": {"allow": ["10.0.0.1"]}}},
        {"network": {"run": {"allow": ["*"]}}},
        {"setup": False},
        {"setup": None},
        {"setup": "sh -c x"},
        {"setup": ["pnpm install"]},
        {"setup": [[]]},
        {"setup": [[""]]},
        {"setup": [["a", 1]]},
        {"setup": [["a\0"]]},
        {"runtime": "run c"},
        {"bindings": [{"git": {"host": "a.b"}, "credential": {"env": "A-B"}}]},
        {"bindings": [{"git": {"host": "a.b", "repo": "git://a.b/x"}}]},
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "http://a.b/{repo}"}, "credential": {"env": "A"}}]},
        {"requireRuntime": "yes"},
        {"image": "name:latest"},
        {"image": "name@sha256:abc"},
        {"env": {"NODE_OPTIONS": "--require x"}},
        {"env": {"GIT_SSH": "x"}},
        {"env": {"A": 1}},
        {"env": {"A": "a\0"}},
        {"env": []},
        {"ca": "relative.pem"},
        {"commit": {"name": ""}},
        {"commit": {"email": "a\nb"}},
        {"commit": {"name": "a <b>"}},
        {"commit": {"sign": {}}},
        {"commit": {"sign": True}},
        {"commit": {"sign": "tok-FAKE"}},
        {"commit": {"sign": {"gpg": {"file": "/k"}}}},
        {"commit": {"sign": {"ssh": {"file": "/k"}, "gpg": {"file": "/k"}}}},
        {"commit": {"sign": {"ssh": "-----BEGIN"}}},
        {"commit": {"sign": {"ssh": {"key": "-----BEGIN"}}}},
        {"commit": {"sign": {"ssh": {}}}},
        {"commit": {"sign": {"ssh": {"file": "k"}}}},
        {"commit": {"sign": {"ssh": {"file": "/k", "env": "K"}}}},
        {"commit": {"sign": {"ssh": {"file": "/k", "user": "git"}}}},
        {"commit": {"name": "a<"}},
        {"commit": {"name": "a>"}},
        {"push": {"branches": ["/x"]}},
        {"push": {"maxCommits": 0}},
        {"push": {"forbid": ["links"]}},
        {"bindings": [{}]},
        {"bindings": [{"git": {}}]},
        {"bindings": [{"git": {"host": "Code.example.com"}}]},
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "https://a.b/x.git"}}]},
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "https://c.d/{repo}.git"}}]},
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "https://u:p@a.b/{repo}"}}]},
        {"bindings": [{"git": {"host": "a.b", "repo": "https://c.d/x.git"}}]},
        {"bindings": [{"git": {"host": "a.b:1", "repo": "https://a.b/x.git"}}]},
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "https://a.b/{repo}/{repo}"}}]},
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "{repo}"}}]},
        {"bindings": [{"git": {"host": "file"}, "credential": {"env": "A"}}]},
        {"bindings": [{"git": {"host": "a.b"}}, {"git": {"host": "a.b"}}]},
        {"bindings": [{"git": {"host": "a.b"}, "credential": "tok-FAKE"}]},
        {"bindings": [{"git": {"host": "a.b"}, "credential": {"token": "tok-FAKE"}}]},
        {"bindings": [{"git": {"host": "a.b"}, "credential": {}}]},
        {"bindings": [{"git": {"host": "a.b"}, "credential": {"file": "/a", "env": "A"}}]},
        {"bindings": [{"git": {"host": "a.b"}, "credential": {"file": "a"}}]},
        {"bindings": [{"git": {"host": "a.b"}, "credential": {"command": []}}]},
    ],
)
def test_what_cannot_take_effect_as_written_is_refused(keys: dict[str, object]) -> None:
    refused_at(**keys)


def test_the_document_of_the_design_is_accepted_whole() -> None:
    whole = policy(
        version=1,
        writeAllow=["src/**", "tests/**", "notes/**"],
        rewriteAllow=["src/**", "tests/**"],
        writeDeny=["**/.env*", ".github/**"],
        appendOnly=["CHANGELOG.md"],
        bins=["git", "pnpm", "npm", "node", "mise"],
        argv={"preset": "default", "rules": []},
        commandWrites="report",
        verifyTask="os:red",
        budget={"distinct": 400, "rereads": 40, "denials": None},
        limits={
            "runSeconds": 1800,
            "cpus": 2,
            "memoryMiB": 2048,
            "workspaceMiB": 2048,
            "fileMiB": 512,
            "outputKiB": 1024,
        },
        network={"setup": {"allow": ["npm", "a.example.com:443", "*.example.com"]}, "run": {"allow": []}},
        setup="auto",
        runtime="runc",
        image=None,
        env={},
        ca=None,
        commit={"name": "runner", "email": "runner@localhost"},
        push={"branches": ["*"], "maxCommits": 100, "maxMiB": 200, "forbid": ["symlink", "gitlink", "ci"]},
        bindings=[
            {
                "git": {"host": "code.example.com", "repoTemplate": "https://code.example.com/{repo}.git"},
                "credential": {"file": "/etc/runner/code-token"},
            },
            {"git": {"host": "file"}},
        ],
    )
    assert whole.limits.cpus == 2.0
    assert whole.bindings[0].credential is not None


@pytest.mark.parametrize(
    "keys",
    [
        {"setup": "off"},
        {"setup": [["pnpm", "install"]]},
        {"setup": []},
        {"rewriteAllow": None},
        {"bins": []},
        {"env": {"CI": "1"}},
        {"commit": {"name": "X"}},
        {"image": "registry.example.com/x@sha256:" + "a" * 64},
        {
            "bindings": [
                {
                    "git": {"host": "127.0.0.1:8080", "repoTemplate": "http://127.0.0.1:8080/{repo}.git"},
                    "credential": {"env": "A"},
                }
            ]
        },
        {"bindings": [{"git": {"host": "a.b", "repoTemplate": "https://a.b:8443/{repo}"}}]},
        {"bindings": [{"git": {"host": "a.b:8443", "repoTemplate": "https://a.b:8443/{repo}"}}]},
        {"bindings": [{"git": {"host": "a.b", "repo": "https://a.b:8443/x"}}]},
        {
            "bindings": [
                {"git": {"host": "a.b", "repo": "owner/name"}, "credential": {"command": ["pass", "x"], "user": "u"}}
            ]
        },
    ],
)
def test_other_forms_of_the_keys_are_accepted(keys: dict[str, object]) -> None:
    policy(**keys)


def test_a_secret_in_the_wrong_place_is_not_repeated() -> None:
    with pytest.raises(ValidationError) as caught:
        policy(bindings=[{"git": {"host": "a.b"}, "credential": {"token": "tok-FAKE"}}])
    assert "tok-FAKE" not in caught.value.errors()[0]["msg"]


def test_a_policy_is_frozen() -> None:
    with pytest.raises(ValidationError):
        policy().version = 1  # type: ignore[misc]


def test_the_schema_that_is_checked_in_is_fresh() -> None:
    stored = (ROOT / "policies" / "schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(), "write runner.policy.document.schema_text() to policies/schema.json"


def test_the_schema_knows_every_key_and_no_other() -> None:
    schema = policy_schema()
    assert set(schema["properties"]) == {field.alias or name for name, field in Policy.model_fields.items()}
    assert schema["additionalProperties"] is False
