"""Storage accounts of one's own: the parameter `existingIndexStorage`, as `azd` fills it in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shared.app import settings
from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shared.definitions.loading.findings import Findings

_PARAMETER: Final = "existingIndexStorage"
_FORM: Final = 'Use {"INDEX_1": {"name": "...", "resourceGroup": "..."}}.'


def check_own_storage(value: Any, placed: Collection[str], findings: Findings) -> None:
    """Report accounts that cannot be found, that are found in two places, or that no placement asks for."""
    accounts = _accounts(value)
    if accounts is None:
        findings.fault((), f"the parameter {_PARAMETER} is not an object of accounts by connection", _FORM)
        return
    _check_used(accounts, placed, findings)
    _check_groups(accounts, findings)


def _accounts(value: Any) -> dict[str, dict[str, Any]] | None:
    """The accounts by connection; none of them when nothing is given, None when it is something else."""
    try:
        found = json.loads(value) if isinstance(value, str) and value else value
    except ValueError:
        return None
    if found in (None, ""):
        return {}
    is_right = isinstance(found, dict) and all(isinstance(account, dict) for account in found.values())
    return found if is_right else None


def _check_used(accounts: Mapping[str, Any], placed: Collection[str], findings: Findings) -> None:
    named = {settings.INDEX_STORAGE.name, *placed}
    for connection in sorted(accounts.keys() - named):
        what = f"the parameter {_PARAMETER} has an account for {connection}, but no placement names {connection}"
        findings.fault((), what, f"Without it a new account is made. {did_you_mean(connection, sorted(named))}".strip())


def _check_groups(accounts: Mapping[str, Mapping[str, Any]], findings: Findings) -> None:
    first: dict[str, tuple[str, str]] = {}
    for connection, account in accounts.items():
        missing = [key for key in ("name", "resourceGroup") if not account.get(key)]
        if missing:
            findings.fault((), f"the parameter {_PARAMETER}: {connection} has no {' and no '.join(missing)}", _FORM)
            continue
        name, group = str(account["name"]), str(account["resourceGroup"])
        other, other_group = first.setdefault(name.lower(), (connection, group))
        if other_group.lower() != group.lower():
            what = (
                f'the parameter {_PARAMETER}: {other} and {connection} name the account "{name}" in two resource groups'
            )
            findings.fault((), f'{what}, "{other_group}" and "{group}"', "An account is in one group: name that one.")
