"""The relay inside a real workspace container, over the engine's held stream, with the proxy on this side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.egress.environment import RELAY_PORT
from runner.engine.contract import Sandbox, SpawnRequest
from tests.unit.egress.harness import Audit, EchoServer, make_proxy

RELAY_ARGV = ["/usr/bin/python3", "-I", "-S", "/opt/runner/relay.py"]

# Prints the status that the proxy gives to each CONNECT, then lets the first echo a word through TLS.
CONNECT_SCRIPT = """
const http = require('node:http'), tls = require('node:tls');
const [port, allowed, refused] = process.argv.slice(1);
const ask = (path) => new Promise((resolve) => {
  const request = http.request({host: '127.0.0.1', port, method: 'CONNECT', path});
  request.on('connect', (answer, socket) => resolve([answer.statusCode, socket]));
  request.on('error', (error) => resolve([error.code, null]));
  request.end();
});
(async () => {
  const [first, socket] = await ask(allowed);
  const [second, other] = await ask(refused);
  if (other) other.destroy();
  console.log(first, second);
  if (!socket) return;
  const secure = tls.connect({socket, servername: allowed.split(':')[0], rejectUnauthorized: false});
  secure.on('secureConnect', () => secure.write(Buffer.concat([Buffer.from([0, 0, 0, 5]), Buffer.from('hello')])));
  let text = '';
  secure.on('data', (data) => { text += data; if (text.length >= 5) { console.log(text); secure.destroy(); } });
  secure.on('error', (error) => console.log('error', error.code));
})();
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EchoServer]:
    started = EchoServer(tmp_path, "allowed.test")
    yield started
    started.close()


def ask_from_inside(sandbox: Sandbox, port: int, allowed: str, refused: str) -> list[str]:
    result = sandbox.spawn(
        SpawnRequest(
            argv=("/usr/local/bin/node", "-e", CONNECT_SCRIPT, str(port), allowed, refused),
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/agent"},
            deadline_seconds=30,
            output_cap_bytes=65536,
        )
    )
    return result.stdout.decode().splitlines()


@pytest.mark.docker
def test_only_the_allowed_host_is_reached_and_closing_the_stream_ends_the_network(
    docker_sandbox: Sandbox, server: EchoServer
) -> None:
    audit, allowed = Audit(), f"allowed.test:{server.port}"
    stream = docker_sandbox.open_stream(RELAY_ARGV, user="relay")
    with make_proxy(stream, audit, [allowed]) as proxy:
        port = proxy.start()
        assert port == RELAY_PORT
        assert ask_from_inside(docker_sandbox, port, allowed, "other.test:443") == ["200 403", "hello"]
        first, second = sorted((audit.next(), audit.next()), key=lambda event: event.connection)
        assert (first.allowed, first.address) == (True, "127.0.0.1")
        assert (second.allowed, second.rule) == (False, "egress.host")
    assert proxy.failure is None
    assert ask_from_inside(docker_sandbox, port, allowed, allowed) == ["ECONNREFUSED ECONNREFUSED"]
