"""Bodies of requests, read with a bound, and refusals."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MOST_BYTES = 5_000_000


class Refusal(Exception):
    """A request that is not served: the status and why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def read_body(request: Request) -> bytes:
    """The raw body. Raises Refusal when it is too large."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BYTES:
            raise Refusal(413, f"the body is larger than {MOST_BYTES // 1_000_000} MB; send fewer events")
    return bytes(content)


async def read_json(request: Request) -> Any:
    """The JSON body. What a page can send without being asked (text/plain, forms) is refused by its type."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "the body must be application/json")
    return parse_json(await read_body(request))


def parse_json(content: bytes) -> Any:
    """The JSON in a body. Raises Refusal."""
    try:
        body = json.loads(content)
        return _encodable(body) if b"\\ud" in content.lower() else body
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "the body is not JSON") from error


def _encodable(value: Any) -> Any:
    """The same with halves of surrogate pairs, which JSON can carry and nothing that follows can, replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(each) for name, each in value.items()}
    return value


def refused(status: int, reason: str) -> Response:
    """The answer to a request that is not served."""
    return JSONResponse({"error": reason}, status)
