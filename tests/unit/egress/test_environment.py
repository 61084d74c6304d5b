"""The variables that commands get."""

from __future__ import annotations

from runner.egress.environment import ca_environment, proxy_environment


def test_every_proxy_variable_points_to_the_relay_and_none_excepts_a_host() -> None:
    found = proxy_environment(4000)
    exceptions = {name for name in found if not found[name]}
    assert exceptions == {"NO_PROXY", "no_proxy", "npm_config_noproxy"}
    assert found["NODE_USE_ENV_PROXY"] == "1"
    others = found.keys() - exceptions - {"NODE_USE_ENV_PROXY"}
    assert {"HTTPS_PROXY", "https_proxy", "npm_config_https_proxy", "npm_config_proxy"} <= others
    assert {found[name] for name in others} == {"http://127.0.0.1:4000"}


def test_the_certificates_are_named_to_every_program_by_the_path_inside() -> None:
    assert ca_environment("/opt/runner/ca.pem") == dict.fromkeys(
        ["NODE_EXTRA_CA_CERTS", "npm_config_cafile", "SSL_CERT_FILE", "GIT_SSL_CAINFO"], "/opt/runner/ca.pem"
    )
