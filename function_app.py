"""The function app: creates it and registers the blueprints."""

from __future__ import annotations

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
