"""OAuth 2.1 for clients that sign in instead of carrying a key (the SDK's server routes, this provider).

A token stands for a key of the person's: the consent page asks for one, the token may do at most what the key may,
and it dies with the key. Clients register themselves and are public (PKCE, no client secret). Tokens are kept as
SHA-256 in `<home>/keys/oauth.json`; codes and open requests only in memory.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from brain import private_files
from brain.locks import lock
from brain.services import access
from brain.workspace import Workspace

_CODE_S = 300
_REQUEST_S = 600
_ACCESS_S = 3_600
_REFRESH_S = 30 * 86_400
_MOST_CLIENTS = 200
_MOST_REQUESTS = 100
_MOST_TRIES = 5


@dataclass(slots=True)
class Request:
    """A client's wish to sign in, waiting for the person's consent."""

    client: OAuthClientInformationFull
    params: AuthorizationParams
    made: float
    tries: int = 0

    @property
    def scopes(self) -> list[str]:
        """What the client asks for."""
        return self.params.scopes or (self.client.scope or "read").split()


class Code(AuthorizationCode):
    """An authorization code and the key it stands for."""

    key_id: str


class Refresh(RefreshToken):
    """A refresh token and the key it stands for."""

    key_id: str


@dataclass(slots=True)
class _Kept:
    """What `oauth.json` holds: clients by id, tokens by hash."""

    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)


class Provider(OAuthAuthorizationServerProvider[Code, Refresh, AccessToken]):
    """Keys and tokens of one lake as the SDK's routes ask for them. `base` is the server's own public URL."""

    def __init__(self, ws: Workspace, base: str) -> None:
        self._ws = ws
        self._base = base
        self._requests: dict[str, Request] = {}
        self._codes: dict[str, Code] = {}

    async def load_access_token(self, token: str) -> AccessToken | None:
        """What a bearer token may do: a key of ours, or a token got by signing in."""
        if key := access.verify(self._ws, token):
            return AccessToken(token=token, client_id=key.name, scopes=key.scopes)
        record = self._read().tokens.get(_hash(token))
        if not record or record["use"] != "access" or (key := self._key(record)) is None:
            return None
        if record["expires_at"] < time.time():
            return None
        scopes = [scope for scope in record["scopes"] if scope in key.scopes]
        return AccessToken(
            token=token,
            client_id=f"{key.name}: {record['name']}",
            scopes=scopes,
            expires_at=record["expires_at"],
        )

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """A client that has registered."""
        record = self._read().clients.get(client_id)
        return OAuthClientInformationFull.model_validate(record) if record else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Remember a client, as a public one; of very many, those without a token are forgotten first."""
        if not client_info.redirect_uris:
            raise RegistrationError("invalid_redirect_uri", "a redirect_uri is needed")
        # The answer to the client is made of this object: it learns that it has no secret to keep.
        client_info.client_secret = None
        client_info.client_secret_expires_at = None
        client_info.token_endpoint_auth_method = "none"  # noqa: S105
        with self._changing() as kept:
            used = {record["client_id"] for record in kept.tokens.values()}
            spare = [client_id for client_id in kept.clients if client_id not in used]
            for client_id in spare[: max(0, len(kept.clients) - _MOST_CLIENTS + 1)]:
                del kept.clients[client_id]
            kept.clients[str(client_info.client_id)] = client_info.model_dump(mode="json", exclude_none=True)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Where the person's browser goes: our page that asks for consent and a key."""
        self._forget_old()
        if len(self._requests) >= _MOST_REQUESTS:
            raise AuthorizeError(
                "temporarily_unavailable", "too many open requests; try again in ten minutes"
            )
        ticket = secrets.token_urlsafe(24)
        self._requests[ticket] = Request(client, params, time.monotonic())
        return f"{self._base}/oauth/consent?request={ticket}"

    def waiting(self, ticket: str) -> Request | None:
        """The open request of this ticket."""
        self._forget_old()
        return self._requests.get(ticket)

    def refuse(self, ticket: str) -> str | None:
        """End a request by the person's no; returns where the browser goes."""
        request = self._requests.pop(ticket, None)
        if request is None:
            return None
        return _back(request, error="access_denied", error_description="the person said no")

    def consent(self, ticket: str, presented: str) -> str | None:
        """End a request by the person's yes, proven with a key; None when the key is not good for it.

        After five wrong keys the request is gone.
        """
        request = self._requests.get(ticket)
        if request is None:
            return None
        key = access.verify(self._ws, presented.strip())
        scopes = [scope for scope in request.scopes if key and scope in key.scopes]
        if key is None or not scopes:
            request.tries += 1
            if request.tries >= _MOST_TRIES:
                del self._requests[ticket]
            return None
        del self._requests[ticket]
        code = secrets.token_urlsafe(32)
        self._codes[code] = Code(
            code=code,
            scopes=scopes,
            expires_at=time.time() + _CODE_S,
            client_id=str(request.client.client_id),
            code_challenge=request.params.code_challenge,
            redirect_uri=request.params.redirect_uri,
            redirect_uri_provided_explicitly=request.params.redirect_uri_provided_explicitly,
            resource=request.params.resource,
            subject=key.id,
            key_id=key.id,
        )
        return _back(request, code=code)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> Code | None:
        """An unused code of this client."""
        code = self._codes.get(authorization_code)
        return code if code and code.client_id == client.client_id else None

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: Code
    ) -> OAuthToken:
        """Tokens for a code, once."""
        if self._codes.pop(authorization_code.code, None) is None:
            raise TokenError("invalid_grant", "this code was used already")
        return self._issue(client, authorization_code.key_id, authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> Refresh | None:
        """A good refresh token of this client."""
        record = self._read().tokens.get(_hash(refresh_token))
        if not record or record["use"] != "refresh" or record["client_id"] != client.client_id:
            return None
        if self._key(record) is None or record["expires_at"] < time.time():
            return None
        return Refresh(
            token=refresh_token,
            client_id=record["client_id"],
            scopes=record["scopes"],
            expires_at=record["expires_at"],
            key_id=record["key_id"],
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: Refresh, scopes: list[str]
    ) -> OAuthToken:
        """New tokens for a refresh token, which is used up by it together with its access token."""
        wanted = [scope for scope in refresh_token.scopes if not scopes or scope in scopes]
        if not self._drop(refresh_token.token):
            raise TokenError("invalid_grant", "this refresh token was used already")
        return self._issue(client, refresh_token.key_id, wanted)

    async def revoke_token(self, token: AccessToken | Refresh) -> None:
        """Forget a token and the other of its pair."""
        self._drop(token.token)

    def _issue(self, client: OAuthClientInformationFull, key_id: str, scopes: list[str]) -> OAuthToken:
        now = int(time.time())
        made = {use: secrets.token_urlsafe(32) for use in ("access", "refresh")}
        pair = secrets.token_hex(8)
        with self._changing() as kept:
            for use, lasts in (("access", _ACCESS_S), ("refresh", _REFRESH_S)):
                kept.tokens[_hash(made[use])] = {
                    "use": use,
                    "pair": pair,
                    "client_id": client.client_id,
                    "name": (client.client_name or "a client")[:60],
                    "key_id": key_id,
                    "scopes": scopes,
                    "expires_at": now + lasts,
                }
            kept.tokens = {h: r for h, r in kept.tokens.items() if r["expires_at"] > now}
        return OAuthToken(
            access_token=made["access"],
            token_type="Bearer",  # noqa: S106
            expires_in=_ACCESS_S,
            scope=" ".join(scopes),
            refresh_token=made["refresh"],
        )

    def _drop(self, token: str) -> bool:
        with self._changing() as kept:
            record = kept.tokens.get(_hash(token))
            if record:
                kept.tokens = {h: r for h, r in kept.tokens.items() if r["pair"] != record["pair"]}
        return record is not None

    def _key(self, record: dict[str, Any]) -> access.Key | None:
        """The key a token stands for, while it is good."""
        keys = (key for key in access.list_keys(self._ws) if key.id == record["key_id"])
        return next((key for key in keys if key.revoked_at is None), None)

    def _forget_old(self) -> None:
        oldest = time.monotonic() - _REQUEST_S
        self._requests = {t: r for t, r in self._requests.items() if r.made > oldest}
        self._codes = {c: code for c, code in self._codes.items() if code.expires_at > time.time()}

    def _read(self) -> _Kept:
        try:
            return _Kept(**json.loads(self._path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return _Kept()  # lost: clients register and people consent again

    @property
    def _path(self) -> Path:
        return self._ws.home.keys / "oauth.json"

    @contextmanager
    def _changing(self) -> Iterator[_Kept]:
        self._ws.home.ensure()
        with lock(self._ws.home.locks / "clients.lock", what="sign in"):
            kept = self._read()
            yield kept
            private_files.replace(self._path, json.dumps(asdict(kept)))


def _back(request: Request, **answer: str) -> str:
    return construct_redirect_uri(str(request.params.redirect_uri), state=request.params.state, **answer)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
