"""The storage accounts of the pipeline: one for ledger, catalog and dead letters, and those that hold index tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.entries.keys.placement import DEFAULT_ACCOUNT, AccountMap
from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shared.definitions.model import Index
    from shared.tables.port import Tables


@dataclass(frozen=True, slots=True)
class Accounts:
    """Storage accounts by the name of their connection."""

    by_name: Mapping[str, Tables]

    @property
    def main(self) -> Tables:
        """The account of the ledger."""
        return self.tables(DEFAULT_ACCOUNT)

    def tables(self, name: str) -> Tables:
        """The account with this name."""
        try:
            return self.by_name[name]
        except KeyError:
            raise SettingError(f"There is no storage connection {name}: set it, or name another account.") from None

    def require(self, indexes: Iterable[Index]) -> None:
        """Raise `SettingError` unless every account that these indexes are placed in is known."""
        for index in indexes:
            for name in AccountMap(index).accounts:
                try:
                    self.tables(name)
                except SettingError as error:
                    raise SettingError(f'Index "{index.name}" cannot be placed. {error}') from error
