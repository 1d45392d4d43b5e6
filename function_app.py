"""The function app: creates it and registers the blueprints."""

from __future__ import annotations

import azure.functions as func

from functions.lookup_tools import lookup_tools
from functions.lookups import lookups
from functions.operations import operations

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
app.register_functions(operations)
app.register_functions(lookups)
app.register_functions(lookup_tools())
