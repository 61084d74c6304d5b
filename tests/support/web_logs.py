"""nginx as the tests' servers run it: its configuration, and its log of requests as values."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

__all__ = ["GIT_LOCATION", "PORT", "Request", "nginx_configuration", "packages_location", "parse_requests"]

PORT = 8443

_FRAME = """daemon off;
pid /tmp/nginx.pid;
# One worker, so that requests are logged before a later one is answered.
worker_processes 1;
events { worker_connections 64; }
http {
    client_body_temp_path /tmp/body;
    fastcgi_temp_path /tmp/fastcgi;
    proxy_temp_path /tmp/proxy;
    scgi_temp_path /tmp/scgi;
    uwsgi_temp_path /tmp/uwsgi;
    client_max_body_size 0;
    log_format seen escape=json '{"method":"$request_method","path":"$request_uri","status":"$status",'
        '"authorization":"$http_authorization","host":"$http_host","server_name":"$ssl_server_name",'
        '"request":"$request"}';
    access_log /srv/log/requests seen;
    server {
        listen %(port)d ssl;
        ssl_certificate /srv/etc/server.pem;
        ssl_certificate_key /srv/etc/server.pem;
        default_type application/json;
%(location)s
    }
}
"""

GIT_LOCATION = """
        auth_basic "tests";
        auth_basic_user_file /srv/etc/users;
        location / {
            fastcgi_pass unix:/tmp/fcgiwrap.sock;
            fastcgi_read_timeout 300;
            fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
            fastcgi_param GIT_PROJECT_ROOT /srv/repos;
            fastcgi_param GIT_HTTP_EXPORT_ALL 1;
            fastcgi_param GIT_PROTOCOL $http_git_protocol;
            fastcgi_param PATH_INFO $uri;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REMOTE_USER $remote_user;
            fastcgi_param REMOTE_ADDR $remote_addr;
        }
"""

# A packument names tarballs by full address: the one that the client came to, by name or by number.
_PACKAGES_LOCATION = """
        root /srv/packages;
        sub_filter_types application/json;
        sub_filter_once off;
        sub_filter 'https://registry.invalid' 'https://$http_host';
        location / {
            %(guard)s
            try_files $uri/packument.json $uri =404;
        }
"""


@dataclass(frozen=True)
class Request:
    """One request as it arrived. `path` is as it was written; `user` and `password` are of basic authentication.

    `line` is the whole request line; it is all there is of a request that is none.
    """

    method: str
    path: str
    status: int
    authorization: str
    host: str
    server_name: str
    line: str

    @property
    def user(self) -> str:
        """The user name that was sent, empty where none was."""
        return _basic(self.authorization).partition(":")[0]

    @property
    def password(self) -> str:
        """The password or token that was sent, empty where none was."""
        return _basic(self.authorization).partition(":")[2]


def nginx_configuration(location: str) -> bytes:
    """A server on PORT with this location."""
    return (_FRAME % {"port": PORT, "location": location}).encode("ascii")


def packages_location(token: str | None) -> str:
    """Serves packages to anybody, or to who sends the token."""
    guard = "" if token is None else f'if ($http_authorization != "Bearer {token}") {{ return 401; }}'
    return _PACKAGES_LOCATION % {"guard": guard}


def parse_requests(log: str) -> list[Request]:
    """The requests of a log, in the order of their ends."""
    return [_request(json.loads(line)) for line in log.splitlines()]


def _request(fields: dict[str, str]) -> Request:
    return Request(
        method=fields["method"],
        path=fields["path"],
        status=int(fields["status"]),
        authorization=fields["authorization"],
        host=fields["host"],
        server_name=fields["server_name"],
        line=fields["request"],
    )


def _basic(authorization: str) -> str:
    if not authorization.startswith("Basic "):
        return ""
    return base64.b64decode(authorization.removeprefix("Basic ")).decode("utf-8", "replace")
