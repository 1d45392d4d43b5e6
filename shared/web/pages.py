"""The console: one page and its files, which ask the HTTP API for everything they show.

The page is not kept by caches. Its files lie under a version made from all of their contents, so that they are kept for
a year, and a new deployment is a new address. What a browser runs is only what comes from here.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from gzip import compress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared.web.answers import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER: Final = Path(__file__).parent
_PAGE: Final = _FOLDER / "console/index.html"
_MEDIA_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_INLINE: Final = re.compile(r"<script type=\"importmap\">(.*?)</script>", re.DOTALL)
_KEPT: Final = "public, max-age=31536000, immutable"
# A request for a file of another version comes while a deployment replaces instances: the page is loaded again then.
_NOT_FOUND: Final = 404
_FOUND: Final = 302


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it is sent."""

    media_type: str
    plain: bytes
    small: bytes


async def console(url: str, path: str, accepted: str) -> HttpAnswer:
    """The page, for an empty path, or one of its files; `accepted` are the encodings that the browser takes."""
    if not path.strip("/"):
        # The page names its files beside its own address.
        return (
            await moved("../console") if url.partition("?")[0].endswith("/") else _sent(_page(), accepted, _headers())
        )
    file = _files().get(path.removeprefix(f"{_version()}/")) if path.startswith(f"{_version()}/") else None
    if file is None:
        return HttpAnswer(b"There is no such file.", _NOT_FOUND, "text/plain")
    return _sent(file, accepted, {"Cache-Control": _KEPT})


async def moved(address: str) -> HttpAnswer:
    """What was here is at another address, relative to this one."""
    return HttpAnswer(b"", _FOUND, "text/plain", {"Location": address})


def _sent(file: _File, accepted: str, headers: Mapping[str, str]) -> HttpAnswer:
    common = {**headers, "Vary": "Accept-Encoding", "Referrer-Policy": "no-referrer"}
    if "gzip" in accepted:
        return HttpAnswer(file.small, media_type=file.media_type, headers={**common, "Content-Encoding": "gzip"})
    return HttpAnswer(file.plain, media_type=file.media_type, headers=common)


@cache
def _page() -> _File:
    """The page with the addresses of its files. The browser loads all modules at once, not one import after another."""
    modules = sorted(name for name in _files() if name.endswith(".js") and "uplot" not in name)
    preloads = "\n".join(f'<link rel="modulepreload" href="console/{_version()}/{name}">' for name in modules)
    text = _PAGE.read_text(encoding="utf-8").replace("{{modules}}", preloads)
    return _file("text/html", text.replace("{{files}}", f"console/{_version()}").encode())


@cache
def _headers() -> dict[str, str]:
    """Only what is here runs, is shown and is asked; text never becomes markup."""
    (inline,) = _INLINE.findall(_page().plain.decode())
    digest = b64encode(sha256(inline.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return {"Content-Security-Policy": policy}


@cache
def _files() -> dict[str, _File]:
    """Every file of the console, and of what it brings along, by its path."""
    found = sorted([*(_FOLDER / "console").rglob("*"), *(_FOLDER / "vendor").glob("*/*")])
    return {
        path.relative_to(_FOLDER).as_posix(): _file(_MEDIA_TYPES[path.suffix], path.read_bytes())
        for path in found
        if path.suffix in _MEDIA_TYPES
    }


@cache
def _version() -> str:
    digest = sha256(_PAGE.read_bytes())
    for name, file in _files().items():
        digest.update(f"{name}\0{len(file.plain)}\0".encode())
        digest.update(file.plain)
    return digest.hexdigest()[:12]


def _file(media_type: str, content: bytes) -> _File:
    return _File(media_type, content, compress(content, mtime=0))
