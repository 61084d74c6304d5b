"""The workspace image keeps its promises, and each probe finds its promise broken on an image that breaks it."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from docker.errors import DockerException
from docker.models.containers import Container

from runner.engine.docker_images import BUILD, DockerImages
from runner.engine.image_promises import PROMISES, check_promises
from runner.settings import Settings

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

IMAGE = Settings.from_environment().image
LABEL = "runner.image-test"
DERIVED = "runner-image-test:derived"

# An image that breaks exactly one promise, by the line of a Dockerfile that breaks it.
BREAKERS = (
    ("versions", "RUN printf '#!/bin/sh\\necho ripgrep 12.0.0\\n' >/usr/bin/rg"),
    ("default-user", "USER keeper"),
    ("users", "RUN /usr/sbin/usermod --uid 950 relay"),
    ("users", "RUN /usr/sbin/usermod --append --groups keeper relay"),
    ("no-login", "RUN /usr/sbin/usermod --shell /bin/bash relay"),
    ("no-login", "RUN /usr/sbin/usermod --password abc relay"),
    ("no-privilege", "RUN chmod u+s /usr/bin/env"),
    ("no-privilege", "RUN chmod g+s /srv"),
    (
        "no-privilege",
        "RUN python3 -c \"import os; os.setxattr('/usr/bin/factor', 'security.capability', "
        "bytes.fromhex('0100000200200000000000000000000000000000'))\"",
    ),
    ("nothing-writable", "RUN mkdir -m 1777 /srv/open"),
    ("nothing-writable", "RUN chown agent /usr/local/bin"),
    ("our-files", "RUN echo >>/opt/runner/keeper.sh"),
    ("our-files", "RUN touch /opt/runner/extra.py"),
    ("our-files", 'RUN cd /opt/runner && python3 -c \'import py_compile as p; p.compile("relay.py", "helper.pyc")\''),
    ("our-files", "RUN rm /opt/runner/helper.pyc"),
    ("no-caches", "RUN touch /var/lib/apt/lists/left"),
    ("no-caches", "RUN echo deb >/etc/apt/sources.list"),
    ("non-interactive", "RUN git config --system core.editor vi"),
    ("non-interactive", "RUN rm /usr/local/lib/node_modules/npm/npmrc"),
    ("no-added-trust", "RUN touch /usr/local/share/ca-certificates/other.crt"),
    ("recorded", 'LABEL runner.inputs="other"'),
)


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with contextlib.closing(docker.from_env(timeout=120)) as made:
        yield made


def broken(reference: str, build: Path) -> set[str]:
    with contextlib.closing(DockerImages(os.environ, reference=reference, build=build)) as images:
        return {result.promise.id for result in check_promises(images) if not result.kept}


@contextlib.contextmanager
def derived(client: docker.DockerClient, line: str, build: Path) -> Iterator[str]:
    """An image with one more line, recorded as if it had been built here."""
    dockerfile = f"FROM {IMAGE}\nUSER root\n{line if line.startswith('USER') else line + chr(10) + 'USER agent'}\n"
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        tar.addfile(entry, io.BytesIO(dockerfile.encode()))
    context.seek(0)
    image, _ = client.images.build(
        fileobj=context, custom_context=True, tag=DERIVED, labels={LABEL: "true"}, rm=True, forcerm=True
    )
    (build / "images.json").write_text(json.dumps({DERIVED: {"id": image.id}}))
    try:
        yield DERIVED
    finally:
        with contextlib.suppress(DockerException):
            client.images.remove(str(image.id), force=True)


def test_the_image_keeps_every_promise() -> None:
    assert broken(IMAGE, BUILD) == set()


def test_every_promise_has_an_image_that_breaks_it() -> None:
    assert {promise for promise, _ in BREAKERS} == {promise.id for promise in PROMISES}


@pytest.mark.parametrize(("promise", "line"), BREAKERS)
def test_a_probe_finds_its_promise_broken_and_no_other(
    client: docker.DockerClient, tmp_path: Path, promise: str, line: str
) -> None:
    with derived(client, line, tmp_path) as reference:
        assert broken(reference, tmp_path) == {promise}


def test_an_image_that_is_not_the_recorded_one_is_found(client: docker.DockerClient, tmp_path: Path) -> None:
    with derived(client, "RUN true", tmp_path) as reference:
        (tmp_path / "images.json").write_text("{}")
        assert broken(reference, tmp_path) == {"recorded"}


def test_unchanged_inputs_build_nothing() -> None:
    said: list[str] = []
    with contextlib.closing(DockerImages(os.environ)) as images:
        before = images.state()
        assert images.build(progress=said.append) == before
    assert len(said) == 1


@pytest.mark.slow
def test_an_authority_is_trusted_only_by_the_image_that_was_built_with_it(
    client: docker.DockerClient, tmp_path: Path
) -> None:
    reference = "runner-image-test:authority"
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "downloads").symlink_to(BUILD / "downloads")
    ca = tmp_path / "ca.pem"
    ca.write_bytes(_authority())
    listing = "grep -c BEGIN /etc/ssl/certs/ca-certificates.crt"
    with (
        contextlib.closing(DockerImages(os.environ)) as plain,
        contextlib.closing(DockerImages(os.environ, reference=reference, build=tmp_path / "build")) as images,
    ):
        try:
            images.build(ca=ca, progress=lambda _: None)
            assert int(images.probe(listing)) == int(plain.probe(listing)) + 1
            assert broken(reference, tmp_path / "build") == set()
        finally:
            with contextlib.suppress(DockerException):
                client.images.remove(reference, force=True)


def test_what_carries_a_label_is_removed_and_nothing_else(client: docker.DockerClient, tmp_path: Path) -> None:
    with derived(client, "RUN true", tmp_path) as reference:
        client.containers.create(reference, ["true"], labels={LABEL: "true"})
        with contextlib.closing(DockerImages(os.environ, build=tmp_path)) as images:
            assert reference in images.remove((LABEL,))
            assert images.state().id is not None
    assert client.containers.list(ignore_removed=True, all=True, filters={"label": LABEL}) == []
    assert client.images.list(filters={"label": LABEL}) == []


@contextlib.contextmanager
def kept(client: docker.DockerClient, deadline: int) -> Iterator[Container]:
    """A container whose main process is the keeper, as in a run."""
    container = client.containers.run(
        IMAGE,
        ["/opt/runner/keeper.sh", str(deadline)],
        user="900:900",
        detach=True,
        init=True,
        network_mode="none",
        cap_drop=["ALL"],
        read_only=True,
        pids_limit=32,
        labels={LABEL: "true"},
    )
    try:
        yield container
    finally:
        container.remove(force=True)


def ended(container: Container) -> int:
    return int(container.wait(timeout=60)["StatusCode"])


def test_the_keeper_ends_the_container_at_its_deadline(client: docker.DockerClient) -> None:
    with kept(client, 1) as container:
        assert ended(container) == 124


def test_a_fork_bomb_does_not_outlive_the_deadline_and_does_not_end_the_container_early(
    client: docker.DockerClient,
) -> None:
    with kept(client, 6) as container:
        container.exec_run(["/bin/sh", "-c", "b() { b | b & }; b; b"], user="1000", detach=True)
        assert ended(container) == 124


def test_repository_code_cannot_signal_the_keeper(client: docker.DockerClient) -> None:
    with kept(client, 30) as container:
        code, _ = container.exec_run(["/bin/sh", "-c", "kill -9 1 $(pgrep -f keeper.sh)"], user="1000")
        assert code != 0
        container.exec_run(["/bin/bash", "-c", "kill -9 -1"], user="1000")
        container.reload()
        assert container.status == "running"


@pytest.mark.slow
def test_the_keeper_ends_a_container_that_nobody_attends(client: docker.DockerClient) -> None:
    with kept(client, 55) as container:
        # An orphan that stays behind does not count as attendance, whatever it calls itself.
        name = "import ctypes, os, time; ctypes.CDLL(None).prctl(15, b'x) S 0\\nPPid:\\t0', 0, 0, 0); time.sleep(300)"
        container.exec_run(["/bin/sh", "-c", f'setsid python3 -c "{name}" >/dev/null 2>&1 &'], user="1000")
        assert ended(container) == 123


def _authority() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test Authority")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)
