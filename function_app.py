"""The function app: creates it and registers the blueprints."""

from __future__ import annotations

import azure.functions as func

from functions.operations import operations

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
app.register_functions(operations)
