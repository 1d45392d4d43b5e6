"""App settings: the only code that reads the environment.

Every setting that the product reads is declared here once, with its type, its default and what it means. The table in
docs/settings.md is made from these rows; `local.settings.sample.json` and the templates in
`infra/` are held to them by tests. Connections are settings, too: `connection_settings` reads those.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettingType(Generic[T]):
    """The type of a setting: in words, and as a function that returns None for an invalid text."""

    words: str
    parse: Callable[[str], T | None]


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A setting: its name, its type, its default (None: it must be set), and what it means."""

    name: str
    type: SettingType[T]
    default: str | None
    help: str


def _whole_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _seconds(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found <= 60 else None


_TEXT: Final = SettingType("text", str)
_ACCESS_MODE: Final = SettingType("keys or entra", lambda text: text if text in ("keys", "entra") else None)
_CONNECTION: Final = SettingType("connection", str)
_WHOLE_NUMBER: Final = SettingType("a whole number from 0 up", _whole_number)
_SECONDS: Final = SettingType("a number from 0 to 60", _seconds)
_SWITCH: Final = SettingType("true or false", lambda text: {"true": True, "false": False}.get(text.lower()))

INDEX_STORAGE: Final = Setting(
    "INDEX_STORAGE", _CONNECTION, None, "Connection of the storage account that holds the index tables"
)
INDEX_DEFINITIONS: Final = Setting(
    "INDEX_DEFINITIONS", _TEXT, "indexes.yaml", "The file with the definitions, from the app's root"
)
COSMOS: Final = Setting("COSMOS", _CONNECTION, None, "Connection of the Cosmos DB account that holds the facts")
EVENTHUB: Final = Setting(
    "EVENTHUB", _CONNECTION, None, "Connection of the Event Hubs namespace that facts arrive through"
)
FEED_POLL_DELAY_MS: Final = Setting(
    "FEED_POLL_DELAY_MS", _WHOLE_NUMBER, "1000", "Milliseconds between two looks at a drained change feed"
)
STORAGE_CALLS_MAX: Final = Setting(
    "STORAGE_CALLS_MAX",
    _WHOLE_NUMBER,
    "256",
    "Most calls that an instance has out to one storage account; below this it finds the right number itself",
)
SWEEP_DELAY_SECONDS: Final = Setting(
    "SWEEP_DELAY_SECONDS",
    _WHOLE_NUMBER,
    "3600",
    "How long tombstones stay: more than functionTimeout, lease expiry and retries",
)
ACCESS: Final = Setting(
    "ACCESS",
    _ACCESS_MODE,
    "keys",
    "Who lets callers in: `keys` of the host, or `entra`: App Service Authentication, which then must be switched on",
)
ACCESS_TENANTS: Final = Setting(
    "ACCESS_TENANTS",
    _TEXT,
    "",
    "With ACCESS=entra: tenants whose tokens are taken, with commas between; empty: any",
)
PAGE_TOKEN_KEY: Final = Setting(
    "PAGE_TOKEN_KEY",
    _TEXT,
    "",
    "Secret that seals page tokens, the same on all instances; empty: made from the storage account's key",
)
SEES_SECONDS: Final = Setting(
    "SEES_SECONDS", _SECONDS, "5", "How long a lookup with `sees` waits for the change, in seconds"
)
READ_SECONDARY: Final = Setting(
    "READ_SECONDARY",
    _SWITCH,
    "false",
    "true: lookups read from the storage account's secondary endpoint when the primary fails",
)
MCP_TOOLS: Final = Setting(
    "MCP_TOOLS", _SWITCH, "false", "true: each index is also a tool for assistants (Model Context Protocol)"
)
LEDGER_RETENTION_DAYS: Final = Setting(
    "LEDGER_RETENTION_DAYS",
    _WHOLE_NUMBER,
    "30",
    "How long deleted facts are remembered: longer than hubs and dead letters keep changes, and than any build runs",
)
DEAD_LETTER_RETENTION_DAYS: Final = Setting(
    "DEAD_LETTER_RETENTION_DAYS",
    _WHOLE_NUMBER,
    "14",
    "How long dead letters are kept: with the time that a hub keeps events, less than LEDGER_RETENTION_DAYS",
)
CATALOG_REFRESH_SECONDS: Final = Setting(
    "CATALOG_REFRESH_SECONDS",
    _SECONDS,
    "30",
    "How old the catalog may be, in seconds, that a batch or a lookup starts with",
)
BUILD_DELAY_SECONDS: Final = Setting(
    "BUILD_DELAY_SECONDS",
    _WHOLE_NUMBER,
    "1920",
    "How long a new generation waits to be built: more than CATALOG_REFRESH_SECONDS and functionTimeout",
)
GRACE_SECONDS: Final = Setting(
    "GRACE_SECONDS",
    _WHOLE_NUMBER,
    "86400",
    "How long a generation that serves no more, or whose definition is gone, stays: time to roll back and to page on",
)
VERIFY_SAMPLE: Final = Setting(
    "VERIFY_SAMPLE", _WHOLE_NUMBER, "200", "How many facts of each index are verified every hour; 0: none"
)
VERIFY_FULL_DAYS: Final = Setting(
    "VERIFY_FULL_DAYS", _WHOLE_NUMBER, "7", "After how many days all of an index is verified again; 0: never"
)
VERIFY_BUDGET: Final = Setting(
    "VERIFY_BUDGET", _WHOLE_NUMBER, "20", "Storage transactions per second of such a full verification; 0: no limit"
)
VERIFY_GRACE_SECONDS: Final = Setting(
    "VERIFY_GRACE_SECONDS",
    _WHOLE_NUMBER,
    "300",
    "A change that is younger and not applied yet is lag to a verification, not a fault",
)

ALL: Final[tuple[Setting[Any], ...]] = (
    INDEX_STORAGE,
    INDEX_DEFINITIONS,
    COSMOS,
    EVENTHUB,
    FEED_POLL_DELAY_MS,
    STORAGE_CALLS_MAX,
    SWEEP_DELAY_SECONDS,
    ACCESS,
    ACCESS_TENANTS,
    PAGE_TOKEN_KEY,
    SEES_SECONDS,
    READ_SECONDARY,
    MCP_TOOLS,
    LEDGER_RETENTION_DAYS,
    DEAD_LETTER_RETENTION_DAYS,
    CATALOG_REFRESH_SECONDS,
    BUILD_DELAY_SECONDS,
    GRACE_SECONDS,
    VERIFY_SAMPLE,
    VERIFY_FULL_DAYS,
    VERIFY_BUDGET,
    VERIFY_GRACE_SECONDS,
)

# Of the platform: the host's own storage, where our queues are, too; what wins over `functionTimeout` in host.json;
# where the app runs: Core Tools and the local run say Development; and whether it has a managed identity there.
HOST_STORAGE: Final = "AzureWebJobsStorage"
FUNCTION_TIMEOUT: Final = Setting(
    "AzureFunctionsJobHost__functionTimeout", _TEXT, "", "How long a function may run, hh:mm:ss"
)
HOST_ENVIRONMENT: Final = Setting("AZURE_FUNCTIONS_ENVIRONMENT", _TEXT, "", "Development on a developer's machine")
# Of a local run, which serves a copy: the file that people edit. While it is wrong, the status shows its faults.
EDITED_DEFINITIONS: Final = Setting(
    "EDITED_DEFINITIONS", _TEXT, "", "The file that the definitions come from, when the app serves a copy"
)
IDENTITY_ENDPOINT: Final = Setting(
    "IDENTITY_ENDPOINT", _TEXT, "", "Where Azure gives an app the tokens of its managed identity"
)
SWEEP_QUEUE = "index-sweep"
TASK_QUEUE = "index-tasks"
DEAD_LETTER_CONTAINER = "dead-letters"


class Settings:
    """The settings of a process: from the environment, or the defaults."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.environment = environment

    def value(self, setting: Setting[T]) -> T:
        """The setting's value or its default; an empty value counts as not set."""
        text = self.environment.get(setting.name) or setting.default
        if text is None:
            raise missing(setting)
        found = setting.type.parse(text)
        if found is None:
            raise SettingError(
                f"The app setting {setting.name} is {text!r}: make it {setting.type.words}. It is: {setting.help}."
            )
        return found

    def check_all(self) -> None:
        """Read every setting, so that a wrong one raises `SettingError` now, not when it is needed."""
        for setting in ALL:
            if setting.default is not None:
                self.value(setting)
        self.dead_letter_retention_days()

    def dead_letter_retention_days(self) -> int:
        """How long dead letters are kept: less than deleted facts are remembered, or a replay could bring one back."""
        days = self.value(DEAD_LETTER_RETENTION_DAYS)
        ledger_days = self.value(LEDGER_RETENTION_DAYS)
        if not 0 < days < ledger_days:
            raise SettingError(
                f"The app setting {DEAD_LETTER_RETENTION_DAYS.name} is {days}: make it at least 1 and less than "
                f"{LEDGER_RETENTION_DAYS.name}, which is {ledger_days}."
            )
        return days


def missing(setting: Setting[Any]) -> SettingError:
    """The error for a setting that must be set and is not."""
    return SettingError(f"The app setting {setting.name} is not set. It is: {setting.help}.")
