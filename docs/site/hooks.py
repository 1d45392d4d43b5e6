"""What MkDocs needs besides its settings: pages that lie outside of docs/, and scripts that no network has to bring.

GitHub and the site show the same files. Their links are those of the repository; here they become links of the site.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PACKAGES = Path(__file__).with_name("node_modules")
SCRIPTS = {
    "assets/mermaid.js": PACKAGES / "@mermaid-js/tiny/dist/mermaid.tiny.js",
    "assets/iframe-worker.js": PACKAGES / "iframe-worker/shim/index.js",
}
# Pages at the root of the repository, with their place on the site. The README is its first page.
PAGES = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
PAGES |= {"SECURITY.md": "SECURITY.md"}

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\]\([^)]*\))*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add what is not in docs/."""
    for place, script in SCRIPTS.items():
        if not script.is_file():
            raise PluginError(f"{script} is missing: `make docs` installs it.")
        files.append(File.generated(config, place, abs_src_path=str(script)))
    for name, place in PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links of the repository into links of the site."""
    names = {place: name for name, place in PAGES.items()}
    uri = page.file.src_uri
    source = PurePosixPath(names[uri]) if uri in names else PurePosixPath("docs") / uri

    def of_the_site(text: str) -> str:
        return text if text.startswith("```") else _LINK.sub(lambda link: _linked(link, source), text)

    return "".join(map(of_the_site, _FENCED.split(markdown)))


def _linked(link: re.Match[str], source: PurePosixPath) -> str:
    bang, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if "](" in text:  # an image that is a link
        text = _LINK.sub(lambda inner: _linked(inner, source), text)
    if "://" in target:
        return link[0]
    path = _normal(source.parent / target)
    if path in PAGES:
        return f"{bang}[{text}]({PAGES[path]}{anchor})"
    if path.startswith("docs/"):
        return f"{bang}[{text}]({path.removeprefix('docs/')}{anchor})"
    # Code and what GitHub makes are not on the site.
    return "" if bang else text


def _normal(path: PurePosixPath) -> str:
    found: list[str] = []
    for part in path.parts:
        if part == "..":
            if not found:
                return path.as_posix()
            found.pop()
        else:
            found.append(part)
    return "/".join(found)
