"""A page of a lookup as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from shared.definitions.answer_types import InstantText, SchemaKeywords
from shared.definitions.instants import instant_text
from shared.inputs.parameters import to_query
from shared.lookup.reading.results import FoundEntry

if TYPE_CHECKING:
    from shared.lookup.lookups import LookupPage


class BehindJson(TypedDict):
    """A storage account that holds a part of the answer and lacks changes from this moment on."""

    account: str
    since: InstantText


class EntryPageJson(TypedDict):
    """A page of entries."""

    value: list[FoundEntry]
    nextLink: NotRequired[Annotated[str, SchemaKeywords("The next page; absent on the last one.", format="uri")]]
    behind: NotRequired[Annotated[list[BehindJson], SchemaKeywords("Storage accounts that were down.")]]
    readFrom: NotRequired[Annotated[Literal["secondary"], SchemaKeywords("The primary endpoint did not answer.")]]


def entry_page_json(page: LookupPage, url: str) -> EntryPageJson:
    """The page that the request with this URL asked for."""
    content: EntryPageJson = {"value": page.entries}
    if page.next_parameters is not None:
        content["nextLink"] = f"{url.partition('?')[0]}?{to_query(page.next_parameters)}"
    if page.behind:
        content["behind"] = [
            {"account": account, "since": instant_text(since)} for account, since in sorted(page.behind.items())
        ]
    if page.is_secondary:
        content["readFrom"] = "secondary"
    return content
