"""The production Python runtime of Azure Functions, driven in this process.

`azure-functions-runtime` is what runs in Azure: it indexes `function_app.py`, decodes the trigger, calls the
function and encodes its answer. Here it gets its requests from us instead of from a gRPC channel.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from local.host import messages
from local.host.retries import RetryPolicy
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NO_RETRY_YET = 0


@dataclass(frozen=True, slots=True)
class Function:
    """One indexed function: its trigger's binding and its retry policy."""

    name: str
    id: str
    trigger: Mapping[str, Any]
    outputs: Sequence[Mapping[str, Any]]
    retry: RetryPolicy | None

    @property
    def trigger_type(self) -> str:
        """The trigger's binding type in camel case, such as `httpTrigger`."""
        return str(self.trigger["type"])


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call to be made: the trigger's value, its metadata and which try this is."""

    value: messages.TypedData
    metadata: Mapping[str, messages.TypedData]
    retry_count: int = NO_RETRY_YET
    max_retry_count: int = 0
    previous_failure: str = ""
    # All tries of one call have the same.
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: the failure's message and stack trace, or none and the returned value."""

    failure: str | None
    stack_trace: str
    returned: messages.TypedData | None


class Runtime:
    """The runtime with one function app loaded."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.functions = functions

    @classmethod
    async def load(cls, app_folder: Path) -> Runtime:
        """Index the app in `app_folder`; the process's working directory and import path become the app's."""
        _enter(app_folder)
        import azure_functions_runtime as production

        production.start_threadpool_executor()
        initialised = await production.worker_init_request(
            _request(worker_init_request=SimpleNamespace(capabilities={}, function_app_directory=str(app_folder)))
        )
        if initialised.result.status != messages.StatusResult.Success:
            raise LocalRunError(_why_not_loaded(initialised.result.exception, app_folder))
        indexed = await production.functions_metadata_request(_request())
        return cls([_function(metadata) for metadata in indexed.function_metadata_results or ()])

    async def call(self, function: Function, invocation: Invocation) -> CallOutcome:
        """Call `function` once, as the worker in Azure does."""
        import azure_functions_runtime as production

        request = messages.InvocationRequest(
            invocation_id=invocation.id,
            function_id=function.id,
            input_data=[messages.ParameterBinding(name=function.trigger["name"], data=invocation.value)],
            trigger_metadata=invocation.metadata,
            trace_context=messages.RpcTraceContext(trace_parent=_new_trace_parent()),
            retry_context=messages.RetryContext(
                retry_count=invocation.retry_count,
                max_retry_count=invocation.max_retry_count,
                exception=messages.RpcException(message=invocation.previous_failure),
            ),
        )
        response = await production.invocation_request(_request(invocation_request=request))
        if response.result.status == messages.StatusResult.Success:
            return CallOutcome(None, "", response.return_value)
        return CallOutcome(response.result.exception.message, response.result.exception.stack_trace, None)


def _enter(app_folder: Path) -> None:
    os.chdir(app_folder)
    sys.path.insert(0, str(app_folder))
    os.environ["AzureWebJobsScriptRoot"] = str(app_folder)
    os.environ.setdefault("AZURE_FUNCTIONS_ENVIRONMENT", "Development")  # as Core Tools do


def _request(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(request=SimpleNamespace(**fields), properties={"host": "127.0.0.1", "protos": messages})


def _new_trace_parent() -> str:
    return f"00-{uuid.uuid4().hex}-{uuid.uuid4().hex[:16]}-01"


def _function(metadata: Any) -> Function:
    bindings = [json.loads(raw) for raw in metadata.raw_bindings]
    triggers = [binding for binding in bindings if str(binding["type"]).lower().endswith("trigger")]
    if len(triggers) != 1:
        raise LocalRunError(f"Function {metadata.name} has {len(triggers)} triggers; give it exactly one.")
    outputs = [binding for binding in bindings if binding["direction"] == "OUT"]
    retry = RetryPolicy.from_options(metadata.retry_options) if metadata.retry_options else None
    return Function(metadata.name, metadata.function_id, triggers[0], outputs, retry)


def _why_not_loaded(exception: messages.RpcException, app_folder: Path) -> str:
    """The last place inside the app in the stack trace, and the reason."""
    places = [
        line.strip()
        for line in exception.stack_trace.splitlines()
        if line.strip().startswith("File ") and str(app_folder) in line and "site-packages" not in line
    ]
    where = places[-1] if places else f'File "{app_folder / "function_app.py"}"'
    return f"The function app cannot be loaded. {where}: {exception.message}"
