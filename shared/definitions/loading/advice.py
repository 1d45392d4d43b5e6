"""Advice: what the Index Table pattern warns about and a definition alone can show. Never a fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.definitions.expressions import is_slice

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings
    from shared.definitions.model import Definitions, Index, KeyPart

# From this many whole copies on, each change of a fact is mostly copying.
_WHOLE_COPIES = 3
_FEW_VALUES: Final = re.compile(r"(?:is|has)[A-Z_].*|active|deleted|enabled|flag|gender|kind|sex|state|status|type")
_GROWING: Final = re.compile(r".*(?:[a-z_]At|[dD]ate|[tT]ime|[tT]imestamp|_ts)|date|time|timestamp")


def advise(definitions: Definitions, findings: Findings) -> None:
    """Advise on definitions that have no fault."""
    for index in definitions.indexes.values():
        _advise_on_partition(index, findings)
        _advise_on_slices(index, findings)
        _advise_on_key(index, findings)
    _advise_on_copies(definitions, findings)
    _advise_on_twins(definitions, findings)
    _advise_on_hubs(definitions, findings)
    for source in definitions.sources.values():
        if not definitions.indexes_of(source.name):
            findings.advise(("sources", source.name), "no index uses this source", "Take it out, or add an index.")


def _advise_on_partition(index: Index, findings: Findings) -> None:
    at = ("indexes", index.name, "partition")
    is_spread = index.shards > 1 or bool(index.hot)
    if all(map(_has_few_values, index.partition)) and not is_spread:
        what = "the partition has very few values, so each holds a large share of all entries"
        findings.advise(at, what, 'Add a part with more values, or spread it with "shards".')
    first = index.partition[0]
    if first.type == "datetime" or _GROWING.fullmatch(first.name):
        what = f'"{first.name}" only grows, so all new entries go to one end of the table'
        findings.advise(at, what, 'Put another part first, and the time into "sort".')
    if any(part.order == "desc" for part in index.partition):
        what = '"order" of a partition part has no effect but on lookups of several partitions (".in")'
        findings.advise(at, what, 'Take "order" out, or move the part to "sort".')


def _has_few_values(part: KeyPart) -> bool:
    return part.type == "boolean" or _FEW_VALUES.fullmatch(part.name) is not None


def _advise_on_slices(index: Index, findings: Findings) -> None:
    for half, parts in (("partition", index.partition), ("sort", index.sort)):
        for number, part in enumerate(parts):
            if is_slice(part.path):
                what = f'"{part.path}" takes a slice of a list; a slice of a text is nothing, so no fact has an entry'
                fix = "Keep that part of the text in a field of its own, such as a date beside a time, and name it."
                findings.advise(("indexes", index.name, half, number), what, fix)


def _advise_on_key(index: Index, findings: Findings) -> None:
    if index.each is None:
        return
    name = re.compile(rf"\b{index.each.name}\b")
    if not any(name.search(part.path) for part in index.parts):
        what = f'no key part uses the element "{index.each.name}", so each fact has only one entry'
        findings.advise(("indexes", index.name, "each"), what, 'Use it in "partition" or "sort", or take "each" out.')


def _advise_on_copies(definitions: Definitions, findings: Findings) -> None:
    for source in definitions.sources.values():
        copies = [index for index in definitions.indexes_of(source.name) if index.project == "all"]
        # Events are the mark of a volatile source; a container may be as static as a catalogue.
        if len(copies) >= _WHOLE_COPIES + (source.event_hub is None):
            what = f'{len(copies)} indexes carry whole facts of "{source.name}": each change rewrites every copy'
            fix = 'Project the fields that lookups need; "expand=fact" fetches the rest.'
            findings.advise(("indexes", copies[-1].name, "project"), what, fix)


def _advise_on_hubs(definitions: Definitions, findings: Findings) -> None:
    """Sources that share a hub judge each event for themselves: one that does not choose takes what is another's."""
    for hub in definitions.hubs():
        sharing = definitions.sources_of_hub(hub)
        for source in sharing:
            others = [other for other in sharing if other is not source]
            form = source.events.form
            takes_any = form in ("document", "mapping") or form in [other.events.form for other in others]
            if others and takes_any and form != "envelope" and source.events.when is None:
                what = f'it takes the events of "{others[0].name}", too, which shares its hub'
                fix = 'Say in "events.when" which events are its own.'
                findings.advise(("sources", source.name, "events"), what, fix)


def _advise_on_twins(definitions: Definitions, findings: Findings) -> None:
    seen: dict[object, str] = {}
    for index in definitions.indexes.values():
        # Neither an account of its own nor readers of its own are given up for a few fields.
        own = (index.placement, definitions.access.of(index.name), index.is_summary)
        key = (index.source, index.each, index.where, index.partition, index.sort, *own)
        if (first := seen.setdefault(key, index.name)) != index.name:
            what = f'it has the same key as "{first}"'
            findings.advise(("indexes", index.name), what, 'Keep one, with the fields of both in "project".')
