"""The function app: creates it and registers the blueprints.

Broken definitions, settings that cannot be read, or clocks that the write protocol cannot rest on, register no
triggers, but health and lookups still answer, with what is wrong.
"""

from __future__ import annotations

import azure.functions as func

from functions.access import CALLERS
from functions.changes import changes
from functions.console import pages
from functions.erasures import erasures
from functions.events import events
from functions.lifecycle import lifecycle
from functions.lookup_tools import lookup_tools
from functions.lookups import connect_soon, lookups
from functions.maintenance import maintenance
from functions.operations import operations
from functions.verifications import verifications
from shared.app.app import app as process
from shared.app.connection_settings import index_account
from shared.app.probes import may_write

app = func.FunctionApp(http_auth_level=CALLERS)
app.register_functions(pages)
app.register_functions(operations)
app.register_functions(lookups)
app.register_functions(lifecycle)
app.register_functions(verifications)
app.register_functions(erasures)
if may_write(process()):
    served = process().definitions.definitions
    leases_of = index_account(process().settings.environment)
    for blueprint in (changes(served, leases_of), events(served), maintenance, lookup_tools()):
        app.register_functions(blueprint)
# Kept, since an event loop holds its tasks weakly.
connecting = connect_soon()
