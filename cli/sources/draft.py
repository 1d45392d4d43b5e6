"""Drafts definitions from facts: which fields make good keys, and why. A person has the last word."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.definitions.loading.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cli.sources.profile import Field, Profile

_INDEXES_MAX: Final = 3
_FEWEST_VALUES: Final = 3
_LARGEST_SHARE: Final = 0.8
_FACTS_OF_A_VALUE: Final = 1.5
# So few facts say little: there, a value that two of them share is enough.
_FEW_FACTS: Final = 20
_USEFUL_LIST: Final = 5
_LONGEST_PART: Final = 200
_SMALL_FACT_BYTES: Final = 2000
_PROJECTED: Final = 4
_COMMON: Final = 0.5
_LOOKED_UP_BY: Final = re.compile(r".*(email|phone|sku|slug|isbn|code|number|userName|login).*", re.IGNORECASE)
_NAMES_PEOPLE_READ: Final = re.compile(r".*(name|title).*", re.IGNORECASE)
_AMOUNT: Final = re.compile(r".*(version|revision|count|quantity|total|price|amount|size).*", re.IGNORECASE)
_PART_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED: Final = frozenset({"code", "clientId", "select", "expand", "sees", "maxpagesize", "token", "filter"})
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_NOT_TEXT_IN_YAML: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A field that a lookup could ask for, how good it is, and why."""

    field: Field
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """A source and the indexes on it, as lines of a definitions file."""

    name: str
    profile: Profile
    has_events: bool = False

    def partition_key(self) -> tuple[str, str]:
        """The path that the container is partitioned by, and why."""
        for found in self.profile.fields.values():
            is_owner = re.fullmatch(r".*[a-z0-9](Id|_id)", found.name) and found.names != ("id",)
            if (
                is_owner
                and self.profile.is_of_one_kind(found)
                and found.type == "string"
                and not found.is_list
                and self.profile.share(found) == 1
            ):
                return found.path, f"every fact has a {found.name}, of which there are {found.distinct:,}"
        return "id", "no other field of all facts looks like an owner's id"

    def candidates(self) -> list[Candidate]:
        """The fields to look facts up by, best first."""
        found = [self._candidate(each) for each in self.profile.fields.values()]
        named: dict[str, Candidate] = {}
        for candidate in sorted(filter(None, found), key=lambda each: -each.score):
            named.setdefault(index_name(self.name, candidate.field), candidate)
        return list(named.values())

    def _candidate(self, found: Field) -> Candidate | None:
        if found.type not in ("string", "integer") or found.longest > _LONGEST_PART or found.names == ("id",):
            return None
        if not self.profile.is_of_one_kind(found):
            return None
        if found.type == "integer" and _AMOUNT.fullmatch(found.name):
            return None
        share, each = self.profile.share(found), found.count / max(found.distinct, 1)
        told = f"{found.type}, in {share:.0%} of the facts, {found.distinct:,} values"
        if found.distinct == found.count and not found.is_list:
            is_looked_up = found.type == "string" and _LOOKED_UP_BY.fullmatch(found.name)
            return Candidate(found, 0.4 * share, f"{told}: each finds one fact") if is_looked_up else None
        if not self._is_shared(found) or found.largest_share > _LARGEST_SHARE:
            return None
        # Best are lists of several facts, of which none has nearly all of them.
        score = share * (1 - found.largest_share) * min(each / _USEFUL_LIST, 1) * (1 if found.type == "string" else 0.6)
        reason = f"{told}, about {each:,.1f} facts each, at most {found.largest_share:.0%} of all in one"
        return Candidate(found, score, reason)

    def _is_shared(self, found: Field) -> bool:
        """Whether there are several values, of several facts each."""
        if self.profile.facts < _FEW_FACTS:
            return 1 < found.distinct < found.count
        return found.distinct >= _FEWEST_VALUES and found.count >= _FACTS_OF_A_VALUE * found.distinct

    def sort(self, by: Field) -> Field | None:
        """What to order the facts of a value by: the newest first, or a name."""
        fields = [each for each in self.profile.fields.values() if not each.is_list and each is not by]
        whole = [each for each in fields if self.profile.share(each) == 1 and each.longest <= _LONGEST_PART]
        times = [each for each in whole if each.type == "datetime"]
        texts = [each for each in whole if each.type == "string" and _NAMES_PEOPLE_READ.fullmatch(each.name)]
        return next(iter([*times, *texts]), None)

    def project(self, keys: Sequence[Field]) -> str:
        """What an entry carries: the fact, or of large facts a few small fields."""
        if self.profile.bytes <= _SMALL_FACT_BYTES * self.profile.facts:
            return "all"
        known = {key.names for key in keys} | {("id",)}
        small = [
            each.path
            for each in self.profile.fields.values()
            if not each.is_list and each.type and each.names not in known and self.profile.share(each) >= _COMMON
        ]
        return f"[{', '.join(map(_text, small[:_PROJECTED]))}]" if small else "keys"


def definitions_text(sources: Sequence[SourceDraft], database: str) -> str:
    """A definitions file without faults, in which comments say why."""
    said = "# Drafted from facts. Keep what lookups need: each index costs a write for each change."
    described = [line for source in sources for line in _source_lines(source, database)]
    drafted = [line for source in sources for line in _index_lines(source, sources, database)]
    has_indexes = any(not line.strip().startswith("#") for line in drafted)
    head = "indexes:" if has_indexes else "indexes: {}"
    return "\n".join([said, "version: 1", "", "sources:", *described, "", head, *drafted, ""])


def _source_lines(source: SourceDraft, database: str) -> Iterator[str]:
    path, reason = source.partition_key()
    yield f"  {source.name}:"
    if source.has_events:
        yield f"    eventHub: {source.name}"
    else:
        yield f"    cosmos: {{database: {_text(database)}, container: {source.name}}}"
    yield f"    partitionKey: {_text(path)}  # {reason}; it must be that of the container"


def _index_lines(source: SourceDraft, sources: Sequence[SourceDraft], database: str) -> Iterator[str]:
    """The best candidates as indexes, the others as comments."""
    head = "\n".join(["version: 1", "sources:", *(line for each in sources for line in _source_lines(each, database))])
    kept = 0
    for candidate in source.candidates():
        lines = list(_index(source, candidate))
        loaded = load("\n".join([head, "indexes:", *lines]))
        is_advised_against = any(advice.key.endswith(".partition") for advice in loaded.advice)
        if loaded.faults:
            continue
        if kept == _INDEXES_MAX or is_advised_against:
            why = ": but it has few values, or only grows" if is_advised_against else ""
            yield f"  # Not drafted: {candidate.field.path}{why}. {candidate.reason[0].upper()}{candidate.reason[1:]}."
            continue
        kept += 1
        yield from lines
    if not kept:
        yield f"  # No field of {source.name} has values that several facts share: nothing suggests a key."


def _index(source: SourceDraft, candidate: Candidate) -> Iterator[str]:
    by = candidate.field
    name = index_name(source.name, by)
    is_one = by.distinct == by.count
    sort = None if is_one else source.sort(by)
    yield f"  # {by.path}: {candidate.reason}."
    yield f"  {name}:"
    yield f"    source: {source.name}"
    if by.is_list:
        element = _singular(by.name)
        yield f"    each: {{{element}: {_text(by.path)}}}"
        yield f"    partition: {_part(element, element, by, set())}"
    else:
        yield f"    partition: {_part(by.path, by.name, by, set())}"
    if sort is not None:
        taken = {_singular(by.name) if by.is_list else by.name}
        yield f"    sort: [{_part(sort.path, sort.name, sort, taken)}]"
    yield f"    project: {source.project([by, *([sort] if sort else [])])}"


def _part(path: str, name: str, found: Field, taken: set[str]) -> str:
    """A key part; in a line of its own words when its path says all."""
    options: dict[str, str] = {}
    if not _PART_NAME.fullmatch(name) or name in _RESERVED or name in taken or "." in path or path != name:
        options["name"] = _free_name(name, taken)
    if found.type != "string":
        options["type"] = str(found.type)
    if found.type == "datetime":
        options["order"] = "desc"
    if not options:
        return _text(path)
    return "{" + ", ".join(f"{key}: {value}" for key, value in {"path": _text(path), **options}.items()) + "}"


def _free_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "", name)
    plain = plain if _PART_NAME.fullmatch(plain) else f"by{plain}"
    return f"{plain}Value" if plain in _RESERVED or plain in taken else plain


def index_name(source: str, by: Field) -> str:
    """What an index is called."""
    return slug(f"{source}-by-{_singular(by.name) if by.is_list else by.name}")


def slug(text: str) -> str:
    """Text as the name of a source or an index."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", text)
    plain = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return (plain if plain[:1].isalpha() else f"facts-{plain}".strip("-"))[:63].strip("-")


def _singular(name: str) -> str:
    """What one element of a list is called."""
    plain = _free_name(name, set())
    return plain[:-1] if re.fullmatch(r".{2,}[^s]s", plain) else f"{plain}Element"


def _text(text: str) -> str:
    """A text as YAML has it."""
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT_IN_YAML
    return text if is_plain else json.dumps(text)
