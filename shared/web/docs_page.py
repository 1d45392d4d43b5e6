"""The browsable page of the API: one file of our own, which loads the OpenAPI document with the reader's key."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from shared.web.answers import Answer

_FILE: Final = Path(__file__).with_name("docs.html")
_INLINE: Final = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


async def docs_page() -> Answer:
    """The page, with a policy that lets run nothing but what is written in it."""
    return _page()


@lru_cache(maxsize=1)
def _page() -> Answer:
    text = _FILE.read_text(encoding="utf-8")
    hashes = {kind: f"'sha256-{_digest(content)}'" for kind, content in _INLINE.findall(text)}
    policy = (
        f"default-src 'none'; script-src {hashes['script']}; style-src {hashes['style']}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return Answer(text.encode(), media_type="text/html", headers=headers)


def _digest(content: str) -> str:
    return b64encode(sha256(content.encode()).digest()).decode("ascii")
