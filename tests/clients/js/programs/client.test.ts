// The TypeScript client against a local run (URL, KEY), and against servers that answer what a test tells them.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ForeignAddressError, IndexTables, ProblemError, UnreachableError, seen, type Page } from "index-tables";

const url = process.env["URL"] ?? "";
const tables = new IndexTables(url, { key: process.env["KEY"] ?? "" });
const byTown = tables.index("customers-by-town");

type Answer = { status: number; body?: unknown; headers?: Record<string, string> };

/** A server that gives these answers one after the other, the last one again and again. */
async function scripted(answers: Answer[], run: (url: string, asked: IncomingMessage[]) => Promise<void>): Promise<void> {
  const asked: IncomingMessage[] = [];
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(request);
    const { status, body, headers } = answers[Math.min(asked.length, answers.length) - 1] ?? { status: 500 };
    response.writeHead(status, headers);
    response.end(body === undefined ? "" : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const BUSY: Answer = {
  status: 503,
  body: { code: "StorageBusy", title: "Busy", status: 503, detail: "Wait." },
  headers: { "Retry-After": "0" },
};
const PAGE = { value: [{ key: { town: "R" }, data: {}, id: "1", version: "v" }] };
const problem = (code: string) => (error: unknown) => error instanceof ProblemError && error.code === code;

test("find gives the entries of all pages in order", async () => {
  const names: string[] = [];
  for await (const entry of byTown.find({ town: "Redmond" }, { pageSize: 5 })) names.push(String(entry.key["lastName"]));
  assert.equal(names.length, Number(process.env["IN_REDMOND"]));
  assert.deepEqual(names, [...names].sort());
});

test("conditions, lists and options are those of the API", async () => {
  const page = await byTown.page({ town: ["Redmond", "Tacoma"], "lastName.ge": "B" }, { select: ["phone"], pageSize: 50 });
  assert.deepEqual([...new Set(page.entries.map((entry) => entry.key["town"]))].sort(), ["Redmond", "Tacoma"]);
  assert.ok(page.entries.every((entry) => Object.keys(entry.data).every((name) => name === "phone")));
});

test("a page that has not changed is the same object", async () => {
  const page = await byTown.page({ town: "Redmond" }, { pageSize: 3 });
  assert.notEqual(page.etag, undefined);
  assert.equal(await byTown.refresh(page), page);
});

test("many lookups are answered in the order asked", async () => {
  const lookups = [{ town: "Redmond" }, { lastName: "x" }, ...Array.from({ length: 120 }, () => ({ town: "nowhere" }))];
  const [first, wrong, ...others] = await byTown.getMany(lookups, { pageSize: 2 });
  assert.ok(problem("MissingPartitionPart")(wrong));
  const page = first as Page;
  assert.equal(page.entries.length, 2);
  assert.equal((await byTown.nextPage(page))?.entries.length, 2);
  assert.deepEqual((await byTown.refresh(page)).entries, page.entries);
  assert.equal(others.length, 120);
});

test("a count and an explanation", async () => {
  assert.deepEqual(await byTown.count({ town: "Redmond" }), { count: Number(process.env["IN_REDMOND"]), isExact: true });
  assert.equal((await byTown.explain({ town: "Redmond" })).rowKeyRanges, 1);
  assert.ok((await tables.indexes()).some((index) => index.name === byTown.name));
});

test("a lookup sees what Cosmos DB has answered", async () => {
  const item = JSON.parse(process.env["ITEM"] ?? "{}");
  const page = await byTown.page({ town: item.town }, { sees: item });
  assert.deepEqual(page.entries.map((entry) => entry.id), [item.id]);
  assert.equal((await byTown.count({ town: item.town }, { sees: seen(item, item.customerId) })).count, 1);
});

test("a problem has its code, faults and suggestion", async () => {
  await assert.rejects(byTown.page({ lastName: "Smith" }), (error) => {
    assert.ok(error instanceof ProblemError);
    assert.deepEqual([error.status, error.code], [400, "MissingPartitionPart"]);
    assert.equal(error.suggestion?.index, "customers-by-name");
    return true;
  });
});

test("an empty 401 is a problem", async () => {
  await assert.rejects(new IndexTables(url, { key: "wrong" }).indexes(), problem("Unauthorized"));
});

test("a call is tried again after the time that the app asks for", async () => {
  await scripted([BUSY, { status: 502 }, { status: 200, body: PAGE }], async (url, asked) => {
    const page = await new IndexTables(url).index("i").page({ town: "R" });
    assert.deepEqual([page.entries.length, asked.length], [1, 3]);
  });
});

test("a call gives up when it would wait too long, and says how long", async () => {
  await scripted([{ ...BUSY, headers: { "Retry-After": "40" } }], async (url, asked) => {
    await assert.rejects(new IndexTables(url).indexes(), (error) => {
      assert.ok(error instanceof ProblemError);
      return error.retryAfter === 40;
    });
    assert.equal(asked.length, 1);
  });
});

test("a problem without a time to wait is not tried again", async () => {
  await scripted([{ ...BUSY, headers: {} }], async (url, asked) => {
    await assert.rejects(new IndexTables(url).indexes(), problem("StorageBusy"));
    assert.equal(asked.length, 1);
  });
});

test("no answer at all is an error that names the app", async () => {
  const nobody = new IndexTables("http://127.0.0.1:1", { retries: 0 });
  await assert.rejects(nobody.indexes(), (error) => error instanceof UnreachableError && /127/.test(error.message));
});

test("an answer that breaks off is asked for again", async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Length": "1000" });
    if (asked++ === 0) response.write('{"value": [', () => response.destroy());
    else response.end(JSON.stringify(PAGE).padEnd(1000));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const page = await new IndexTables(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).index("i").page({ town: "R" });
  server.closeAllConnections();
  server.close();
  assert.deepEqual([page.entries.length, asked], [1, 2]);
});

test("an answer of something else is an error that asks for the address", async () => {
  await scripted([{ status: 200 }], async (url, asked) => {
    await assert.rejects(new IndexTables(url).indexes(), (error) => error instanceof UnreachableError && /address/.test(error.message));
    assert.equal(asked.length, 1);
  });
});

test("the key goes neither to the host of a foreign link nor along with a redirect", async () => {
  await scripted([{ status: 200, body: PAGE }], async (foreign, askedThere) => {
    const link = { status: 200, body: { ...PAGE, nextLink: `${foreign}/x` } };
    const redirect = { status: 307, headers: { Location: `${foreign}/x` } };
    await scripted([link, redirect], async (url) => {
      const index = new IndexTables(url, { key: "k" }).index("i");
      const page = await index.page({ town: "R" });
      await assert.rejects(index.nextPage(page), ForeignAddressError);
      await assert.rejects(index.page({ town: "R" }), ForeignAddressError);
    });
    assert.equal(askedThere.length, 0);
  });
});

test("who calls is shown by a key or a token", async () => {
  const getToken = async (scope: string | string[]) => ({ token: `for ${scope}` });
  const callers = [
    [{ key: "k" }, "x-functions-key", "k"],
    [{ credential: "t" }, "authorization", "Bearer t"],
    [{ credential: async () => "made" }, "authorization", "Bearer made"],
    [{ credential: { getToken }, scope: "s" }, "authorization", "Bearer for s"],
  ] as const;
  await scripted([{ status: 200, body: { value: [] } }], async (url, asked) => {
    for (const [options, name, value] of callers) {
      await new IndexTables(url, options).indexes();
      assert.equal(asked.at(-1)?.headers[name], value);
    }
  });
});

test("an address with a key in it is refused", () => {
  assert.throws(() => new IndexTables("https://app.example/?code=secret"), TypeError);
  assert.throws(() => new IndexTables("https://app.example", { key: "k", credential: "t" }), TypeError);
});

test("a caller can end a call", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(byTown.page({ town: "Redmond" }, { signal }), /enough/);
});
