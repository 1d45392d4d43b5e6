"""What the host is told: `host.json`, `local.settings.json`, the environment, and `%SETTING%` in bindings."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.process.errors import LocalRunError
from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_ROUTE_PREFIX = "api"
# The plan that the templates deploy to, Flex Consumption, ends functions after half an hour by default.
DEFAULT_FUNCTION_TIMEOUT_SECONDS = 30 * 60.0
# 60 in Azure. A laptop has one or two hosts, which are killed and restarted all the time, and a minute is too long to
# wait for a feed or hub to go on. The setting makes it shorter still.
LEASE_EXPIRY_SECONDS = 10.0
LEASE_EXPIRY_SETTING = "LOCAL_LEASE_EXPIRY_SECONDS"

_TIME_SPAN = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d+)?)")
_SETTING_IN_TEXT = re.compile(r"%([^%]+)%")


@dataclass(frozen=True, slots=True)
class HostJson:
    """The parts of `host.json` that the local host acts on."""

    route_prefix: str
    function_timeout_seconds: float | None
    extensions: Mapping[str, Any]

    def extension(self, name: str) -> Mapping[str, Any]:
        """The section of one extension, such as `queues`; empty when there is none."""
        section = self.extensions.get(name, {})
        if not isinstance(section, dict):
            raise LocalRunError(f"host.json: extensions.{name} is not an object; write {{...}} there.")
        return section


def read_host_json(app_folder: Path) -> HostJson:
    """Read and check the app's `host.json`."""
    content = _read_json_object(app_folder / "host.json")
    if content.get("version") != "2.0":
        raise LocalRunError('host.json: "version" is not "2.0"; that is the only version that Azure runs.')
    extensions = content.get("extensions", {})
    if not isinstance(extensions, dict):
        raise LocalRunError('host.json: "extensions" is not an object; write {...} there.')
    return HostJson(
        route_prefix=str(extensions.get("http", {}).get("routePrefix", DEFAULT_ROUTE_PREFIX)).strip("/"),
        function_timeout_seconds=_function_timeout(content.get("functionTimeout")),
        extensions=extensions,
    )


def read_app_settings(app_folder: Path) -> dict[str, str]:
    """The app settings: the `Values` of `local.settings.json`, over which the environment wins."""
    path = app_folder / "local.settings.json"
    values = _read_json_object(path).get("Values", {}) if path.is_file() else {}
    if not isinstance(values, dict):
        raise LocalRunError('local.settings.json: "Values" is not an object; write {...} there.')
    return {**{name: str(value) for name, value in values.items()}, **os.environ}


def resolve(text: str, settings: Mapping[str, str]) -> str:
    """Replace each `%NAME%` in a binding's property by the app setting of that name."""

    def value(match: re.Match[str]) -> str:
        try:
            return settings[match[1]]
        except KeyError:
            message = f"A binding says {text!r}, but there is no app setting {match[1]}: set it."
            raise SettingError(message) from None

    return _SETTING_IN_TEXT.sub(value, text)


def lease_expiry_seconds(settings: Mapping[str, str]) -> float:
    """After how many seconds a lease that its owner does not renew is free; raises `SettingError`."""
    text = settings.get(LEASE_EXPIRY_SETTING) or str(LEASE_EXPIRY_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise SettingError(f"The setting {LEASE_EXPIRY_SETTING} is {text!r}: give a number of seconds above 0.")
    return seconds


def time_span_seconds(text: str) -> float:
    """The seconds in a .NET time span, `[d.]hh:mm:ss[.fff]`."""
    match = _TIME_SPAN.fullmatch(text)
    if not match:
        raise LocalRunError(f"{text!r} is not a time span; write hh:mm:ss.")
    days, hours, minutes, seconds = match.groups()
    return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)


def _function_timeout(value: object) -> float | None:
    if value is None:
        return DEFAULT_FUNCTION_TIMEOUT_SECONDS
    if value == "-1":
        return None
    try:
        return time_span_seconds(str(value))
    except LocalRunError as error:
        raise LocalRunError(f"host.json: functionTimeout: {error}") from None


def _read_json_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise LocalRunError(f"{path} is missing: the folder of a function app has one.") from None
    except json.JSONDecodeError as error:
        raise LocalRunError(
            f"{path}, line {error.lineno}, column {error.colno}: {error.msg}. Correct the JSON."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LocalRunError(f"{path} cannot be read: {error}.") from None
    if not isinstance(content, dict):
        raise LocalRunError(f"{path}, line 1: expected a JSON object.")
    return content
