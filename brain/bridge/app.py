"""The HTTP application: MCP at /mcp (and SSE for older clients), the extension's routes, sign-in, status."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from anyio import to_thread
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from brain import __version__
from brain.bridge import slack
from brain.bridge.background import Background
from brain.bridge.consent import Consent
from brain.bridge.extension import Extension
from brain.bridge.guards import LOOPBACK, HostCheck, KeyHeader
from brain.bridge.oauth import Provider
from brain.errors import UsageError
from brain.mcp_server import server
from brain.services import access
from brain.workspace import Workspace

# What signing in can give; whoever administers carries a key.
_SIGN_IN = ["read", "write"]


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens and by which names it may be called.

    `public_url` is how clients reach it through a reverse proxy that ends TLS; `hosts` are further Host names.
    """

    host: str = "127.0.0.1"
    port: int = 3747
    hosts: tuple[str, ...] = ()
    public_url: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in ("127.0.0.1", "::1", "localhost")

    @property
    def base(self) -> str:
        """The server's own URL as clients see it."""
        if self.public_url:
            return self.public_url.rstrip("/")
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}"

    @property
    def names(self) -> list[str]:
        """Host names that are ours."""
        public = [AnyHttpUrl(self.public_url).host or ""] if self.public_url else []
        return [*LOOPBACK, *self.hosts, *public]


def check(ws: Workspace, address: Address) -> None:
    """Raise UsageError when serving at this address would let strangers in, or cannot work."""
    if not address.is_local and not access.has_keys(ws):
        raise UsageError(
            f"{address.host} can be reached from other machines, and there is no key yet: "
            "make one with `brain keys add NAME`, or leave --host out"
        )
    if address.public_url:
        url = address.public_url
        if not url.startswith("https://") or AnyHttpUrl(url).path not in (None, "", "/"):
            raise UsageError("--public-url is the address of a reverse proxy: https://name, without a path")


def make_app(ws: Workspace, address: Address, toolsets: Sequence[str] = ("all",)) -> Starlette:
    """The application over one lake. Raises UsageError as `check` does, and for unknown tool sets."""
    check(ws, address)
    provider = Provider(ws, address.base)
    # Sign-in needs an address that is encrypted or never leaves the machine; keys do without it.
    signs_in = address.is_local or address.public_url is not None
    mcp = server.build(
        ws,
        toolsets,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(address.base if signs_in else "http://127.0.0.1"),
            resource_server_url=AnyHttpUrl(f"{address.base}/mcp") if signs_in else None,
            # Every tool asks for the scope it needs. Naming one here would make clients ask for that alone.
            required_scopes=None,
            validate_token_resource=False,  # the provider knows only tokens it made for this server
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=_SIGN_IN, default_scopes=_SIGN_IN
            ),
            revocation_options=RevocationOptions(enabled=True),
        ),
        **({"auth_server_provider": provider} if signs_in else {"token_verifier": KeysOnly(provider)}),
    )
    security = TransportSecuritySettings(
        allowed_hosts=[part for name in address.names for part in (name, f"{name}:*")],
        allowed_origins=[f"http://{name}:*" for name in LOOPBACK] + [address.base],
    )
    streamable = mcp.streamable_http_app(transport_security=security)
    older = mcp.sse_app(transport_security=security)
    routes: list[BaseRoute] = [
        Route("/api/status", _status, methods=["GET"]),
        *Extension(ws).routes(),
        *slack.routes(ws),
    ]
    if signs_in:
        routes.append(Route("/oauth/consent", Consent(provider).answer, methods=["GET", "POST"]))
    routes += streamable.routes
    known = {getattr(route, "path", None) for route in routes}
    routes += [route for route in older.routes if getattr(route, "path", None) not in known]

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        background = Background(ws)
        background.start()
        try:
            async with mcp.session_manager.run():
                yield
        finally:
            await to_thread.run_sync(background.stop)

    return Starlette(
        routes=routes,
        middleware=[
            Middleware(HostCheck, hosts=address.names),
            Middleware(KeyHeader),
            *streamable.user_middleware,
        ],
        lifespan=life,
    )


class KeysOnly:
    """Token check without sign-in."""

    def __init__(self, provider: Provider) -> None:
        self.verify_token = provider.load_access_token


async def _status(request: Request) -> Response:
    return JSONResponse({"name": "brainlake", "version": __version__})
