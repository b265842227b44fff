"""Small private files that are replaced whole or not at all."""

import os
import secrets
from pathlib import Path


def replace(path: Path, content: str | bytes, mode: int = 0o600) -> None:
    """Write text (UTF-8) or bytes to `path`, durable; readers see the old file or the new one, never a part.

    Two writers at once do not get into each other's way: the later one wins. Raises OSError.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.draft")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
