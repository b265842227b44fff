"""MCP over HTTP: a real server, the official client, keys, sign-in, and everyone who must stay out."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from brain.bridge.app import Address, make_app
from brain.bridge.guards import GUARDS
from brain.errors import UsageError
from brain.services import access
from brain.workspace import Workspace, open_workspace

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Served:
    """A running server and its lake."""

    url: str
    ws: Workspace
    log: Path

    def key(self, name: str, scope: str = "read") -> str:
        return access.add_key(self.ws, name, scope).secret


@pytest.fixture(scope="module")
def server(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("bridge") / "höme 湖"
    shutil.copytree(sample_home, home)
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = home.with_name("log")
    command = [sys.executable, "-m", "brain", "--home", str(home), "serve", "--port", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                httpx2.get(f"{url}/api/status")
                break
            except httpx2.TransportError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        yield Served(url, open_workspace(home), log)
    finally:
        process.terminate()
        process.wait(20)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "0"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("header", ["Authorization", "x-brain-key"])
async def test_a_client_with_a_key_reads_the_lake(server: Served, mode: str, header: str) -> None:
    secret = server.key(f"reader {mode} {header}")
    headers = {header: f"Bearer {secret}" if header == "Authorization" else secret}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        for _ in range(2):
            async with Client(
                streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode
            ) as client:
                assert "search_memory" in {tool.name for tool in (await client.list_tools()).tools}
                answer = await client.call_tool("query_lake", {"sql": "SELECT count(*) AS n FROM visits"})
                visits = server.ws.lake.sql("SELECT count(*) FROM visits").item()
                assert answer.structured_content == {"columns": ["n"], "rows": [[visits]], "truncated": False}


async def test_an_older_client_reads_over_sse(server: Served) -> None:
    headers = {"Authorization": f"Bearer {server.key('sse')}"}
    async with Client(sse_client(f"{server.url}/sse", headers=headers), mode="legacy") as client:
        answer = await client.call_tool("query_lake", {"sql": "SELECT 1 AS one"})
        assert answer.structured_content == {"columns": ["one"], "rows": [[1]], "truncated": False}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": "Basic YTpi"},
        {"x-brain-key": "brain_000000000000_" + "a" * 43},
        {"Authorization": "Bearer"},
    ],
)
async def test_nobody_without_a_good_key_comes_in(server: Served, headers: dict[str, str]) -> None:
    async with httpx2.AsyncClient(timeout=20) as http:
        answer = await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=ACCEPT | headers)
        assert answer.status_code == 401
        assert "Bearer" in answer.headers["www-authenticate"]


async def test_a_key_in_the_address_is_no_key(server: Served) -> None:
    secret = server.key("query string")
    async with httpx2.AsyncClient(timeout=20) as http:
        for name in ("key", "access_token", "x-brain-key"):
            answer = await http.post(f"{server.url}/mcp?{name}={secret}", json=INITIALIZE, headers=ACCEPT)
            assert answer.status_code == 401


async def test_a_revoked_key_is_out_at_its_next_request(server: Served) -> None:
    headers = ACCEPT | {"Authorization": f"Bearer {server.key('short-lived')}"}
    async with httpx2.AsyncClient(timeout=20) as http:
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=headers)).status_code == 200
        access.revoke_key(server.ws, "short-lived")
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=headers)).status_code == 401


@pytest.mark.parametrize("path", sorted(GUARDS))
async def test_a_foreign_host_gets_nothing_from_any_route(server: Served, path: str) -> None:
    headers = ACCEPT | {"Host": "evil.example", "Authorization": f"Bearer {server.key(f'host {path}')}"}
    async with httpx2.AsyncClient(timeout=20) as http:
        for method in ("GET", "POST"):
            answer = await http.request(method, f"{server.url}{path}", headers=headers)
            assert answer.status_code == 421
            assert "Host" in answer.json()["error"]


async def test_a_foreign_page_cannot_use_even_a_good_key(server: Served) -> None:
    headers = ACCEPT | {"Origin": "https://evil.example", "Authorization": f"Bearer {server.key('origin')}"}
    async with httpx2.AsyncClient(timeout=20) as http:
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=headers)).status_code == 403


async def test_status_tells_strangers_no_more_than_that_it_is_there(server: Served) -> None:
    async with httpx2.AsyncClient(timeout=20) as http:
        answer = await http.get(f"{server.url}/api/status")
        assert set(answer.json()) == {"name", "version"}
        assert "access-control-allow-origin" not in answer.headers


def test_every_route_declares_its_guard(workspace: Workspace) -> None:
    workspace.home.ensure()
    (workspace.home.keys / "slack_signing_secret").write_text("secret")
    app = make_app(workspace, Address())
    paths = {getattr(route, "path", None) for route in app.routes}
    assert paths == set(GUARDS)


@pytest.mark.parametrize("path", sorted(path for path, guard in GUARDS.items() if guard == "key"))
async def test_a_route_that_wants_a_key_wants_it_for_every_method(server: Served, path: str) -> None:
    async with httpx2.AsyncClient(timeout=20) as http:
        for method in ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD"):
            whole = f"{server.url}{path}/" if path == "/messages" else f"{server.url}{path}"
            answer = await http.request(method, whole, headers=ACCEPT)
            assert answer.status_code in (401, 405), method


class Memory:
    """What the SDK's sign-in keeps on the client's side."""

    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


class Browser:
    """The person's browser on the consent page."""

    def __init__(self, key: str, answer: str = "yes") -> None:
        self.key, self.answer, self.page, self.back = key, answer, "", ""

    async def go(self, url: str) -> None:
        async with httpx2.AsyncClient(timeout=20, follow_redirects=False) as http:
            shown = await http.get(url, follow_redirects=True)
            self.page = shown.text
            sent = await http.post(str(shown.url), data={"key": self.key, "answer": self.answer})
            self.back = sent.headers.get("location", "")
            assert sent.status_code == 302, sent.text

    async def returned(self) -> AuthorizationCodeResult:
        told = {name: values[0] for name, values in parse_qs(urlsplit(self.back).query).items()}
        if "error" in told:
            raise OAuthFlowError(told["error"])
        return AuthorizationCodeResult(code=told["code"], state=told["state"])


def sign_in(
    server: Served, memory: Memory, browser: Browser, scope: str | None = None
) -> OAuthClientProvider:
    return OAuthClientProvider(
        server_url=f"{server.url}/mcp",
        client_metadata=OAuthClientMetadata(
            client_name="<b>Helper</b>", redirect_uris=[AnyUrl("http://127.0.0.1:9/callback")], scope=scope
        ),
        storage=memory,
        redirect_handler=browser.go,
        callback_handler=browser.returned,
    )


async def scopes_of(server: Served, provider: OAuthClientProvider) -> list[str]:
    """Sign in, call a tool, and tell what the token may do."""
    async with (
        httpx2.AsyncClient(auth=provider, timeout=60) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        answer = await client.call_tool("query_lake", {"sql": "SELECT 1 AS one"})
        assert not answer.is_error
    tokens = provider.context.current_tokens
    assert tokens is not None
    assert tokens.scope is not None
    return tokens.scope.split()


async def test_a_client_signs_in_with_the_consent_of_whoever_holds_a_key(server: Served) -> None:
    memory, browser = Memory(), Browser(server.key("person", "write"))
    assert await scopes_of(server, sign_in(server, memory, browser)) == ["read", "write"]
    assert "&lt;b&gt;Helper&lt;/b&gt;" in browser.page
    assert memory.info is not None
    assert memory.info.client_secret is None
    kept = (server.ws.home.keys / "oauth.json").read_text("utf-8")
    assert memory.tokens is not None
    assert memory.tokens.access_token not in kept
    assert str(memory.tokens.refresh_token) not in kept


async def test_a_client_may_never_do_more_than_the_key_it_stands_for(server: Served) -> None:
    memory, browser = Memory(), Browser(server.key("only reads"))
    assert await scopes_of(server, sign_in(server, memory, browser, "read write")) == ["read"]


async def test_signing_in_never_makes_an_administrator(server: Served) -> None:
    meta = {"client_name": "x", "redirect_uris": ["http://127.0.0.1:9/cb"], "scope": "read admin"}
    async with httpx2.AsyncClient(timeout=20) as http:
        assert (await http.post(f"{server.url}/register", json=meta)).status_code == 400
    browser = Browser(server.key("boss", "admin"))
    assert await scopes_of(server, sign_in(server, Memory(), browser)) == ["read", "write"]


async def test_signing_in_ends_with_the_key(server: Served) -> None:
    memory, browser = Memory(), Browser(server.key("lent", "read"))
    await scopes_of(server, sign_in(server, memory, browser))
    assert memory.tokens is not None
    headers = ACCEPT | {"Authorization": f"Bearer {memory.tokens.access_token}"}
    async with httpx2.AsyncClient(timeout=20) as http:
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=headers)).status_code == 200
        access.revoke_key(server.ws, "lent")
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=headers)).status_code == 401


async def test_a_refresh_token_works_once_and_takes_the_old_pair_with_it(server: Served) -> None:
    memory, browser = Memory(), Browser(server.key("refreshing", "read"))
    await scopes_of(server, sign_in(server, memory, browser))
    assert memory.tokens is not None
    assert memory.info is not None
    form = {
        "grant_type": "refresh_token",
        "refresh_token": str(memory.tokens.refresh_token),
        "client_id": str(memory.info.client_id),
    }
    old = ACCEPT | {"Authorization": f"Bearer {memory.tokens.access_token}"}
    async with httpx2.AsyncClient(timeout=20) as http:
        renewed = await http.post(f"{server.url}/token", data=form)
        assert renewed.status_code == 200
        again = await http.post(f"{server.url}/token", data=form)
        assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=old)).status_code == 401
        new = ACCEPT | {"Authorization": f"Bearer {renewed.json()['access_token']}"}
        assert (await http.post(f"{server.url}/mcp", json=INITIALIZE, headers=new)).status_code == 200


async def test_the_persons_no_is_an_answer(server: Served) -> None:
    with pytest.raises((OAuthFlowError, ExceptionGroup)):
        await scopes_of(server, sign_in(server, Memory(), Browser("", answer="no")))


async def test_five_wrong_keys_end_a_request(server: Served) -> None:
    async with httpx2.AsyncClient(timeout=20, follow_redirects=False) as http:
        meta = {
            "client_name": "x",
            "redirect_uris": ["http://127.0.0.1:9/cb"],
            "token_endpoint_auth_method": "none",
        }
        client_id = (await http.post(f"{server.url}/register", json=meta)).json()["client_id"]
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": "http://127.0.0.1:9/cb",
            "code_challenge": "a" * 43,
            "code_challenge_method": "S256",
            "state": "s",
        }
        page = (await http.get(f"{server.url}/authorize", params=query)).headers["location"]
        for number in range(5):
            answer = await http.post(
                page, data={"key": "brain_" + "0" * 12 + "_" + "a" * 43, "answer": "yes"}
            )
            assert answer.status_code == (403 if number < 4 else 410)
        good = await http.post(page, data={"key": server.key("too late"), "answer": "yes"})
        assert good.status_code == 410


async def test_another_page_cannot_send_the_consent_form(server: Served) -> None:
    async with httpx2.AsyncClient(timeout=20) as http:
        sent = await http.post(
            f"{server.url}/oauth/consent?request=x",
            data={"key": "k"},
            headers={"Origin": "https://evil.example"},
        )
        assert sent.status_code == 403
        shown = await http.get(f"{server.url}/oauth/consent?request=x")
        assert "default-src 'none'" in shown.headers["content-security-policy"]


def test_an_address_beyond_this_machine_needs_a_key_first(workspace: Workspace) -> None:
    open_to_all = Address(host="0.0.0.0", public_url="https://brain.example.org")
    with pytest.raises(UsageError, match="brain keys add"):
        make_app(workspace, open_to_all)
    access.add_key(workspace, "mine")
    make_app(workspace, open_to_all)
    access.revoke_key(workspace, "mine")
    with pytest.raises(UsageError, match="brain keys add"):
        make_app(workspace, open_to_all)


def test_without_encryption_nobody_is_asked_to_type_a_key_into_a_page(workspace: Workspace) -> None:
    access.add_key(workspace, "mine")
    app = make_app(workspace, Address(host="0.0.0.0"))
    # Every page of the sign-in is missing; what wants a key in a header stays.
    assert {getattr(route, "path", "") for route in app.routes} == {
        *(
            "/api/status",
            "/api/pair",
            "/api/events",
            "/api/commands",
            "/api/commands/{command}",
            "/api/search",
        ),
        "/api/check-context",
        "/api/suggest-grouping",
        "/api/cleanup",
        *("/mcp", "/sse", "/messages"),
    }


@pytest.mark.parametrize(
    "url", ["http://brain.example.org", "https://brain.example.org/path", "brain.example.org"]
)
def test_a_public_address_must_be_encrypted_and_whole(workspace: Workspace, url: str) -> None:
    with pytest.raises(UsageError, match="--public-url"):
        make_app(workspace, Address(public_url=url))


def test_a_taken_port_is_said_in_one_line(server: Served) -> None:
    port = server.url.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "brain", "--home", str(server.ws.home.root), "serve", "--port", port]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert ran.stderr == (
        f"error: cannot listen on 127.0.0.1:{port}: another program listens there already; choose another --port\n"
    )


def test_no_key_is_in_the_log(server: Served) -> None:
    assert "brain_" not in server.log.read_text("utf-8")
