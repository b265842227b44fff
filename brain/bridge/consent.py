"""The page on which a person lets a client in."""

import html

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from brain.bridge.oauth import Provider
from brain.bridge.oauth import Request as SignIn
from brain.plaintext import clean

_MEANING = {
    "read": "search and read everything",
    "write": "add and change thoughts and notes",
    "admin": "administer the lake",
}
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 32rem; margin: 12vh auto; padding: 0 1.5rem }
h1 { font-size: 1.4rem } code { overflow-wrap: anywhere }
label { display: block; margin: 1.5rem 0 .3rem }
input { font: inherit; width: 100%; padding: .5rem; box-sizing: border-box }
p.wrong { color: light-dark(#a40000, #ff8f8f) } menu { display: flex; gap: 1rem; padding: 0 }
button { font: inherit; padding: .5rem 1.2rem }
"""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Consent:
    """GET shows who asks for what; POST takes the person's answer."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def answer(self, request: Request) -> Response:
        """Answer one request of the person's browser."""
        ticket = request.query_params.get("request", "")
        if request.method == "POST":
            # A page elsewhere may send this form, but not with our Origin, and never with a key.
            if request.headers.get("origin", "null") not in ("null", str(request.base_url).rstrip("/")):
                return _page("This form was not sent from its own page.", 403)
            form = await request.form(max_files=0, max_fields=5)
            if form.get("answer") == "no":
                back = self._provider.refuse(ticket)
            else:
                back = self._provider.consent(ticket, str(form.get("key", "")))
            if back:
                return RedirectResponse(back, 302, headers={"Cache-Control": "no-store"})
        if (waiting := self._provider.waiting(ticket)) is None:
            return _page("This request has ended. Start again from the client.", 410)
        return _form(waiting, wrong=request.method == "POST")


def _form(waiting: SignIn, wrong: bool) -> HTMLResponse:
    name = html.escape(clean(waiting.client.client_name or "A client without a name"))
    target = html.escape(clean(waiting.params.redirect_uri))
    wishes = "".join(f"<li>{html.escape(_MEANING.get(s, s))}</li>" for s in waiting.scopes)
    said = '<p class="wrong" role="alert">This key is not good for that. Try another.</p>' if wrong else ""
    body = f"""<h1>Let <q>{name}</q> into your lake?</h1>
<p>It asks to</p><ul>{wishes}</ul>
<p>and will be answered at <code>{target}</code>. It gave itself that name:
go on only if you have just asked it to connect.</p>
{said}<form method="post"><label for="key">One of your keys (<code>brain keys add NAME</code> makes one)</label>
<input id="key" name="key" type="password" autocomplete="off" autofocus>
<menu><button name="answer" value="yes">Let it in</button><button name="answer" value="no">No</button></menu></form>"""
    return _html(body, 403 if wrong else 200)


def _page(text: str, status: int) -> HTMLResponse:
    return _html(f"<h1>{html.escape(text)}</h1>", status)


def _html(body: str, status: int) -> HTMLResponse:
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    page = f"{head}<title>Brainlake: let a client in</title><style>{_STYLE}</style><main>{body}</main></html>"
    return HTMLResponse(page, status, headers=_HEADERS)
