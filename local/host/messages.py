"""The messages that the production runtime exchanges with its host, as plain Python objects.

In Azure these are protobuf classes generated from the FunctionRpc contract. The runtime only ever builds them by
keyword, reads attributes and asks which member of a union is set, so plain objects with the same names are enough
and nothing has to be generated or serialized.
"""

from __future__ import annotations

from typing import Any, ClassVar


class Message:
    """Attributes by keyword; a declared one that is not given has its default."""

    defaults: ClassVar[dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        """Only for the type checker: members are plain attributes, so this is reached for unknown ones."""
        raise AttributeError(f"{type(self).__name__} has no member {name!r}")

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update({name: default() for name, default in self.defaults.items()}, **fields)
        self._given = fields


class TypedData(Message):
    """One value on its way between host and worker: at most one of its members is given."""

    def WhichOneof(self, _union: str) -> str | None:  # noqa: N802 - protobuf's name
        """The member that was given."""
        return next((name for name, value in self._given.items() if value is not None), None)


class CollectionBytes(Message):
    """A batch of binary bodies, in `bytes`."""


class CollectionString(Message):
    """A list of strings, in `string`."""


class CollectionSInt64(Message):
    """A list of integers, in `sint64`."""


class ParameterBinding(Message):
    """An input or output of a function, by name."""

    def WhichOneof(self, _union: str) -> str:  # noqa: N802 - protobuf's name
        """Always the message itself: shared memory, the other member, is not used here."""
        return "data"


class RpcHttp(Message):
    """An HTTP request on its way in, or a response on its way out."""

    defaults: ClassVar[dict[str, Any]] = {
        "params": dict,
        "query": dict,
        "headers": dict,
        "body": TypedData,
        "cookies": list,
    }


class SameSite:
    """Which requests of other sites carry a cookie."""

    Lax, Strict, ExplicitNone = 1, 2, 3


# Python has no attribute of this name in a class body.
setattr(SameSite, "None", 0)


class RpcHttpCookie(Message):
    """A cookie on its way out."""

    SameSite = SameSite


class NullableString(Message):
    """A string that may be missing, in `value`."""


class NullableBool(Message):
    """A boolean that may be missing, in `value`."""


class NullableDouble(Message):
    """A number that may be missing, in `value`."""


class NullableTimestamp(Message):
    """A time that may be missing, in `value`."""


class Timestamp(Message):
    """A time, in `seconds`."""


class RpcException(Message):
    """An exception, as text."""

    defaults: ClassVar[dict[str, Any]] = {"source": str, "stack_trace": str, "message": str}


class RpcTraceContext(Message):
    """The W3C trace context of an invocation."""

    defaults: ClassVar[dict[str, Any]] = {"trace_parent": str, "trace_state": str, "attributes": dict}


class RetryContext(Message):
    """How often an invocation has been tried."""

    defaults: ClassVar[dict[str, Any]] = {
        "retry_count": int,
        "max_retry_count": int,
        "exception": RpcException,
    }


class InvocationRequest(Message):
    """A call of a function."""

    defaults: ClassVar[dict[str, Any]] = {
        "input_data": list,
        "trigger_metadata": dict,
        "trace_context": RpcTraceContext,
        "retry_context": RetryContext,
    }


class InvocationResponse(Message):
    """The end of a call."""

    defaults: ClassVar[dict[str, Any]] = {"return_value": lambda: None, "output_data": list}


class StatusResult(Message):
    """Whether something succeeded."""

    Failure, Success, Cancelled = range(3)
    defaults: ClassVar[dict[str, Any]] = {"exception": RpcException}


class RpcRetryOptions(Message):
    """The retry policy that a function declares."""


class RpcFunctionMetadata(Message):
    """What the runtime says about one function."""


class BindingInfo(Message):
    """One binding of a function."""

    undefined, string, binary, stream = range(4)
    out, inout = 1, 2


class WorkerInitResponse(Message):
    """The runtime has loaded the app, or could not."""


class WorkerMetadata(Message):
    """The runtime's own version."""


class FunctionMetadataResponse(Message):
    """The functions of the app."""
