"""The OpenAPI document is good food for tools: linters find nothing, and generated types say what there is."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.files import read_definitions
from shared.web.openapi.document import openapi
from tests.clients.node import FOLDER, MODULES, compile_typescript, node
from tests.support import ROOT
from tests.worlds.lookup_facts import DEFINITIONS

if TYPE_CHECKING:
    from pathlib import Path

    from shared.definitions.model import Index


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The document of this project's own definitions."""
    return written(tmp_path, openapi(read_definitions(ROOT / "indexes.yaml").require()))


def written(folder: Path, document: dict[str, Any]) -> Path:
    """The document as a file."""
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    return file


def test_linters_find_nothing_in_the_document(document: Path) -> None:
    """spectral:oas and redocly's recommended rules."""
    assert node("lint-document.mjs", document) == ""


@pytest.mark.parametrize("indexes", [DEFINITIONS.indexes, {}], ids=["every type", "none"])
def test_linters_find_nothing_whatever_the_indexes_are(indexes: dict[str, Index], tmp_path: Path) -> None:
    """Nor for a caller who may read none."""
    document = openapi(replace(DEFINITIONS, indexes=indexes))
    assert node("lint-document.mjs", written(tmp_path, document)) == ""


def test_linters_find_what_is_wrong_in_a_document(tmp_path: Path) -> None:
    """Both of them: otherwise that they find nothing would say nothing."""
    broken = openapi(DEFINITIONS)
    del broken["paths"]["/api/indexes"]["get"]["operationId"]
    found = node("lint-document.mjs", written(tmp_path, broken))
    assert "spectral operation-operationId paths//api/indexes/get" in found
    assert "redocly operation-operationId #/paths/~1api~1indexes/get" in found


def test_a_strict_program_compiles_over_the_types_of_openapi_typescript(document: Path, tmp_path: Path) -> None:
    """It reads what an entry, a problem and an explanation have."""
    node(MODULES / "openapi-typescript/bin/cli.js", document, "-o", tmp_path / "schema.ts")
    shutil.copy(FOLDER / "programs/with-openapi-fetch.ts", tmp_path)
    compile_typescript(tmp_path, ["with-openapi-fetch.ts"])


def test_a_strict_program_compiles_over_the_client_of_hey_api(document: Path, tmp_path: Path) -> None:
    """With every file that was generated."""
    generator = MODULES / "@hey-api/openapi-ts/bin/run.js"
    node(generator, "-i", document, "-o", tmp_path / "generated", "-c", "@hey-api/client-fetch", "--silent")
    shutil.copy(FOLDER / "programs/with-hey-api.ts", tmp_path)
    compile_typescript(tmp_path, ["with-hey-api.ts"], module="es2022", moduleResolution="bundler", types=["node"])
