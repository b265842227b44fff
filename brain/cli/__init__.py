"""The `brain` command. `main` is its only entry: streams, options from anywhere, one translation of errors.

Nothing of the lake is imported here: `brain --help` must cost hardly more than Typer itself.
"""

import contextlib
import errno
import json
import os
import sys
from typing import TextIO

_FLAGS = ("--json", "--debug")


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code: 0 done, 1 nothing could be done, 2 wrong usage, 3 done in part."""
    _force_utf8()
    # LanceDB reads this when it is loaded, and warns of things that are as they should be.
    os.environ.setdefault("LANCEDB_LOG", "error")
    flags, args = hoist([_as_text(word) for word in (sys.argv[1:] if argv is None else argv)])
    as_json, debug = "--json" in flags, "--debug" in flags
    try:
        from brain.cli.app import app

        code = int(app(args=[*flags, *args], prog_name="brain", standalone_mode=False) or 0)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        return _quiet(sys.stdout)
    except Exception as error:  # the one place where errors become lines
        if debug:
            import traceback

            traceback.print_exc()
        return _report(error, as_json)
    if code == 130:  # Typer turns Ctrl-C into this code
        _say("interrupted", "interrupted", as_json)
    return code


def hoist(argv: list[str]) -> tuple[list[str], list[str]]:
    """Part `--home DIR`, `--json` and `--debug` from the rest, wherever they stand before a bare `--`."""
    end = argv.index("--") if "--" in argv else len(argv)
    front: list[str] = []
    rest: list[str] = []
    words = iter(argv[:end])
    for word in words:
        if word in _FLAGS or (word.startswith("--home=") and word != "--home="):
            front.append(word)
        elif word == "--home=":  # an empty variable does not mean the folder one happens to be in
            return [*front, "--home"], []
        elif word == "--home":
            folder = next(words, None)
            if not folder:  # alone, so that Typer names what is missing
                return [*front, word], []
            front.append(f"--home={folder}")
        else:
            rest.append(word)
    return front, [*rest, *argv[end:]]


def _as_text(word: str) -> str:
    """The word with U+FFFD for bytes that are no UTF-8, which nothing behind can hold; a file's name stays."""
    if word.isascii() or os.path.lexists(word):
        return word
    return os.fsencode(word).decode("utf-8", "replace") if os.name == "posix" else word


def _report(error: Exception, as_json: bool) -> int:
    from brain.errors import BrainError, UsageError, first_line

    if isinstance(error, BrainError):
        _say(error.code, str(error), as_json)
        return 2 if isinstance(error, UsageError) else 1
    if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
        sys.stderr.write(f"{error}\n")
        return 2
    if hasattr(error, "format_message"):  # Typer's own: unknown command or option, missing or bad value
        text = (
            "name a command; `brain --help` lists them"
            if type(error).__name__ == "NoArgsIsHelpError"
            else None
        )
        # Its validation puts the kind of its own error in front.
        _say("usage", text or error.format_message().replace("Value error, ", ""), as_json)
        return int(getattr(error, "exit_code", 2))
    if type(error).__name__ == "Abort":
        _say("interrupted", "stopped", as_json)
        return 1
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        _say("disk", "the disk is full; free some space, then run the command again", as_json)
        return 1
    _say("internal", f"{type(error).__name__}: {first_line(error)}; run with --debug to see where", as_json)
    return 1


def _say(code: str, message: str, as_json: bool) -> None:
    from brain.plaintext import clean

    text = clean(message)
    document = {"error": {"code": code, "message": text}}
    line = json.dumps(document, ensure_ascii=False) if as_json else f"error: {text}"
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        _quiet(sys.stderr)


def _quiet(stream: TextIO) -> int:
    """The reader of our output has gone: let nothing complain about it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 1


def _force_utf8() -> None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            errors = "strict" if stream is sys.stdin else "replace"
            reconfigure(encoding="utf-8", errors="surrogateescape" if errors == "strict" else errors)
