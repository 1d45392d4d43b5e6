"""The function app: creates it and registers the blueprints.

Broken definitions register no triggers, but health still answers, with every fault.
"""

from __future__ import annotations

import azure.functions as func

from functions.changes import changes
from functions.events import events
from functions.maintenance import maintenance
from functions.operations import operations
from shared import runtime

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
app.register_functions(operations)
if not runtime.loaded().faults:
    app.register_functions(changes(runtime.loaded().definitions))
    app.register_functions(events(runtime.loaded().definitions))
    app.register_functions(maintenance)
