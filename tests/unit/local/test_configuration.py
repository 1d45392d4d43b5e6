"""Time spans and settings in bindings are read as the host reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.host.configuration import lease_expiry_seconds, read_host_json, resolve, time_span_seconds
from local.process.errors import LocalRunError
from shared.errors import SettingError
from tests.support import ROOT


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:00:05", 5), ("01:02:03", 3723), ("1.00:00:00", 86400), ("00:00:00.5", 0.5)]
)
def test_a_time_span_is_read(text: str, seconds: float) -> None:
    """Days, hours, minutes, seconds and their fractions."""
    assert time_span_seconds(text) == seconds


def test_a_wrong_time_span_is_refused() -> None:
    """With what to write instead."""
    with pytest.raises(LocalRunError, match="hh:mm:ss"):
        time_span_seconds("5 minutes")


def test_settings_are_put_into_a_binding() -> None:
    """Several of them, anywhere in the text."""
    assert resolve("%A%-x-%B%", {"A": "1", "B": "2"}) == "1-x-2"


def test_an_unknown_setting_is_named() -> None:
    """Together with the text that refers to it."""
    with pytest.raises(SettingError, match=r"'%HUB%'.*HUB"):
        resolve("%HUB%", {})


@pytest.mark.parametrize(("setting", "seconds"), [({}, 10), ({"LOCAL_LEASE_EXPIRY_SECONDS": "2.5"}, 2.5)])
def test_the_expiry_of_leases_is_a_setting(setting: dict[str, str], seconds: float) -> None:
    """With a default."""
    assert lease_expiry_seconds(setting) == seconds


@pytest.mark.parametrize("text", ["x", "0", "-1", "nan", "inf"])
def test_an_expiry_that_is_no_time_is_refused(text: str) -> None:
    """With the setting and what to give."""
    with pytest.raises(SettingError, match=rf"LOCAL_LEASE_EXPIRY_SECONDS is '{text}': give a number of seconds"):
        lease_expiry_seconds({"LOCAL_LEASE_EXPIRY_SECONDS": text})


def test_this_app_limits_the_time_of_a_function() -> None:
    """The sweep's delay relies on a finite functionTimeout."""
    assert read_host_json(Path(ROOT)).function_timeout_seconds is not None
