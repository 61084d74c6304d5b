"""The tests' own servers do what real ones do, and refuse what real ones refuse. Other tests stand on that."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import docker
import pytest

from runner.settings import Settings
from tests.support.certificates import Authority
from tests.support.evil_listener import EvilListener, evil_listener
from tests.support.npm_packages import NpmPackage
from tests.support.repos import Commit, bare_repository, git, git_environment
from tests.support.service_box import ServiceBox
from tests.support.service_image import services_image
from tests.support.services import CodeHostHttps, CodeHostSsh, NpmRegistry

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

LEFT = NpmPackage("left", "1.0.0", {"index.js": "module.exports = 'left 1'\n"})
RIGHT = NpmPackage(
    "@tests/right", "2.1.0", {"index.js": "module.exports = require('left')\n"}, {"dependencies": {"left": "^1.0.0"}}
)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return bare_repository(tmp_path / "bare.git", [Commit({"a": "1\n"}), Commit({"a": "2\n"})])


def https_git(
    host: CodeHostHttps, home: Path, *arguments: str, token: str | None = None, by_name: bool = False
) -> subprocess.CompletedProcess[str]:
    """The host's git, as a person uses it: the token from a credential helper, the authority in the trust store."""
    answer = f"username={host.user}\\npassword={host.token if token is None else token}\\n"
    helper = f"!f() {{ printf '{answer}'; }}; f"
    options = ["-c", f"credential.helper={helper}", "-c", f"http.sslCAInfo={host.ca_file}"]
    if by_name:
        options += ["-c", f"http.curloptResolve={host.name}:{host.port}:{host.ip}"]
    return subprocess.run(
        ["git", *options, *arguments],
        env={**git_environment(home), "GIT_ALLOW_PROTOCOL": "https"},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_repository_is_cloned_and_pushed_over_https_with_the_token(
    code_host_https: CodeHostHttps, bare: Path, tmp_path: Path
) -> None:
    code_host_https.put(bare, "r.git")
    cloned = https_git(code_host_https, tmp_path, "clone", "-q", code_host_https.address("r.git"), "clone")
    git(tmp_path / "clone", "commit", "--quiet", "--allow-empty", "-m", "more")
    pushed = https_git(code_host_https, tmp_path, "-C", "clone", "push", "-q", "origin", "HEAD:refs/heads/new")

    assert (cloned.returncode, pushed.returncode) == (0, 0), (cloned.stderr, pushed.stderr)
    assert (tmp_path / "clone" / "a").read_text() == "2\n"
    assert code_host_https.git("r.git", "rev-parse", "new") == git(tmp_path / "clone", "rev-parse", "HEAD")
    assert git(bare, "for-each-ref", "--format=%(refname)") == "refs/heads/main"  # a copy is served


def test_a_code_host_is_known_by_its_name_too(code_host_https: CodeHostHttps, bare: Path, tmp_path: Path) -> None:
    code_host_https.put(bare, "r.git")
    address = f"https://{code_host_https.name}:{code_host_https.port}/r.git"
    found = https_git(code_host_https, tmp_path, "ls-remote", address, by_name=True)

    assert found.stdout.split()[0] == git(bare, "rev-parse", "main"), found.stderr
    assert {seen.server_name for seen in code_host_https.requests()} == {code_host_https.name}


def test_the_log_holds_each_request_with_its_credential(
    code_host_https: CodeHostHttps, bare: Path, tmp_path: Path
) -> None:
    code_host_https.put(bare, "r.git")
    https_git(code_host_https, tmp_path, "ls-remote", code_host_https.address("r.git"))
    first, second, third = code_host_https.requests()

    assert (first.method, first.path) == ("GET", "/r.git/info/refs?service=git-upload-pack")
    assert [seen.status for seen in (first, second, third)] == [401, 200, 200]
    assert [seen.password for seen in (first, second, third)] == ["", code_host_https.token, code_host_https.token]
    assert third.method == "POST"
    assert code_host_https.saw(code_host_https.token)
    code_host_https.forget()
    assert code_host_https.requests() == []


@pytest.mark.parametrize("token", ["tok-WRONG", ""])
def test_a_wrong_token_is_refused(code_host_https: CodeHostHttps, bare: Path, tmp_path: Path, token: str) -> None:
    code_host_https.put(bare, "r.git")
    refused = https_git(code_host_https, tmp_path, "ls-remote", code_host_https.address("r.git"), token=token)

    assert refused.returncode == 128
    assert {seen.status for seen in code_host_https.requests()} == {401}


def test_a_repository_that_is_not_there_is_not_found(code_host_https: CodeHostHttps, tmp_path: Path) -> None:
    refused = https_git(code_host_https, tmp_path, "ls-remote", code_host_https.address("r.git"))

    assert refused.returncode == 128
    assert code_host_https.requests()[-1].status == 404


def test_who_does_not_trust_the_authority_sends_nothing(
    code_host_https: CodeHostHttps, bare: Path, tmp_path: Path
) -> None:
    code_host_https.put(bare, "r.git")
    code_host_https.ca_file, trusted = Authority(tmp_path / "other").ca_file, code_host_https.ca_file
    try:
        refused = https_git(code_host_https, tmp_path, "ls-remote", code_host_https.address("r.git"))
    finally:
        code_host_https.ca_file = trusted

    assert refused.returncode == 128
    assert code_host_https.requests() == []


class SshClient:
    """git over ssh in a container beside the server, so that this host needs no ssh."""

    def __init__(self, box: ServiceBox, host: CodeHostSsh) -> None:
        self.box, self.host = box, host
        names = ("client_key", "wrong_client_key", "known_hosts", "wrong_known_hosts")
        box.write({f"/srv/home/{name}": Path(getattr(host, name)).read_bytes() for name in names})
        box.output("rm", "-rf", "/srv/home/clone")

    def git(self, *arguments: str, key: str = "client_key", hosts: str = "known_hosts") -> tuple[int, str]:
        options = f"-i /srv/home/{key} -o UserKnownHostsFile=/srv/home/{hosts}"
        fixed = "-F none -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes"
        return self.box.run("git", *arguments, environment={"GIT_SSH_COMMAND": f"ssh {fixed} {options}"})


@pytest.fixture
def ssh(service_client: ServiceBox, code_host_ssh: CodeHostSsh, bare: Path) -> SshClient:
    code_host_ssh.put(bare, "r.git")
    return SshClient(service_client, code_host_ssh)


def test_a_repository_is_cloned_and_pushed_over_ssh_with_the_key(ssh: SshClient, bare: Path) -> None:
    assert ssh.git("clone", "-q", ssh.host.address("r.git"), "/srv/home/clone") == (0, "")
    main = git(bare, "rev-parse", "main")
    assert ssh.box.output("git", "-C", "/srv/home/clone", "rev-parse", "HEAD") == main
    assert ssh.git("-C", "/srv/home/clone", "push", "-q", "origin", "HEAD~1:refs/heads/new") == (0, "")

    assert ssh.host.git("r.git", "rev-parse", "new") == git(bare, "rev-parse", "main~1")
    assert ["git-shell", "-c", "git-upload-pack '/srv/repos/r.git'"] in ssh.host.commands()
    assert "Accepted publickey for git" in ssh.host.log()


def test_another_key_is_not_let_in(ssh: SshClient) -> None:
    code, said = ssh.git("ls-remote", ssh.host.address("r.git"), key="wrong_client_key")

    assert (code, "Permission denied (publickey)" in said) == (128, True)
    assert ssh.host.commands() == []


def test_a_server_with_another_host_key_is_not_spoken_to(ssh: SshClient) -> None:
    code, said = ssh.git("ls-remote", ssh.host.address("r.git"), hosts="wrong_known_hosts")

    assert (code, "Host key verification failed" in said) == (128, True)
    assert "Accepted" not in ssh.host.log()


def test_nothing_but_git_runs_over_ssh(ssh: SshClient) -> None:
    options = "-F none -i /srv/home/client_key -o UserKnownHostsFile=/srv/home/known_hosts -o BatchMode=yes"
    code, _ = ssh.box.run("ssh", *options.split(), "-p", str(ssh.host.port), f"git@{ssh.host.ip}", "touch /tmp/pwn")

    assert code == 128
    assert ssh.host.box.run("test", "-e", "/tmp/pwn")[0] == 1


@pytest.fixture
def node(authority: Authority) -> Iterator[ServiceBox]:
    """npm and pnpm of the workspace image on a network, with the tests' authority trusted."""
    with ServiceBox(Settings.from_environment().image, ["sleep", "600"]) as box:
        box.write({"/tmp/ca.pem": authority.ca_file.read_bytes()})
        box.output("mkdir", "/tmp/project")
        yield box


def install(node: ServiceBox, registry: NpmRegistry, *packages: str, tool: str = "npm", token: str = "") -> str:
    """What the tool said. Its registry is ours, and its only trust the tests' authority."""
    settings = f"registry={registry.url}/\ncafile=/tmp/ca.pem\nfetch-retries=0\n"
    settings += f"//{registry.host}/:_authToken={token}\n" if token else ""
    node.write({"/tmp/project/.npmrc": settings.encode(), "/tmp/project/package.json": b'{"name": "p"}'})
    verb = "install" if tool == "npm" else "add"
    environment = {"HOME": "/tmp"}
    return node.run(
        tool, "-C" if tool == "pnpm" else "--prefix", "/tmp/project", verb, *packages, environment=environment
    )[1]


def required(node: ServiceBox, name: str) -> str:
    return node.run("node", "-p", f"require('/tmp/project/node_modules/{name}')")[1].strip()


@pytest.mark.parametrize("tool", ["npm", "pnpm"])
def test_a_package_and_its_dependency_are_installed(npm_registry: NpmRegistry, node: ServiceBox, tool: str) -> None:
    npm_registry.publish(LEFT, RIGHT)
    said = install(node, npm_registry, "@tests/right@2.1.0", tool=tool)

    assert required(node, "@tests/right") == "left 1", said
    paths = {unquote(seen.path) for seen in npm_registry.requests() if seen.status == 200}
    assert sorted(paths) == [
        "/@tests/right",
        "/@tests/right/-/right-2.1.0.tgz",
        "/left",
        "/left/-/left-1.0.0.tgz",
    ]


def test_a_tarball_with_another_digest_than_promised_is_not_installed(
    npm_registry: NpmRegistry, node: ServiceBox
) -> None:
    npm_registry.publish(NpmPackage("left", "1.0.0", {"index.js": "1"}, integrity=RIGHT.sha512))

    assert "EINTEGRITY" in install(node, npm_registry, "left")


def test_a_private_registry_serves_who_has_the_token(private_registry: NpmRegistry, node: ServiceBox) -> None:
    private_registry.publish(LEFT)
    assert "E401" in install(node, private_registry, "left")
    assert {seen.status for seen in private_registry.requests()} == {401}

    said = install(node, private_registry, "left", token=private_registry.token or "")
    assert required(node, "left") == "left 1", said


def test_a_registry_has_only_what_was_published(npm_registry: NpmRegistry, node: ServiceBox) -> None:
    assert "E404" in install(node, npm_registry, "left")


def test_the_listener_records_what_this_host_and_a_container_say(
    evil: EvilListener, service_client: ServiceBox
) -> None:
    with socket.create_connection((evil.ip, evil.port), timeout=10) as connection:
        connection.sendall(b"from the host")
    assert bytes(evil.wait_for_a_visit().raw) == b"from the host"
    service_client.output("bash", "-c", evil.call("sprung"))
    assert bytes(evil.wait_for_a_visit().raw) == b"sprung\n"
    assert evil.received == b"from the hostsprung\n"


def test_a_visit_without_a_word_counts_as_one(evil: EvilListener) -> None:
    evil.assert_untouched()
    socket.create_connection((evil.ip, evil.port), timeout=10).close()
    with pytest.raises(AssertionError):
        evil.assert_untouched()


def test_the_listener_hears_what_is_said_inside_tls(authority: Authority, tmp_path: Path) -> None:
    server_file = tmp_path / "server.pem"
    server_file.write_bytes(authority.issue(["evil.example.test"], ["127.0.0.1"]))
    with evil_listener("127.0.0.1", server_file) as evil:
        context = ssl.create_default_context(cafile=authority.ca_file)
        with socket.create_connection((evil.ip, evil.port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="evil.example.test") as secure:
                secure.sendall(b"GET /secret")
        visit = evil.wait_for_a_visit()

    assert bytes(visit.decrypted) == b"GET /secret"
    assert b"evil.example.test" in visit.raw  # the name is said before anything is secret


def test_an_image_whose_inputs_are_the_same_is_not_built_again(service_image: str) -> None:
    with contextlib.closing(docker.from_env(environment=dict(Settings.from_environment().docker))) as client:
        before = client.images.get(service_image).id
        assert services_image() == service_image
        assert client.images.get(service_image).id == before


def test_a_packument_says_what_its_tarball_is() -> None:
    document = json.loads(NpmPackage.packument([LEFT], "https://registry.example.test"))

    assert document["versions"]["1.0.0"]["dist"]["integrity"] == LEFT.sha512
    assert os.path.basename(document["versions"]["1.0.0"]["dist"]["tarball"]) == LEFT.file  # noqa: PTH119 - of a URL
