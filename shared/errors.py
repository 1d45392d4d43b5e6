"""Every error that the product raises on purpose.

    IndexTablesError
    ├── SettingError           a setting is missing or cannot be read
    ├── LocalRunError          the embedded Azure cannot start or go on
    └── AmqpError              what a client of the local Event Hubs is told (local/eventhubs/amqp/errors.py)

A message says what is wrong, with which thing, and what to do about it. An error that is worth another try
is a `TransientError` as well: retrying is decided by type, never by text.
"""

from __future__ import annotations


class IndexTablesError(Exception):
    """The root of the tree; its text is a whole sentence for the operator."""


class TransientError(IndexTablesError):
    """Marks errors after which the same call may succeed. Wait, then try again."""


class SettingError(IndexTablesError):
    """A setting is missing or cannot be read. Correct the app setting that the message names."""


class LocalRunError(IndexTablesError):
    """The embedded Azure cannot start or go on. Do what the message says, then start it again."""
