"""Every error that the product raises on purpose.

    IndexTablesError
    ├── SettingError               a setting is missing or cannot be read
    ├── DefinitionsError           indexes.yaml has faults; carries all of them
    ├── UnreadableChangeError      a change that cannot be read: a dead letter for its whole source
    ├── UnprojectableError         a fact that cannot be projected: a dead letter for one index
    └── TransientError             the same call may succeed later
        └── StorageUnreachableError    storage does not answer, or not to us

`local/errors.py` and `bench/errors.py` grow their own branches. A message says what is wrong, with which thing, and
what to do about it. Retrying is decided by type, never by text.
"""

from __future__ import annotations


class IndexTablesError(Exception):
    """The root of the tree; its text is a whole sentence for the operator."""


class SettingError(IndexTablesError):
    """A setting is missing or cannot be read. Correct the app setting that the message names."""


class DefinitionsError(IndexTablesError):
    """The definitions file has faults. Mend every one that the message lists, then load it again."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class UnreadableChangeError(IndexTablesError):
    """A change cannot be read. Correct its sender or the source's definition, then replay the dead letter."""


class UnprojectableError(IndexTablesError):
    """A fact does not fit an index. Correct the fact or the definition, then replay the dead letter."""


class TransientError(IndexTablesError):
    """The same call may succeed later. Wait, then try again."""


class StorageUnreachableError(TransientError):
    """Storage does not answer, or not to us. Check the account, the network and the identity's roles."""
