"""What a server remembers, the same with either database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from runner.model.errors import UsageError
from runner.store.database import Database, StoreUnavailable, default_url
from runner.store.runs import RunRow, RunState, RunStore
from runner.store.tables import METADATA
from runner.store.tokens import Token, TokenStore, Verb
from tests.support.clocks import ManualClock
from tests.support.postgres import Postgres, running_postgres

EVERY: dict[str, Any] = {
    "policies": ["p0"],
    "repositories": ["https://git.example/web/*"],
    "verbs": [Verb.RUN],
    "seconds": 3600.0,
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return default_url(tmp_path)
    server: Postgres = request.getfixturevalue("postgres")
    return server.fresh()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    made = Database(url)
    yield made
    made.close()


@pytest.fixture
def tokens(database: Database) -> TokenStore:
    return TokenStore(database, ManualClock())


@pytest.fixture
def runs(database: Database) -> RunStore:
    return RunStore(database, ManualClock())


def row(identity: str = "a1", tenant: str = "a", created: float = 1.0) -> RunRow:
    return RunRow(
        id=identity,
        tenant=tenant,
        token="t",
        state=RunState.OPENING,
        request={"repo": "x"},
        request_digest="d",
        created_unix=created,
        opened_unix=None,
        ended_unix=None,
        exit_code=None,
        code=None,
        because="",
    )


def test_the_tables_are_what_the_migrations_leave(database: Database) -> None:
    with database.begin() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": False})
        assert compare_metadata(context, METADATA) == []


def test_a_database_that_is_opened_again_has_what_it_had(url: str) -> None:
    first = Database(url)
    token, secret = TokenStore(first, ManualClock()).create("a", **EVERY)
    RunStore(first, ManualClock()).add(row(), "key")
    first.close()
    again = Database(url)
    assert TokenStore(again, ManualClock()).known(secret) == token
    assert RunStore(again, ManualClock()).of_key("a", "key") == row()
    again.close()


def test_a_database_without_tables_yet_is_brought_up_to_date(url: str) -> None:
    first = Database(url)
    with first.begin() as connection:
        for table in ("runs", "tokens", "alembic_version"):
            connection.execute(text(f"DROP TABLE {table}"))
    first.close()
    again = Database(url)
    assert RunStore(again, ManualClock()).live() == []
    again.close()


def test_a_database_of_a_newer_version_is_left_alone(url: str) -> None:
    first = Database(url)
    with first.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    first.close()
    with pytest.raises(StoreUnavailable) as refused:
        Database(url)
    assert refused.value.code == "store_unavailable" and "newer version" in refused.value.message


def test_nothing_of_a_secret_is_kept_but_its_digest(tokens: TokenStore, database: Database) -> None:
    token, whole = tokens.create("a", **EVERY, note="for x")
    secret = whole.split("_", 2)[2]
    with database.begin() as connection:
        kept = connection.execute(text("SELECT * FROM tokens")).mappings().one()
    assert kept["digest"] == hashlib.sha256(secret.encode()).hexdigest()
    assert not any(secret in str(value) for value in kept.values())
    assert secret not in repr(tokens.all()) and tokens.all() == [token]


@pytest.mark.parametrize("wrong", ["", "runner_", "x" * 5000, "runner_\0", "é", "runner_0123456789ab_" + "A" * 43])
def test_no_other_text_is_a_token(tokens: TokenStore, wrong: str) -> None:
    tokens.create("a", **EVERY)
    assert tokens.known(wrong) is None


def test_a_token_of_one_is_not_good_with_the_secret_of_another(tokens: TokenStore) -> None:
    (one, first), (_, second) = tokens.create("a", **EVERY), tokens.create("b", **EVERY)
    assert tokens.known(f"runner_{one.id}_{second.split('_', 2)[2]}") is None
    changed = "A" if first[-1] != "A" else "B"
    assert tokens.known(first[:-1] + changed) is None


@pytest.mark.parametrize(
    "changed",
    [{"policies": []}, {"repositories": []}, {"verbs": []}, {"seconds": 59.0}, {"seconds": 1e9}, {"note": "x" * 201}],
)
def test_a_token_out_of_bounds_is_not_made(tokens: TokenStore, changed: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        tokens.create("a", **{**EVERY, **changed})
    with pytest.raises(UsageError):
        tokens.create("A B", **EVERY)
    assert tokens.all() == []


def test_a_revoked_token_stays_revoked_and_one_that_is_not_there_cannot_be(tokens: TokenStore) -> None:
    token, _ = tokens.create("a", **EVERY)
    assert tokens.revoke(token.id) and tokens.revoke(token.id)
    assert [one.state(0) for one in tokens.all()] == ["revoked"]
    assert not tokens.revoke("nobody")


def test_a_key_is_taken_once_by_however_many_at_once(runs: RunStore) -> None:
    start = Barrier(6)

    def add(number: int) -> str:
        start.wait()
        return runs.add(row(f"run{number}"), "key").id

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(add, range(6)))) == 1
    assert len(runs.live()) == 1


def test_how_a_run_ended_does_not_change_any_more(runs: RunStore) -> None:
    runs.add(row(), None)
    runs.opened("a1")
    assert runs.count_live("a") == 1
    runs.ended("a1", RunState.LOST, exit_code=5, code="run_ended", because="lost\0\ud800")
    runs.ended("a1", RunState.COMPLETED, exit_code=0, code=None, because="")
    runs.opened("a1")
    ended = runs.get("a1")
    assert ended is not None and not ended.live
    assert (ended.state, ended.exit_code, ended.because) == (RunState.LOST, 5, "lost\N{REPLACEMENT CHARACTER}?")
    assert runs.count_live("a") == 0


@pytest.mark.parametrize("name", ["", "\0", "a1 ", "é\0", "../a1", "a1'--", "x" * 10000])
def test_no_other_name_finds_a_run(runs: RunStore, name: str) -> None:
    runs.add(row(), None)
    assert runs.get(name) is None


@pytest.mark.parametrize(
    ("said", "address", "covered"),
    [
        ("https://git.example/web/*", "https://git.example/web/shop", True),
        ("https://git.example/web/*", "https://git.example/web/a/b", True),
        ("https://git.example/web/*", "https://git.example/webs", False),
        ("https://git.example/web/*", "https://git.example/web/../secret", False),
        ("https://git.example/web/*", "https://git.example/web/%2e%2e/secret", False),
        ("https://git.example/web/*", "https://git.example/web/..%2fsecret", False),
        ("https://git.example/web/*", "https://git.example/web/%252e%252e/secret", False),
        ("https://git.example/web/*", "https://git.example/web/.", False),
        ("git@git.example:web/*", "git@git.example:web/../secret", False),
        ("https://git.example/web/shop", "https://git.example/web/shop", True),
        ("*", "ssh://git@git.example/x", True),
        ("*", "file:///srv/x", False),
        ("file:///srv/*", "file:///srv/x", True),
    ],
)
def test_a_beginning_covers_what_lies_below_it_and_nothing_beside_it(said: str, address: str, covered: bool) -> None:
    token = Token("i", "a", frozenset({"p"}), (said,), frozenset(Verb), 0, 1, None, "")
    assert token.may_reach(address) is covered


@pytest.mark.parametrize(
    ("beginning", "rest"),
    [
        ("http://127.0.0.1:8000/", "x"),
        ("http://127.9.9.9/", "x"),
        ("http://[::1]:8000/", "x"),
        ("https://[::ffff:127.0.0.1]/", "x"),
        ("https://[::]/", "x"),
        ("https://0.0.0.0/", "x"),
        ("https://127.1/", "x"),
        ("https://2130706433/", "x"),
        ("https://0x7f.0.0.1/", "x"),
        ("https://0177.0.0.1/", "x"),
        ("https://localhost/", "x"),
        ("https://LOCALHOST./", "x"),
        ("https://git.localhost/", "x"),
        ("ssh://localhost/", "x"),
        ("ssh://git@localhost:2222/", "x"),
        ("localhost:", "srv/x"),
        ("git@localhost:", "srv/x@y"),
        ("git@[::1]:", "x"),
    ],
)
def test_what_listens_on_the_servers_own_loopback_is_reached_only_by_a_token_that_says_so(
    beginning: str, rest: str
) -> None:
    def reaches(said: str) -> bool:
        return Token("i", "a", frozenset({"p"}), (said,), frozenset(Verb), 0, 1, None, "").may_reach(beginning + rest)

    wide = ["*", f"{beginning[:4]}*", f"{beginning[: len(beginning) // 2]}*"]
    assert [reaches(said) for said in wide] == [False] * 3
    assert reaches(f"{beginning}*") and reaches(beginning + rest)


@pytest.mark.parametrize(
    "address", ["https://localhost.example/x", "https://a.example/localhost:/x", "https://8.8.8.8/x"]
)
def test_a_host_elsewhere_that_looks_like_the_loopback_is_covered_by_a_beginning(address: str) -> None:
    assert Token("i", "a", frozenset({"p"}), ("*",), frozenset(Verb), 0, 1, None, "").may_reach(address)


def test_a_policy_file_is_used_only_by_a_token_that_names_it() -> None:
    token = Token("i", "a", frozenset({"*", "./p.yml"}), ("*",), frozenset(Verb), 0, 1, None, "")
    assert [token.may_use_policy(name) for name in ("default", "./p.yml", "./q.yml", "/etc/x", "a/b")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_a_policy_file_is_the_same_by_its_whole_path_and_not_by_one_that_leads_upwards() -> None:
    here = Path.cwd()
    token = Token("i", "a", frozenset({"p.yml", f"{here}/q.yml"}), ("*",), frozenset(Verb), 0, 1, None, "")
    assert all(token.may_use_policy(name) for name in ("p.yml", "./p.yml", f"{here}/p.yml", "q.yml"))
    assert not any(token.may_use_policy(name) for name in ("x/../p.yml", f"{here}/x/../q.yml", "/p.yml", "p"))


@pytest.mark.parametrize("url", ["mysql://x/y", "nonsense", "", "sqlite:////nowhere/at/all/x"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable):
        Database(url)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite3"
    file.write_bytes(b"not a database, however one looks at it" * 100)
    with pytest.raises(StoreUnavailable):
        Database(default_url(tmp_path))
    assert file.read_bytes().startswith(b"not a database")


def test_a_database_file_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "server.sqlite3").touch(0o644)
    made = Database(default_url(tmp_path))
    TokenStore(made, ManualClock()).create("a", **EVERY)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    made.close()
