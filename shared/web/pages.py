"""HTML pages: one answer each, with a policy that allows only the scripts and styles inside the page."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from shared.web.answers import HttpAnswer

_FOLDER: Final = Path(__file__).parent
_INLINE: Final = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
_PLACE: Final = re.compile(r"\{\{([a-z.]+)\}\}")
# What goes where a page says {{name}}.
_PARTS: Final = {
    "uplot.css": "vendor/uplot/uPlot.min.css",
    "uplot.js": "vendor/uplot/uPlot.iife.min.js",
    "status.css": "status.css",
    "status.js": "status.js",
}


async def docs_page() -> HttpAnswer:
    """The browsable page of the API, which loads the OpenAPI document with the reader's key."""
    return _page("docs.html")


async def status_page() -> HttpAnswer:
    """The page that shows the status, loaded with the reader's key."""
    return _page("status.html")


@cache
def _page(name: str) -> HttpAnswer:
    text = _PLACE.sub(lambda place: _read(_PARTS[place[1]]), _read(name))
    policy = (
        f"default-src 'none'; script-src {_hashes(text, 'script')}; style-src {_hashes(text, 'style')}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return HttpAnswer(text.encode(), media_type="text/html", headers=headers)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hashes(text: str, kind: str) -> str:
    """The blocks of a page that the policy allows, by their hashes."""
    return " ".join(f"'sha256-{_digest(content)}'" for found, content in _INLINE.findall(text) if found == kind)


def _digest(content: str) -> str:
    return b64encode(sha256(content.encode()).digest()).decode("ascii")
