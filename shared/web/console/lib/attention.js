// What needs attention, the worst first, as the status and the advice say it.
import { linkTo } from "./address.js";
import { duration, plural } from "./words.js";

export const FRESH_SECONDS = 10,
  BEHIND_SECONDS = 60;

export function lagKind(seconds) {
  if (seconds === null) return "warn";
  return seconds >= BEHIND_SECONDS ? "bad" : seconds >= FRESH_SECONDS ? "warn" : "good";
}

// Items are `{ kind, what, more, link, action }`.
export function attention(status) {
  return [
    ...storage(status),
    ...faults(status),
    ...sources(status),
    ...tasks(status),
    ...letters(status),
    ...indexes(status),
    ...unknown(status),
  ];
}

function storage({ storage: { isReachable, breaker, accounts } }) {
  const main = isReachable
    ? []
    : [
        {
          kind: "bad",
          what: "The index storage does not answer",
          more: breaker.lastError || "Lookups fail; changes wait, and are applied when it is back.",
        },
      ];
  const others = accounts
    .filter((one) => !one.answers)
    .map((one) => ({
      kind: "bad",
      what: `The account of ${one.name} does not answer`,
      more: "What belongs there is kept, and delivered when it is back.",
    }));
  const owed = accounts
    .filter((one) => one.answers && one.owed)
    .map((one) => ({
      kind: "warn",
      what: `${one.name} is being brought up to date`,
      more: `${plural(one.owed.facts, "fact")} wait for it.`,
    }));
  return [...main, ...others, ...owed];
}

const faults = (status) =>
  status.definitionFaults.map((fault) => ({
    kind: "bad",
    what: "The changed definitions have faults: those before them are served",
    more: fault,
  }));

function sources(status) {
  return status.sources
    .filter((one) => one.lagSeconds >= FRESH_SECONDS)
    .sort((one, other) => other.lagSeconds - one.lagSeconds)
    .map((one) => ({
      kind: lagKind(one.lagSeconds),
      what: `${one.name} is ${duration(one.lagSeconds)} behind`,
      more: "The oldest change that is not in its indexes has waited so long.",
    }));
}

const tasks = (status) =>
  (status.tasks || [])
    .filter((task) => task.state === "failed" && task.about.index)
    .map((task) => ({
      kind: "bad",
      what: `The ${task.kind} of ${task.about.index} failed`,
      more: task.problem || "",
      link: linkTo(["operations", task.about.index]),
      action: "See it",
    }));

function letters({ deadLetters }) {
  return deadLetters.reasons.map((one) => ({
    kind: "warn",
    what: `${plural(one.count, "dead letter")} of ${one.index || one.source}: ${one.kind}`,
    more: one.reason,
    link: linkTo(
      ["dead-letters"],
      Object.entries({ source: one.source, index: one.index, kind: one.kind }).filter(([, value]) => value),
    ),
    action: "Look into it",
  }));
}

function indexes(status) {
  const isChanged = (index) => index.state === "serving" && index.generations.some((one) => one.state === "building");
  const item = (index, what, more) => ({
    kind: "warn",
    what,
    more,
    link: linkTo(["operations", index.name]),
    action: "See it",
  });
  return [
    ...status.indexes
      .filter((index) => index.state === "building")
      .map((index) => item(index, `${index.name} is not built yet`, "It answers no lookup until then.")),
    ...status.indexes
      .filter(isChanged)
      .map((index) =>
        item(
          index,
          `${index.name} has a changed definition`,
          "The one before serves until the new one is built, verified and switched to.",
        ),
      ),
  ];
}

const unknown = (status) => status.unknown.map((text) => ({ kind: "warn", what: "Not known right now", more: text }));
