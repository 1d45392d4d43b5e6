"""Every error that the product raises on purpose.

    IndexTablesError
    ├── SettingError               a setting is missing or cannot be read
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


class TransientError(IndexTablesError):
    """The same call may succeed later. Wait, then try again."""


class StorageUnreachableError(TransientError):
    """Storage does not answer, or not to us. Check the account, the network and the identity's roles."""
