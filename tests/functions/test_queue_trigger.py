"""Queue functions get each message at least once; poison is set aside."""

from __future__ import annotations

import base64
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from azure.storage.queue import QueueClient

from tests.functions.apps import serving, write_app
from tests.rooms.erasure.everything import life_of
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUNCTIONS = """
@app.queue_trigger(arg_name="message", queue_name="%JOBS%", connection="AzureWebJobsStorage")
def job(message: func.QueueMessage) -> None:
    body = message.get_body().decode()
    logging.info("job %s, time %d", body, message.dequeue_count)
    if body == "poison" or (body == "unlucky" and message.dequeue_count < 3):
        raise ValueError("planted")
"""


@pytest.fixture
def queue(azurite: str) -> Iterator[QueueClient]:
    """A queue of this test's own."""
    with QueueClient.from_connection_string(azurite, f"jobs-{uuid.uuid4().hex[:12]}") as client:
        client.create_queue()
        yield client


def send(queue: QueueClient, text: str) -> None:
    """A message in the encoding that Azure Functions expects by default."""
    queue.send_message(base64.b64encode(text.encode()).decode())


def settings(azurite: str, queue: QueueClient) -> dict[str, str]:
    """The connection, and the queue's name as a setting that the binding refers to."""
    return {"AzureWebJobsStorage": azurite, "JOBS": queue.queue_name}


def test_a_message_is_handled_once_and_deleted(tmp_path: Path, azurite: str, queue: QueueClient) -> None:
    """Success removes the message from the queue."""
    send(queue, "hello")
    with serving(write_app(tmp_path / "app", FUNCTIONS), settings(azurite, queue)) as app:
        wait_until(lambda: queue.get_queue_properties().approximate_message_count == 0, "the queue is empty")
        assert app.program.output.count("job hello") == 1


def test_a_failed_message_comes_again(tmp_path: Path, azurite: str, queue: QueueClient) -> None:
    """The dequeue count tells the function which try it is."""
    send(queue, "unlucky")
    with serving(write_app(tmp_path / "app", FUNCTIONS), settings(azurite, queue)) as app:
        wait_until(lambda: "job unlucky, time 3" in app.program.output, "the third try")
        wait_until(lambda: queue.get_queue_properties().approximate_message_count == 0, "the queue is empty")


@pytest.mark.parametrize("encoded", [base64.b64encode(b"poison").decode(), "not base64!"])
def test_poison_is_set_aside(tmp_path: Path, azurite: str, queue: QueueClient, encoded: str) -> None:
    """After five tries, or at once when it cannot be decoded, a message moves unchanged, and stays for a week."""
    queue.send_message(encoded)
    poison = QueueClient.from_connection_string(azurite, f"{queue.queue_name}-poison")
    poison.create_queue()
    with poison, serving(write_app(tmp_path / "app", FUNCTIONS), settings(azurite, queue)):
        wait_until(lambda: bool(poison.peek_messages()), "a message in the poison queue")
        (aside,) = poison.peek_messages()
        assert aside.content == encoded
        assert life_of(aside) == timedelta(days=7)


def test_poison_delays_nothing_else(tmp_path: Path, azurite: str, queue: QueueClient) -> None:
    """Other messages are handled between the tries."""
    for text in ("poison", "one", "two", "three"):
        send(queue, text)
    with serving(write_app(tmp_path / "app", FUNCTIONS), settings(azurite, queue)) as app:
        wait_until(lambda: all(f"job {text}" in app.program.output for text in ("one", "two", "three")), "the others")


def test_a_queue_that_is_made_later_is_read_too(tmp_path: Path, azurite: str) -> None:
    """The host waits for the queue instead of failing."""
    name = f"later-{uuid.uuid4().hex[:12]}"
    with serving(write_app(tmp_path / "app", FUNCTIONS), {"AzureWebJobsStorage": azurite, "JOBS": name}) as app:
        with QueueClient.from_connection_string(azurite, name) as queue:
            queue.create_queue()
            send(queue, "hello")
        wait_until(lambda: "job hello" in app.program.output, "the message is handled")


def test_a_message_over_its_dequeue_count_is_set_aside_without_a_call(
    tmp_path: Path, azurite: str, queue: QueueClient
) -> None:
    """The hosts that took it before may have died of it."""
    send(queue, "hello")
    for _ in range(5):
        (message,) = queue.receive_messages(visibility_timeout=1)
        queue.update_message(message, visibility_timeout=0)
    poison = QueueClient.from_connection_string(azurite, f"{queue.queue_name}-poison")
    poison.create_queue()
    with poison, serving(write_app(tmp_path / "app", FUNCTIONS), settings(azurite, queue)) as app:
        wait_until(lambda: bool(poison.peek_messages()), "a message in the poison queue")
        assert "job hello" not in app.program.output


def test_the_properties_of_a_json_message_override_its_metadata(
    tmp_path: Path, azurite: str, queue: QueueClient
) -> None:
    """As Azure's host has it, without regard to case: a message with an `id` shows that one."""
    functions = FUNCTIONS.replace("body, message.dequeue_count", "message.id, message.dequeue_count")
    send(queue, '{"id": "mine", "list": [1], "nothing": null, "own": {"a": 1}}')
    with serving(write_app(tmp_path / "app", functions), settings(azurite, queue)) as app:
        wait_until(lambda: "job mine, time 1" in app.program.output, "the message's own id")


@pytest.mark.parametrize("text", ["[" * 40_000, "NaN", "5"], ids=["brackets", "NaN", "number"])
def test_any_text_is_a_message(tmp_path: Path, azurite: str, queue: QueueClient, text: str) -> None:
    """JSON that has no properties, or that nobody can read, is text for the function."""
    send(queue, text)
    with serving(write_app(tmp_path / "app", FUNCTIONS), settings(azurite, queue)) as app:
        wait_until(lambda: f"job {text[:20]}" in app.program.output, "the message is handled")
        wait_until(lambda: queue.get_queue_properties().approximate_message_count == 0, "the queue is empty")
