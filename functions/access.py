"""What the host asks of callers before a function runs: a key, or nothing, where Entra ID says who calls.

With ACCESS=entra the functions ask for the caller's rights themselves; with a setting that cannot be read, keys are
asked for, and the functions then say what is wrong with it.
"""

from __future__ import annotations

from typing import Final

import azure.functions as func

from shared.app.app import app
from shared.errors import SettingError


def _level(with_keys: func.AuthLevel) -> func.AuthLevel:
    try:
        return func.AuthLevel.ANONYMOUS if app().is_entra else with_keys
    except SettingError:
        return with_keys


CALLERS: Final = _level(func.AuthLevel.FUNCTION)
OPERATORS: Final = _level(func.AuthLevel.ADMIN)
