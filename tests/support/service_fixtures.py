"""Fixtures of the tests' servers: started once for a session, when the first test asks, and empty for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runner.engine.docker_engine import DockerEngine
from tests.support.certificates import Authority
from tests.support.evil_listener import EvilListener, evil_listener
from tests.support.service_box import ServiceBox
from tests.support.service_image import services_image
from tests.support.services import CodeHostHttps, CodeHostSsh, NpmRegistry

__all__ = [
    "authority",
    "code_host_https",
    "code_host_ssh",
    "evil",
    "npm_registry",
    "private_registry",
    "service_client",
    "service_image",
    "session_code_host_https",
    "session_code_host_ssh",
    "session_npm_registry",
    "session_private_registry",
]

REGISTRY_TOKEN = "tok-FAKE-npm-1234"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs for all of the tests' servers."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def service_image(docker_engine: DockerEngine) -> str:
    """The image of the tests' servers, built where it is not there. Without an engine, what tests of one do."""
    return services_image()


@pytest.fixture(scope="session")
def session_code_host_https(service_image: str, authority: Authority) -> Iterator[CodeHostHttps]:
    with ServiceBox(service_image, "https") as box:
        yield CodeHostHttps(box, authority)


@pytest.fixture
def code_host_https(session_code_host_https: CodeHostHttps) -> CodeHostHttps:
    """A code host over https without repositories."""
    session_code_host_https.clear()
    session_code_host_https.forget()
    return session_code_host_https


@pytest.fixture(scope="session")
def session_code_host_ssh(service_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeHostSsh]:
    with ServiceBox(service_image, "ssh") as box:
        yield CodeHostSsh(box, tmp_path_factory.mktemp("ssh") / "keys")


@pytest.fixture
def code_host_ssh(session_code_host_ssh: CodeHostSsh) -> CodeHostSsh:
    """A code host over ssh without repositories."""
    session_code_host_ssh.clear()
    session_code_host_ssh.forget()
    return session_code_host_ssh


@pytest.fixture(scope="session")
def session_npm_registry(service_image: str, authority: Authority) -> Iterator[NpmRegistry]:
    with ServiceBox(service_image, "https") as box:
        yield NpmRegistry(box, authority)


@pytest.fixture
def npm_registry(session_npm_registry: NpmRegistry) -> NpmRegistry:
    """A registry that anybody may read, without packages."""
    session_npm_registry.clear()
    session_npm_registry.forget()
    return session_npm_registry


@pytest.fixture(scope="session")
def session_private_registry(service_image: str, authority: Authority) -> Iterator[NpmRegistry]:
    with ServiceBox(service_image, "https") as box:
        yield NpmRegistry(box, authority, REGISTRY_TOKEN)


@pytest.fixture
def private_registry(session_private_registry: NpmRegistry) -> NpmRegistry:
    """A registry that asks for its `token`, without packages."""
    session_private_registry.clear()
    session_private_registry.forget()
    return session_private_registry


@pytest.fixture(scope="session")
def service_client(service_image: str) -> Iterator[ServiceBox]:
    """A container beside the servers, with git and ssh: what another machine would be."""
    with ServiceBox(service_image, "client") as box:
        box.configure({})
        yield box


@pytest.fixture
def evil(service_client: ServiceBox) -> Iterator[EvilListener]:
    """A listener that nobody should ever reach, and that this host and containers on the bridge can."""
    with evil_listener(service_client.gateway) as listening:
        yield listening
