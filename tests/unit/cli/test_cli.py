"""The command line: data on stdout, messages on stderr, exit codes, formats, help with examples."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click import Context

from cli.arguments import Arguments
from cli.main import application, main
from cli.service.lookup_arguments import read_parameters
from shared.definitions.compare import compare, compare_served
from shared.definitions.files import compiled_path, read_definitions
from shared.definitions.identity import generation_id, physical_digests
from shared.definitions.loading.load import load
from shared.entries.keys.index_keys import IndexKeys
from shared.lookup.asking.conditions import as_parameters
from shared.lookup.asking.options import read_options
from shared.lookup.asking.plan import plan
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes: {by-town: {source: customers, partition: town}, by-vip: {source: customers, partition: isVip}}
"""
BROKEN = "version: 1\nsources: {}\nindexes: {by-town: {source: customers, partitoin: town}}\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def test_a_good_file_passes_with_its_advice(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Advice is data and no problem; the summary goes to stderr."""
    assert main(["validate", str(good)]) == 0
    out, err = capsys.readouterr()
    assert f"{good}:4: advice: indexes.by-vip.partition\n    The partition has very few values" in out
    assert err == f"{good}: 1 source, 2 indexes, no fault, 1 piece of advice\n"


def test_a_broken_file_is_a_problem(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All faults, each with its place; exit 1."""
    assert main(["validate", str(broken)]) == 1
    out, err = capsys.readouterr()
    assert f'{broken}:3: fault: indexes.by-town.partitoin\n    Unknown key. Did you mean "partition"?\n' in out
    assert "2 faults; fix and validate again" in err


def test_a_key_may_begin_with_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    """Keys are base64 for addresses: one in 64 does. Nothing listens there, so all that can fail is the call."""
    assert main(["status", "--url", "http://127.0.0.1:1", "--key", "-bTqk3T9mB8JrPzY0W4"]) == 1
    assert "127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_a_forgotten_key_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """The next option is not taken for the key."""
    assert main(["status", "--key", "--url", "http://127.0.0.1:1"]) == 2
    assert "Option '--key' requires an argument" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "by-town", "--all", "town=Redmond", "--format", "json", "lastName=Smith"],
        ["query", "--all", "by-town", "town=Redmond", "lastName=Smith"],
        ["explain", "by-town", "town=Redmond", "--format", "json", "lastName=Smith"],
        ["tail", "by-town", "--times", "1", "town=Redmond", "--every", "1", "lastName=Smith"],
    ],
)
def test_options_stand_anywhere_between_conditions(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing listens there, so all that can fail is the call."""
    assert main([*arguments, "--url", "http://127.0.0.1:1"]) == 1
    assert "127.0.0.1:1 does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "by-town", "--al1", "town=Redmond"], "No such option '--al1'. (Did you mean one of: '--all'"),
        (["query", "by-town", "--all", "town=Redmond", "-x"], "No such option '-x'."),
        (["verify", "by-town", "--full", "town=Redmond"], "Got unexpected extra argument (town=Redmond)"),
        (["query"], "Missing argument 'INDEX'."),
    ],
)
def test_what_no_command_knows_is_wrong_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options, and words after commands that take none; conditions are never missing."""
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and stdout stays empty."""
    assert main(["validate", "nosuch.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "index-tables: there is no file nosuch.yaml: name a definitions file, such as indexes.yaml\n"


def test_a_folder_is_no_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is there, and has no definitions."""
    assert main(["validate", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"index-tables: {tmp_path} is a folder: name a definitions file")


@pytest.mark.parametrize("arguments", [[], ["vallidate"], ["validate", "--format", "xml"], ["plan", "--facts", "many"]])
def test_wrong_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """And says how to use it, on stderr."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Usage: index-tables" in err


def test_findings_come_in_every_format(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same rows as JSON, JSON lines and CSV."""
    assert main(["validate", str(broken), "--format", "json"]) == 1
    as_json = json.loads(capsys.readouterr().out)
    assert main(["validate", str(broken), "--format", "jsonl"]) == 1
    as_lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main(["validate", str(broken), "--format", "csv"]) == 1
    as_csv = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert as_json == as_lines
    assert [row["key"] for row in as_csv] == [row["key"] for row in as_json]
    assert {row["kind"] for row in as_json} == {"fault"}


def test_compile_writes_the_form_that_loads_fast(good: Path) -> None:
    """Only for a file without faults."""
    assert main(["validate", str(good), "--compile"]) == 0
    assert compiled_path(good).exists()


def test_compile_writes_nothing_for_a_broken_file(broken: Path) -> None:
    """A compiled fault would be found at start, too late."""
    assert main(["validate", str(broken), "--compile"]) == 1
    assert not compiled_path(broken).exists()


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The very text that the repository keeps."""
    assert main(["validate", "--schema"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "indexes.schema.json").read_text(encoding="utf-8")


def test_a_plan_shows_what_changes(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row per index, with the keys that make a new generation."""
    changed = tmp_path / "changed.yaml"
    changed.write_text(GOOD.replace("partition: town", "partition: town, shards: 4"), encoding="utf-8")
    assert main(["plan", str(changed), "--against", str(good)]) == 0
    out, err = capsys.readouterr()
    header, first, second = out.splitlines()
    assert header.split() == ["NAME", "EFFECT", "BECAUSE", "GENERATION", "TABLE"]
    assert first.split()[:4] == ["by-town", "new", "generation", "shards"]
    assert second.split()[:3] == ["by-vip", "no", "change"]
    assert err == "1 new generation\n"


def test_a_plan_of_nothing_says_so(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments and order of keys are nothing."""
    assert main(["plan", str(good), "--against", str(good)]) == 0
    assert capsys.readouterr().err == "nothing changes\n"


def test_a_plan_that_changes_who_facts_are_is_a_problem(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source keeps its id, partition key and version under one name."""
    changed = tmp_path / "changed.yaml"
    changed.write_text(GOOD.replace("customerId", "region"), encoding="utf-8")
    assert main(["plan", str(changed), "--against", str(good)]) == 1
    assert "not allowed: customers (partitionKey)" in capsys.readouterr().err


def test_a_plan_with_a_broken_file_shows_its_faults(
    good: Path, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to compare then."""
    assert main(["plan", str(good), "--against", str(broken)]) == 1
    out, err = capsys.readouterr()
    assert "fault: indexes.by-town.partitoin" in out
    assert "fix the faults first" in err


def test_a_plan_has_a_price_when_it_knows_how_many_facts_there_are(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From keys that share partitions to keys that share none; what does not change costs nothing."""
    changed = tmp_path / "changed.yaml"
    changed.write_text(GOOD.replace("partition: town", "partition: town, shards: 4"), encoding="utf-8")
    arguments = ["plan", str(changed), "--against", str(good), "--facts", "10000000", "--format", "json"]
    assert main(arguments) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["transactions"], first["dollars"]) == ("220,000 to 20,110,000", "0.01 to 0.72")
    assert second["transactions"] is None
    assert main(["plan", str(good), "--against", str(good), "--facts", "-1"]) == 2


def test_what_an_app_serves_is_compared_by_generation(good: Path) -> None:
    """One that was retired and has come back is the same; one that is still built is not there yet."""
    definitions = load(good.read_text(encoding="utf-8"), "good").require()
    steps = compare(definitions, definitions)
    ids = {step.name: step.generation for step in steps}
    same = compare_served({name: f"{one}r2" for name, one in ids.items()}, {}, definitions)
    assert [step.effect for step in same] == ["no change", "no change"]
    other = compare_served({"by-town": None, "by-name": "0" * 16}, {}, definitions)
    assert {step.name: step.effect for step in other} == {
        "by-name": "removed",
        "by-town": "new generation",
        "by-vip": "new index",
    }


def test_a_plan_against_an_app_says_which_keys_build_an_index_anew(good: Path) -> None:
    """Those that differ, are new or are gone; an app of an older version says none."""
    text = good.read_text(encoding="utf-8")
    before = load(text.replace("partition: town", "partition: town, shards: 4, where: isVip"), "before").require()
    after = load(text.replace("partition: town", "partition: town, sort: name"), "after").require()
    digests = {name: physical_digests(index, before.sources[index.source]) for name, index in before.indexes.items()}
    serving = {"by-town": "0" * 16, "by-vip": generation_id(after.indexes["by-vip"], after.sources["customers"])}
    found = {step.name: step.because for step in compare_served(serving, {}, after, digests)}
    assert found == {"by-town": ("shards", "sort", "where"), "by-vip": ()}
    assert compare_served(serving, {}, after, {"by-town": {}})[0].because == ()


@pytest.mark.parametrize(
    ("before", "because"),
    [
        ({"id": "key", "partitionKey": ["id"], "version": "of Cosmos DB"}, ("id",)),
        ({"id": "id", "partitionKey": ["team"], "version": "of Event Hubs"}, ("partitionKey", "version")),
        ({}, ()),
    ],
)
def test_a_source_is_compared_with_that_of_an_app(before: dict[str, object], because: tuple[str, ...]) -> None:
    """The identity and version order of its facts must not change; an app of an older version does not have them."""
    text = "version: 1\nsources: {a: {cosmos: {database: d, container: c}}}\nindexes: {}\n"
    steps = compare_served({}, {"a": before}, load(text, "indexes.yaml").require())
    assert [(step.name, step.effect, step.because) for step in steps] == [("a", "not allowed", because)] * bool(because)


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the command itself, so that it can be copied."""
    names = list(application().commands)
    assert names
    for name in names:
        assert main([name, "--help"]) == 0
        assert f"\n  index-tables {name}" in capsys.readouterr().out


def test_the_lookups_in_the_help_of_query_can_be_answered() -> None:
    """By the indexes that this app serves: neither conditions nor options are refused."""
    definitions = read_definitions(ROOT / "indexes.yaml").require()
    query = application().commands["query"]
    examples = re.findall(r"^  index-tables query (.*)$", query.get_help(Context(query)), re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        args = Arguments(**query.make_context("query", shlex.split(example)).params)
        parameters, index = read_parameters(args.parameters), definitions.indexes[args.index]
        read_options(index, definitions.sources[index.source], parameters)
        lists = {name: values.split(",") for name, values in read_parameters(args.values).items()}
        asked = parameters | as_parameters({f"{name}.in": values for name, values in lists.items()})
        if args.file is None:
            assert plan(index, IndexKeys(index), asked).reads == max([1, *map(len, lists.values())])


def test_the_module_is_the_command(broken: Path) -> None:
    """`python -m cli` gives the exit code to the shell, and a reader that stops early is no error."""
    command = [sys.executable, "-m", "cli", "validate", str(broken)]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 1
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_a_terminal_that_cannot_show_a_character_gets_an_escape(tmp_path: Path) -> None:
    """Names in a file may be in any script."""
    path = tmp_path / "names.yaml"
    path.write_text(GOOD + "größe: 1\n", encoding="utf-8")
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "cli", "validate", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert b"gr\\xf6\\xdfe" in done.stdout
