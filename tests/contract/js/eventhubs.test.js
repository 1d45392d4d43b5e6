// The local Event Hubs as @azure/event-hubs sees it; its AMQP library (rhea) is stricter than Python's.
// EVENTHUBS_CONTRACT_CONNECTION_STRING and EVENTHUBS_CONTRACT_HUB say where; test_eventhubs_js.py sets them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";

import { EventHubConsumerClient, EventHubProducerClient, earliestEventPosition, latestEventPosition } from "@azure/event-hubs";

const connection = process.env.EVENTHUBS_CONTRACT_CONNECTION_STRING;
const hub = process.env.EVENTHUBS_CONTRACT_HUB;
const options = { retryOptions: { maxRetries: 0, timeoutInMs: 10_000 } };

let producer;
let consumer;

before(() => {
  producer = new EventHubProducerClient(connection, hub, options);
  consumer = new EventHubConsumerClient("$Default", connection, hub, options);
});

after(async () => {
  await producer.close();
  await consumer.close();
});

/** Where partition `id` ends now, as a start position. */
async function tail(id) {
  const { lastEnqueuedSequenceNumber } = await producer.getPartitionProperties(id);
  return { sequenceNumber: lastEnqueuedSequenceNumber, isInclusive: false };
}

/** The events of one partition, from `startPosition` on, until there are `count`; `started` runs while it waits. */
async function receive(id, startPosition, count, more = {}, started = async () => {}) {
  const received = [];
  let subscription;
  try {
    await new Promise((resolve, reject) => {
      subscription = consumer.subscribe(
        id,
        {
          processEvents: async (events, context) => {
            received.push(...events.map((event) => ({ event, tail: context.lastEnqueuedEventProperties })));
            if (received.length >= count) resolve();
          },
          processError: async (error) => reject(error),
        },
        { startPosition, maxBatchSize: 50, maxWaitTimeInSeconds: 1, ...more },
      );
      started().catch(reject);
    });
    return received;
  } finally {
    await subscription.close();
  }
}

test("a hub describes itself and its partitions", async () => {
  const properties = await producer.getEventHubProperties();
  assert.equal(properties.name, hub);
  assert.deepEqual(properties.partitionIds, ["0", "1", "2", "3"]);
  assert.ok(properties.createdOn instanceof Date);
  const partition = await producer.getPartitionProperties("0");
  assert.equal(typeof partition.lastEnqueuedSequenceNumber, "number");
  assert.equal(typeof partition.isEmpty, "boolean");
});

test("an event arrives with everything it was sent with", async () => {
  const start = await tail("3");
  const sent = { body: { i: 1 }, properties: { text: "é", n: 7, yes: true }, correlationId: "c", messageId: randomUUID() };
  await producer.sendBatch([sent], { partitionId: "3" });
  const [{ event, tail: last }] = await receive("3", start, 1, { trackLastEnqueuedEventProperties: true });
  assert.deepEqual(event.body, sent.body);
  assert.deepEqual(event.properties, sent.properties);
  assert.equal(event.correlationId, "c");
  assert.equal(event.messageId, sent.messageId);
  assert.equal(event.sequenceNumber, start.sequenceNumber + 1);
  assert.equal(last.sequenceNumber, event.sequenceNumber);
});

test("events with one key meet in one partition, large ones whole", async () => {
  const starts = Object.fromEntries(await Promise.all(["0", "1", "2", "3"].map(async (id) => [id, await tail(id)])));
  const partitionKey = randomUUID();
  const bodies = ["a", "b".repeat(150_000), "c"];
  const batch = await producer.createBatch({ partitionKey });
  for (const body of bodies) assert.ok(batch.tryAdd({ body }));
  await producer.sendBatch(batch);
  const ends = await Promise.all(Object.keys(starts).map(async (id) => [id, await tail(id)]));
  const grown = ends.filter(([id, end]) => end.sequenceNumber > starts[id].sequenceNumber);
  assert.equal(grown.length, 1);
  const [[id]] = grown;
  const received = await receive(id, starts[id], 3);
  assert.deepEqual(received.map(({ event }) => event.body), bodies);
  assert.ok(received.every(({ event }) => event.partitionKey === partitionKey));
});

test("an event that is too large is refused at once, and the next one is sent", async () => {
  const body = Buffer.alloc(1024 * 1024 + 1);
  await assert.rejects(producer.sendBatch([{ body }], { partitionId: "1" }), { code: "MessageTooLargeError" });
  const start = await tail("1");
  await producer.sendBatch([{ body: "small" }], { partitionId: "1" });
  assert.deepEqual((await receive("1", start, 1)).map(({ event }) => event.body), ["small"]);
});

test("an event without a body arrives", async () => {
  const start = await tail("1");
  await producer.sendBatch([{ body: null }, { body: "next" }], { partitionId: "1" });
  assert.deepEqual((await receive("1", start, 2)).map(({ event }) => event.body), [null, "next"]);
});

test("reading starts at the beginning, at the end, at an offset or at a time", async () => {
  await producer.sendBatch([{ body: "first" }], { partitionId: "2" });
  const [{ event: oldest }] = await receive("2", earliestEventPosition, 1);
  const [{ event: at }] = await receive("2", { offset: oldest.offset, isInclusive: true }, 1);
  assert.equal(at.sequenceNumber, oldest.sequenceNumber);
  const [{ event: since }] = await receive("2", { enqueuedOn: oldest.enqueuedTimeUtc.getTime() - 1 }, 1);
  assert.equal(since.sequenceNumber, oldest.sequenceNumber);
  const body = randomUUID();
  let isReceived = false;
  const send = async () => {
    // Nothing says when a subscription listens: send until one arrives.
    while (!isReceived) {
      await producer.sendBatch([{ body }], { partitionId: "2" });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const [{ event: newest }] = await receive("2", latestEventPosition, 1, {}, send).finally(() => (isReceived = true));
  assert.equal(newest.body, body);
});

test("a higher owner level takes the partition", async (t) => {
  const thief = new EventHubConsumerClient("$Default", connection, hub, options);
  t.after(() => thief.close());
  const position = { startPosition: earliestEventPosition };
  const steal = () =>
    thief.subscribe("1", { processEvents: async () => {}, processError: async () => {} }, { ownerLevel: 2, ...position });
  await producer.sendBatch([{ body: "mine" }], { partitionId: "1" });
  const stolen = new Promise((resolve) => {
    let isListening = false;
    const handlers = {
      processEvents: async (events) => {
        if (events.length && !isListening) steal();
        isListening ||= events.length > 0;
      },
      processError: async (error) => resolve(error),
    };
    consumer.subscribe("1", handlers, { ownerLevel: 1, ...position });
  });
  assert.equal((await stolen).code, "ReceiverDisconnectedError");
});

test("an unknown hub and an unknown consumer group are reported", async (t) => {
  const nowhere = new EventHubProducerClient(connection, "nope", options);
  t.after(() => nowhere.close());
  await assert.rejects(nowhere.getEventHubProperties(), { code: "MessagingEntityNotFoundError" });
  const stranger = new EventHubConsumerClient("nope", connection, hub, options);
  t.after(() => stranger.close());
  const error = await new Promise((resolve) => {
    stranger.subscribe("0", { processEvents: async () => {}, processError: async (reason) => resolve(reason) });
  });
  assert.equal(error.code, "MessagingEntityNotFoundError");
});

test("a partition that the hub has not is reported as such", async () => {
  await assert.rejects(producer.getPartitionProperties("XYZ"), {
    code: "ArgumentOutOfRangeError",
    message: /The specified partition is invalid for an EventHub partition sender or receiver/,
  });
});
