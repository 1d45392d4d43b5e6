"""Signed requests to the local Cosmos DB that no SDK for Python would send."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import quote

PARTITION_KEY = "x-ms-documentdb-partitionkey"


@dataclass
class Wire:
    """Sends signed requests that no SDK would send."""

    port: int
    key: str
    container: str

    def sign(self, method: str, kind: str, link: str, date: str) -> str:
        text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
        digest = hmac.digest(base64.b64decode(self.key), text.encode(), hashlib.sha256)
        return quote(f"type=master&ver=1.0&sig={base64.b64encode(digest).decode()}", safe="")

    def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request, signed for the segments of its path."""
        segments = [part for part in path.split("/") if part]
        kind, link = segments[-1] if segments else "", "/".join(segments[:-1])
        if len(segments) % 2 == 0:
            kind, link = (segments[-2] if segments else ""), "/".join(segments)
        return self.send_signed(method, path, (kind, link), body, headers)

    def send_signed(
        self,
        method: str,
        path: str,
        signed: tuple[str, str],
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request, signed in a way of its own."""
        return self.send_raw(method, quote(path), signed, body, headers)

    def send_raw(
        self,
        method: str,
        path: str,
        signed: tuple[str, str],
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """The same, with a path that is sent as it stands."""
        date = formatdate(usegmt=True)
        own = {"x-ms-date": date, "authorization": self.sign(method, *signed, date)}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, {**own, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, body: bytes, **headers: str) -> int:
        """The status that a POST of this body to the container's documents gets."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", f"{self.container}/docs", body, named)[0]
