"""Whether the built site stands alone: links and anchors lead somewhere in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parents[2] / "dist" / "site"
# What a browser loads by itself when it shows a page.
LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """What a page loads, where it links to, and which anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.diagrams = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        if "id" in found:
            self.anchors.add(found["id"])
        if tag in LOADED and LOADED[tag] in found and found.get("rel") != "canonical":
            self.loads.append(found[LOADED[tag]])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        self.diagrams += tag == "pre" and found.get("class") == "mermaid"


def main() -> int:
    """Print every fault; 1 if there is any."""
    pages = {path: Page(path) for path in sorted(SITE.rglob("*.html"))}
    faults = [fault for path, page in pages.items() for fault in faults_of(path, page, pages)]
    faults += [] if any(page.diagrams for page in pages.values()) else ["no page has a diagram"]
    faults += [] if (SITE / "assets/mermaid.js").is_file() else ["what draws diagrams is missing"]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(pages)} pages, {sum(page.diagrams for page in pages.values())} diagrams, {len(faults)} faults")
    return 1 if faults or len(pages) < 2 else 0


def faults_of(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """What is wrong with one page."""
    name = path.relative_to(SITE)
    faults = [f"{name} loads {url} from elsewhere" for url in page.loads if urlsplit(url).netloc]
    for link in {*page.links, *page.loads}:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or path.name == "404.html":
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.exists():
            faults.append(f"{name} links to {link}, which is not there")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            faults.append(f"{name} links to {link}, whose anchor is not there")
    return faults


if __name__ == "__main__":
    sys.exit(main())
