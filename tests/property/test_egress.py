"""Whatever bytes come, the readers answer or refuse with their one exception, and no rule is stretched."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.egress.addresses import decide_address
from runner.egress.frames import FrameKind, FrameReader, encode
from runner.egress.hello import HelloRefused, read_server_name
from runner.egress.request import RequestRefused, read_request, requested_target
from runner.egress.rules import EgressRules, decide_connect, normalise_host
from runner.egress.values import IPAddress
from runner.model.errors import PolicyInvalid, SandboxLost

unhurried = settings(deadline=None)  # a loaded machine is no failure
RULES = EgressRules.compile(["example.com", "*.below.example:8443"], {})
NEAR_HOSTS = st.text(st.sampled_from("exampl.com-below@:%2e/\\\0\n。E"), max_size=24)
INSIDE = [IPv4Network(text) for text in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16")]


@unhurried
@given(st.binary(max_size=300))
def test_garbage_frames_are_frames_or_sandbox_lost(data: bytes) -> None:
    with suppress(SandboxLost):
        FrameReader().feed(data)


@unhurried
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=10), st.integers(1, 30))
def test_cutting_the_stream_elsewhere_changes_no_frame(payloads: list[bytes], step: int) -> None:
    wire = b"".join(encode(FrameKind.DATA, 1, payload) for payload in payloads)
    reader = FrameReader()
    frames = [frame for at in range(0, len(wire), step) for frame in reader.feed(wire[at : at + step])]
    assert [frame.payload for frame in frames] == payloads


@unhurried
@given(st.binary(max_size=300) | st.builds(lambda tail: b"CONNECT " + tail + b"\r\n\r\n", st.binary(max_size=60)))
def test_garbage_requests_are_requests_or_refused(data: bytes) -> None:
    with suppress(RequestRefused):
        read_request(data)
    target = requested_target(data)
    assert len(target) <= 255
    assert all(" " <= char <= "~" for char in target)


@unhurried
@given(st.binary(max_size=300) | st.builds(lambda tail: b"\x16\x03\x01\x00\x80\x01\x00\x00\x7c" + tail, st.binary()))
def test_garbage_hellos_are_names_or_refused(data: bytes) -> None:
    with suppress(HelloRefused):
        read_server_name(data)


@unhurried
@given(NEAR_HOSTS | st.text(max_size=40), st.sampled_from([0, 80, 443, 8443, 65536]))
def test_only_the_named_hosts_are_allowed(host: str, port: int) -> None:
    if decide_connect(RULES, host, port).allowed:
        name = normalise_host(host)
        assert (name, port) == ("example.com", 443) or (name.endswith(".below.example") and port == 8443)


@unhurried
@given(st.text(max_size=40))
def test_any_entry_compiles_or_is_an_invalid_policy(entry: str) -> None:
    with suppress(PolicyInvalid):
        EgressRules.compile([entry], {})


@unhurried
@given(st.sampled_from(INSIDE), st.integers(0, 2**32 - 1))
def test_an_inside_address_is_refused_in_every_form_that_carries_it(network: IPv4Network, number: int) -> None:
    inside = IPv4Address(int(network.network_address) | (number & int(network.hostmask)))
    forms: list[IPAddress] = [
        inside,
        IPv6Address((0xFFFF << 32) | int(inside)),
        IPv6Address((0x64FF9B << 96) | int(inside)),
        IPv6Address((0x2002 << 112) | (int(inside) << 80)),
    ]
    assert not any(decide_address(form, is_own=lambda address: False).allowed for form in forms)
