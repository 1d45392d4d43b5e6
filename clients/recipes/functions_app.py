"""The `function_app.py` of a function app that looks up phones. Settings: INDEX_TABLES_URL, INDEX_TABLES_KEY."""

import json
import os

import azure.functions as func

from index_tables import AsyncIndexTables, ProblemError

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
tables = AsyncIndexTables(os.environ["INDEX_TABLES_URL"], key=os.environ["INDEX_TABLES_KEY"])


@app.route("towns/{town}/phones")
async def phones(req: func.HttpRequest) -> func.HttpResponse:
    try:
        entries = tables.index("customers-by-town").find(town=req.route_params["town"], select=["phone"])
        found = {entry.key["lastName"]: entry.data.get("phone", "") async for entry in entries}
    except ProblemError as problem:
        return func.HttpResponse(json.dumps({"code": problem.code}), status_code=502, mimetype="application/json")
    return func.HttpResponse(json.dumps(found), mimetype="application/json")
