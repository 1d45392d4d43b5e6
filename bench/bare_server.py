"""The least that aiohttp can do: one handler with a constant answer, in a process of its own.

python -m bench.bare_server PORT
"""

from __future__ import annotations

import sys

from aiohttp import web

ANSWER = b'{"status":"live"}'


async def _answer(_request: web.Request) -> web.Response:
    return web.Response(body=ANSWER, content_type="application/json")


def main() -> None:
    """Serve until killed."""
    application = web.Application()
    application.router.add_get("/{path:.*}", _answer)
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)


if __name__ == "__main__":
    main()
