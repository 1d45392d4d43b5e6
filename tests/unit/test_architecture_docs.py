"""No page names what is not there, and docs/code-map.md has every module with what it is."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePosixPath
from typing import Final

import pytest

from tests.docs import generated
from tests.support import ROOT

ARCHITECTURE: Final = "docs/architecture.md"
PAGES: Final = [
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
]
DIAGRAMS: Final = {"flowchart", "sequenceDiagram", "classDiagram", "stateDiagram-v2"}
PACKAGES: Final = {"bench", "cli", "functions", "local", "shared", "tests"}
# What developers or commands make; git does not keep it.
MADE: Final = {"local.settings.json", "local/node_modules"}

_CODE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FENCED: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_MODULE: Final = re.compile(r"[a-z]\w*(?:\.\w+)+")
# A word of a diagram that can only be a name: `two_words` or `TwoWords`.
_COMPOUND: Final = re.compile(r"\b(?:[a-z]+_\w+|[A-Z][a-z]+[A-Z]\w*)\b")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")


@cache
def text_of(page: str) -> str:
    """The text of a page, by its path from the root."""
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def tracked_files() -> frozenset[str]:
    """Every file of the project, also one that is new and not ignored."""
    return frozenset(generated.tracked("."))


@cache
def folders() -> frozenset[str]:
    """Every folder of the project."""
    return frozenset(parent.as_posix() for name in tracked_files() for parent in PurePosixPath(name).parents)


def code_in(text: str) -> list[str]:
    """What stands in backticks, outside of blocks."""
    return _CODE.findall(_FENCED.sub("", text))


def test_every_module_says_what_it_is() -> None:
    """In the first sentence of its docstring, which is its row of docs/code-map.md."""
    assert re.findall(r"^\| `\w+` \|  ?\|$", text_of("docs/code-map.md"), re.MULTILINE) == []


def diagrams_in(page: str) -> list[str]:
    """The text of each diagram of a page."""
    return re.findall(r"^```mermaid\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)


def test_every_name_of_the_architecture_is_in_the_code() -> None:
    """Classes, functions and constants, also in diagrams: a rename reaches the page."""
    in_text = [
        code for code in code_in(text_of(ARCHITECTURE)) if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", code)
    ]
    names = {word for code in in_text for word in code.split(".")}
    names |= {word for diagram in diagrams_in(ARCHITECTURE) for word in _COMPOUND.findall(diagram)}
    sources = [ROOT / name for name in tracked_files() if name.endswith((".py", ".yaml", ".toml"))]
    known = {word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert sorted(names - known) == []


def is_there(path: str) -> bool:
    """Whether a path of the project is a file or a folder."""
    return path in MADE or path in tracked_files() or path in folders()


def is_module_or_member(dotted: str) -> bool:
    """Whether a dotted name is a module, a package, or a name in one."""
    path = dotted.replace(".", "/")
    if is_there(f"{path}.py") or is_there(path):
        return True
    module, _, member = dotted.rpartition(".")
    file = ROOT / f"{module.replace('.', '/')}.py"
    return file.exists() and re.search(rf"\b{member}\b", file.read_text(encoding="utf-8")) is not None


def is_missing(code: str, page: str) -> bool:
    """Whether this looks like a file, folder or module of the project, and is none."""
    words = code.split()
    if len(words) != 1:
        return any(is_missing(word, page) for word in words) if words else False
    beside = PurePosixPath(page).parent.as_posix()
    if _PATH.fullmatch(code):
        path = code.rstrip("/")
        if "/" in path and path.partition("/")[0] in folders():
            return not is_there(path)
        if path.endswith(".py"):
            return not any(name == path or name.endswith(f"/{path}") for name in tracked_files())
        if path.endswith(".md"):
            return not (is_there(path) or is_there(f"{beside}/{path}"))
    if _MODULE.fullmatch(code) and code.partition(".")[0] in PACKAGES:
        return not (is_there(code) or is_module_or_member(code))
    return False


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_every_path_and_module_that_a_page_names_is_there(page: str) -> None:
    """In backticks: files, folders and modules of the project."""
    assert [code for code in code_in(text_of(page)) if is_missing(code, page)] == []


def anchors_of(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    """To a file or folder of the project, and to a heading in it."""
    broken = []
    for link in _LINK.findall(_FENCED.sub("", text_of(page))):
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith(
            "../../actions/"
        ):  # pages that GitHub makes, beside those of the repository
            continue
        target = (ROOT / page).parent.joinpath(path).resolve() if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors_of(target.relative_to(ROOT).as_posix())):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_every_diagram_is_of_a_known_kind(page: str) -> None:
    """A block that begins otherwise is shown as an error."""
    assert {diagram.split()[0] for diagram in diagrams_in(page)} <= DIAGRAMS


def test_the_architecture_has_a_diagram_of_each_path() -> None:
    """A change, a lookup, a build and a dead letter."""
    for path in ("a change", "a lookup", "a build", "a dead letter"):
        section = text_of(ARCHITECTURE).partition(f"\n## The path of {path}\n")[2].partition("\n## ")[0]
        assert "```mermaid" in section, path
