"""A FastAPI application that looks up phones. Settings: INDEX_TABLES_URL, INDEX_TABLES_KEY."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from index_tables import AsyncIndexTables, ProblemError


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncIndexTables(os.environ["INDEX_TABLES_URL"], key=os.environ["INDEX_TABLES_KEY"]) as tables:
        app.state.towns = tables.index("customers-by-town")
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/towns/{town}/phones")
async def phones(town: str, request: Request) -> dict[str, str]:
    entries = request.app.state.towns.find(town=town, select=["phone"])
    return {entry.key["lastName"]: entry.data.get("phone", "") async for entry in entries}


@app.exception_handler(ProblemError)
async def not_now(request: Request, problem: ProblemError) -> JSONResponse:
    headers = {} if problem.retry_after is None else {"Retry-After": f"{problem.retry_after:g}"}
    return JSONResponse({"code": problem.code}, 502 if problem.retry_after is None else 503, headers)
