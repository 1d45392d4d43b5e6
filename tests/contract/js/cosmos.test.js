// The contract of Cosmos DB as the JavaScript SDK sees it. COSMOS_ENDPOINT and COSMOS_KEY name the account.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";

import { BulkOperationType, ChangeFeedMode, ChangeFeedStartFrom, CosmosClient } from "@azure/cosmos";

const client = new CosmosClient({ endpoint: process.env.COSMOS_ENDPOINT, key: process.env.COSMOS_KEY });
const isLocal = process.env.COSMOS_IS_LOCAL === "true";
let database;

before(async () => {
  ({ database } = await client.databases.create({ id: `js-${randomUUID().slice(0, 8)}` }));
});

after(async () => {
  await database.delete();
  client.dispose();
});

async function newContainer(partitionKey = { paths: ["/pk"], version: 2 }) {
  const { container } = await database.containers.create({ id: `c-${randomUUID().slice(0, 8)}`, partitionKey });
  return container;
}

async function people() {
  const container = await newContainer();
  for (let i = 0; i < 20; i++) {
    await container.items.create({ id: `${i}`.padStart(2, "0"), pk: `p${i % 7}`, n: i, town: i % 2 ? "Seattle" : "Redmond" });
  }
  return container;
}

async function splitFirstRange(container) {
  const order = { kind: "split", container: `dbs/${database.id}/colls/${container.id}`, range: "0" };
  const answer = await fetch(`${process.env.COSMOS_ENDPOINT}/_faults`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(order),
  });
  assert.equal(answer.status, 201);
}

async function drain(container, options) {
  const iterator = container.items.getChangeFeedIterator(options);
  const changes = [];
  let continuation;
  for (;;) {
    const page = await iterator.readNext();
    continuation = page.continuationToken;
    if (page.statusCode === 304) return { changes, continuation };
    changes.push(...page.result);
  }
}

const ids = (changes) => changes.map((change) => change.id).sort();

test("items live their life", async () => {
  const container = await newContainer();
  const { resource: created } = await container.items.create({ id: "a b/ü".replace("/", "-"), pk: "p", n: 1 });
  const item = container.item(created.id, "p");
  assert.equal((await item.read()).resource._etag, created._etag);
  await assert.rejects(container.items.create({ id: created.id, pk: "p" }), { code: 409 });
  const stale = { accessCondition: { type: "IfMatch", condition: '"stale"' } };
  await assert.rejects(item.replace({ id: created.id, pk: "p" }, stale), { code: 412 });
  assert.equal((await item.patch([{ op: "incr", path: "/n", value: 4 }])).resource.n, 5);
  assert.equal((await container.items.upsert({ id: created.id, pk: "p", n: 9 })).statusCode, 200);
  await item.delete();
  assert.equal((await item.read()).statusCode, 404);
});

test("a batch is all or nothing", async () => {
  const container = await newContainer();
  const create = { operationType: BulkOperationType.Create, resourceBody: { id: "a", pk: "p" } };
  const failed = await container.items.batch([create, create], "p");
  assert.deepEqual(failed.result.map((each) => each.statusCode), [424, 409]);
  const done = await container.items.batch([create, { operationType: BulkOperationType.Read, id: "a" }], "p");
  assert.deepEqual(done.result.map((each) => each.statusCode), [201, 200]);
});

test("bulk operations stand alone", async () => {
  const container = await newContainer();
  const operations = Array.from({ length: 30 }, (_, i) => ({
    operationType: BulkOperationType.Create,
    partitionKey: `p${i}`,
    resourceBody: { id: `${i % 15}`, pk: `p${i % 15}` },
  })).map((operation) => ({ ...operation, partitionKey: operation.resourceBody.pk }));
  const results = await container.items.executeBulkOperations(operations);
  const statuses = results.map((each) => each.response?.statusCode ?? each.error?.code);
  assert.equal(statuses.filter((status) => status === 201).length, 15);
  assert.equal(statuses.filter((status) => status === 409).length, 15);
});

for (const forceQueryPlan of [false, true]) {
  const how = forceQueryPlan ? "by plan, range by range" : "directly";
  test(`queries answered ${how}`, async () => {
    const container = await people();
    const ask = async (query, parameters) =>
      (await container.items.query({ query, parameters }, { forceQueryPlan, maxItemCount: 3 }).fetchAll()).resources;
    assert.equal((await ask("SELECT * FROM c")).length, 20);
    assert.deepEqual((await ask("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, '0') AND c.n < 3")).sort(), ["00", "01", "02"]);
    assert.deepEqual(await ask("SELECT VALUE c.n FROM c ORDER BY c.n DESC"), Array.from({ length: 20 }, (_, i) => 19 - i));
    assert.deepEqual(await ask("SELECT TOP 2 c.id, c.n FROM c WHERE c.n > 4 ORDER BY c.n"), [{ id: "05", n: 5 }, { id: "06", n: 6 }]);
    assert.deepEqual(await ask("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 3 LIMIT 4"), [3, 4, 5, 6]);
    assert.equal((await ask("SELECT * FROM c OFFSET 3 LIMIT 4")).length, 4);
    assert.equal((await ask("SELECT TOP 5 * FROM c")).length, 5);
    assert.deepEqual(await ask("SELECT VALUE COUNT(1) FROM c WHERE (c.town = @town)", [{ name: "@town", value: "Seattle" }]), [10]);
    assert.deepEqual(await ask("SELECT VALUE SUM(c.n) FROM c"), [190]);
    assert.deepEqual(await ask("SELECT VALUE AVG(c.n) FROM c"), [9.5]);
    assert.deepEqual(await ask("SELECT VALUE MIN(c.n) FROM c"), [0]);
    assert.deepEqual(await ask("SELECT VALUE MAX(c.town) FROM c"), ["Seattle"]);
  });
}

test("pages of a query add up", async () => {
  const container = await people();
  const found = [];
  let continuationToken;
  do {
    const options = { maxItemCount: 3, continuationToken };
    const page = await container.items.query("SELECT VALUE c.n FROM c ORDER BY c.n", options).fetchNext();
    found.push(...(page.resources ?? []));
    continuationToken = page.continuationToken;
  } while (continuationToken);
  assert.deepEqual(found, Array.from({ length: 20 }, (_, i) => i));
});

for (const direction of ["ASC", "DESC"]) {
  test(`tokens of a planned query, ordered ${direction} with equal keys`, async () => {
    const container = await people();
    const found = [];
    let continuationToken;
    do {
      const options = { forceQueryPlan: true, enableQueryControl: true, maxItemCount: 3, continuationToken };
      const query = `SELECT VALUE c.id FROM c ORDER BY c.town ${direction}`;
      const page = await container.items.query(query, options).fetchNext();
      found.push(...(page.resources ?? []));
      continuationToken = page.continuationToken;
      assert.ok(found.length <= 20, "a page came twice");
    } while (continuationToken);
    assert.equal(new Set(found).size, 20);
  });
}

test("tokens of a planned query without an order", async () => {
  const container = await people();
  const found = [];
  let continuationToken;
  do {
    const options = { forceQueryPlan: true, enableQueryControl: true, maxItemCount: 3, continuationToken };
    const page = await container.items.query("SELECT VALUE c.id FROM c WHERE c.n < 15", options).fetchNext();
    found.push(...(page.resources ?? []));
    continuationToken = page.continuationToken;
  } while (continuationToken);
  assert.deepEqual(found.sort(), Array.from({ length: 15 }, (_, i) => `${i}`.padStart(2, "0")));
});

test("a query of one partition key", async () => {
  const container = await people();
  const { resources } = await container.items.query("SELECT VALUE c.id FROM c", { partitionKey: "p3" }).fetchAll();
  assert.deepEqual(resources.sort(), ["03", "10", "17"]);
});

test("a query outside the subset is refused", async () => {
  const container = await newContainer();
  await assert.rejects(container.items.query("SELECT DISTINCT c.x FROM c WHERE").fetchAll(), { code: 400 });
});

test("an id with a question mark", async () => {
  const container = await newContainer();
  await container.items.create({ id: "a?b", pk: "p" });
  assert.equal((await container.items.query("SELECT VALUE c.id FROM c").fetchAll()).resources[0], "a?b");
  const item = container.item("a?b", "p");
  assert.equal((await item.read()).resource?.id, "a?b");
  await item.delete();
});

test("bulk operations stop at the first failure when they are told to", async () => {
  const container = await newContainer();
  const create = (id) => ({ operationType: BulkOperationType.Create, partitionKey: "p", resourceBody: { id, pk: "p" } });
  const results = await container.items.bulk([create("a"), create("a"), create("b")], { continueOnError: false });
  assert.deepEqual(results.map((each) => each.statusCode), [201, 409, 424]);
  assert.deepEqual(ids((await container.items.readAll().fetchAll()).resources), ["a"]);
});

test("bulk operations without the documents in the answer", async () => {
  const container = await newContainer();
  const create = { operationType: BulkOperationType.Create, partitionKey: "p", resourceBody: { id: "a", pk: "p" } };
  const read = { operationType: BulkOperationType.Read, id: "a", partitionKey: "p" };
  const results = await container.items.bulk([create, read], {}, { contentResponseOnWriteEnabled: false });
  assert.deepEqual(results.map((each) => each.resourceBody?.id), [undefined, "a"]);
});

test("a delete by partition key is refused in clear words", { skip: !isLocal && "the service can" }, async () => {
  const container = await newContainer();
  const refused = { code: 400, message: /does not delete by partition key/ };
  await assert.rejects(container.deleteAllItemsForPartitionKey("p"), refused);
});

test("hierarchical partition keys", async () => {
  const container = await newContainer({ paths: ["/tenant", "/user"], version: 2, kind: "MultiHash" });
  await container.items.create({ id: "a", tenant: "t1", user: "u1" });
  await container.items.create({ id: "b", tenant: "t1", user: "u2" });
  assert.equal((await container.item("a", ["t1", "u1"]).read()).resource.user, "u1");
  const { resources } = await container.items.query("SELECT VALUE c.id FROM c", { partitionKey: ["t1", "u2"] }).fetchAll();
  assert.deepEqual(resources, ["b"]);
});

test("the latest-version feed from the beginning, by continuation, key and range", async () => {
  const container = await people();
  const fromStart = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(), maxItemCount: 4 };
  const { changes, continuation } = await drain(container, fromStart);
  assert.equal(changes.length, 20);
  assert.ok(changes.every((change) => change._lsn > 0));
  await container.items.upsert({ id: "03", pk: "p3", n: 33 });
  const more = await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuation) });
  assert.deepEqual(more.changes.map((change) => change.n), [33]);
  const ofKey = await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning("p3") });
  assert.deepEqual(ids(ofKey.changes), ["03", "10", "17"]);
  const found = [];
  for (const range of await container.getFeedRanges()) {
    found.push(...(await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) })).changes);
  }
  assert.equal(new Set(ids(found)).size, 20);
});

test("the all-versions feed shows creates, replaces and deletes", async () => {
  const container = await newContainer();
  const options = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
  const start = await drain(container, { ...options, changeFeedStartFrom: ChangeFeedStartFrom.Now() });
  await container.items.create({ id: "a", pk: "p" });
  await container.items.upsert({ id: "a", pk: "p", n: 2 });
  await container.item("a", "p").delete();
  const from = ChangeFeedStartFrom.Continuation(start.continuation);
  const { changes } = await drain(container, { ...options, changeFeedStartFrom: from });
  assert.deepEqual(changes.map((change) => change.metadata.operationType), ["create", "replace", "delete"]);
});

test("a feed survives a split", { skip: !isLocal && "only the local server splits on command" }, async () => {
  const container = await people();
  const first = await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  await splitFirstRange(container);
  for (let i = 0; i < 20; i++) await container.items.create({ id: `new${i}`, pk: `q${i}` });
  const more = await drain(container, { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(first.continuation) });
  assert.equal(new Set(ids(more.changes)).size, 20);
  assert.equal(more.changes.length, 20);
});

test("a wrong key is unauthorized", async () => {
  const stranger = new CosmosClient({ endpoint: process.env.COSMOS_ENDPOINT, key: "d3Jvbmc=" });
  await assert.rejects(stranger.databases.readAll().fetchAll(), { code: 401 });
  stranger.dispose();
});
