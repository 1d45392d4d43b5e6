"""What a caller may do: look up which indexes, with which parts bound to their claims, and operate or not.

With ACCESS=keys the host has checked a key before any function runs, and there is nothing more to ask.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.errors import BadLookupError, ForbiddenError, NotSignedInError
from shared.web.principal import read_principal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from shared.definitions.access import Access
    from shared.errors import SuggestionJson
    from shared.inputs.parameters import Parameters
    from shared.web.principal import Principal


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one caller. Without a principal, a key has already opened the call."""

    access: Access
    principal: Principal | None

    def require_operator(self) -> None:
        """Raise `ForbiddenError` for a caller who is no operator."""
        self._require(self.access.operators, "This is a call of operators")

    @property
    def operates(self) -> bool:
        """Whether the caller is an operator, or has a key that opened the call."""
        return self.principal is None or not self.principal.roles.isdisjoint(self.access.operators)

    def require_any(self) -> None:
        """Raise `ForbiddenError` for a caller who may neither look anything up nor operate."""
        readers = [role for index in self.access.indexes.values() for role in index.readers]
        self._require((*self.access.readers, *readers, *self.access.operators), "This call is for callers with a role")

    def require_reader(self, index: str) -> None:
        """Raise `ForbiddenError` for a caller who may not look this index up."""
        self._require(self.access.of(index).readers, f'Index "{index}" is not for every caller')

    def may_read(self, index: str) -> bool:
        """Whether the caller may look this index up."""
        return self.principal is None or not self.principal.roles.isdisjoint(self.access.of(index).readers)

    def may_see_all(self, index: str) -> bool:
        """Whether the caller may know of every entry of this index: one whose part is bound may know of their own."""
        return self.operates or (self.may_read(index) and not self.access.of(index).bind)

    def known(self, indexes: Iterable[str]) -> list[str]:
        """Those whose names the caller may hear."""
        return [name for name in indexes if self.operates or self.may_read(name)]

    def readable(self, indexes: Iterable[str]) -> list[str]:
        """Those that the caller may look up."""
        return [name for name in indexes if self.may_read(name)]

    def bound(self, index: str, parameters: Parameters) -> Parameters:
        """The parameters with every bound part: filled in, or refused when it is asked for anything else."""
        if self.principal is None:
            return parameters
        filled = dict(parameters)
        for part, claim in self.access.of(index).bind:
            filled[part] = self._bound_value(part, claim, parameters)
        return filled

    @contextmanager
    def suggesting(self) -> Iterator[None]:
        """Refusals of lookups suggest only what the caller may ask."""
        try:
            yield
        except BadLookupError as error:
            if error.suggestion is not None and not self.may_ask(error.suggestion):
                error.suggestion = None
            raise

    def may_ask(self, suggested: SuggestionJson) -> bool:
        """Whether the caller would be answered, if they did what is suggested."""
        index, parameters = suggested.get("index"), suggested.get("parameters", {})
        if index is None:
            # A definition would be open to every reader, and is made from what all indexes have.
            return self.principal is None or not self.access.indexes
        try:
            self.require_reader(index)
            return self.bound(index, parameters) == parameters
        except ForbiddenError:
            return False

    def _bound_value(self, part: str, claim: str, parameters: Parameters) -> str:
        assert self.principal is not None
        values = [value for value in self.principal.claims.get(claim, ()) if value]
        if not values:
            raise ForbiddenError(f'The part "{part}" is bound to your claim "{claim}", which your token does not have.')
        rules = f'The part "{part}" is bound to your claim "{claim}"'
        if any(name.startswith(f"{part}.") for name in parameters):
            raise ForbiddenError(f"{rules}: leave it out, or give its value as {part}=….")
        given = parameters.get(part)
        if given is None and len(values) > 1:
            raise ForbiddenError(f"{rules}, which has several values: give one of them as {part}=….")
        if given is not None and given not in values:
            raise ForbiddenError(f"{rules}, and you gave another value: leave it out.")
        return values[0] if given is None else given

    def _require(self, roles: Collection[str], what: str) -> None:
        if self.principal is not None and self.principal.roles.isdisjoint(roles):
            wanted = " or ".join(dict.fromkeys(roles))
            raise ForbiddenError(f"{what}: it needs the app role {wanted}, which your token does not have.")


def signed_in(access: Access, headers: Mapping[str, str], tenants: Collection[str]) -> Rights:
    """The rights of the caller whose token was checked; raises `NotSignedInError` without one.

    Without `tenants`, tokens of any tenant are taken.
    """
    principal = read_principal(headers)
    if principal is None:
        raise NotSignedInError("This call needs a token of Microsoft Entra ID: send it as Authorization: Bearer TOKEN.")
    if tenants and not set(principal.claims.get("tid", ())) & set(tenants):
        raise NotSignedInError("Your token is of a tenant that this app does not take tokens from.")
    return Rights(access, principal)
