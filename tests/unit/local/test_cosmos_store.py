"""The file of the local Cosmos DB: one of the format before is taken over, one of a later format is refused."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from local.emulators.cosmos.data.store import FILE_NAME, DocumentStore
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from pathlib import Path


def with_format(folder: Path, number: int, *statements: str) -> None:
    """A file of another format."""
    DocumentStore(folder).close()
    with sqlite3.connect(folder / FILE_NAME) as file:
        for statement in (*statements, f"PRAGMA user_version = {number}"):
            file.execute(statement)
    file.close()


def test_a_file_of_the_format_before_is_taken_over(tmp_path: Path) -> None:
    """Its versions belong to no batch."""
    version = "INSERT INTO versions VALUES (1, 0, 7, '', 0, 'create', 0, NULL, NULL, NULL)"
    with_format(tmp_path, 1, "ALTER TABLE versions DROP COLUMN batch_lsn", version)
    for _ in range(2):
        store = DocumentStore(tmp_path)
        assert store.execute("SELECT lsn, batch_lsn FROM versions").fetchall() == [(7, None)]
        store.close()


def test_a_file_of_a_later_format_is_refused(tmp_path: Path) -> None:
    """With the way out."""
    with_format(tmp_path, 99)
    with pytest.raises(LocalRunError, match="has format 99, not 2: use a fresh folder"):
        DocumentStore(tmp_path)
