"use strict";
// Everything that comes from the app is written as text, never as markup.
const POLL_MS = 5000, HISTORY_MS = 60000, ADVICE_MS = 600000, LIVE_POINTS = 400, SHORTEST_SECONDS = 600, FRESH_SECONDS = 10, BEHIND_SECONDS = 60;
const byId = (id) => document.getElementById(id);
const base = location.pathname.replace(/\/api\/status\/page\/?$/i, "");
const dark = matchMedia("(prefers-color-scheme: dark)");
const charts = new Map(), live = new Map();
let history = new Map(), historyAt = 0, adviceAt = 0, key = "", isPaused = false, timer = 0;

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// ---------------------------------------------------------------------------------------------------- how values read

const count = (value) => value === null ? "unknown" : value.toLocaleString("en");
const dollars = (value) => value === null ? "–" : `$${value.toLocaleString("en", { maximumSignificantDigits: 3 })}`;

function duration(seconds) {
  if (seconds === null) return "unknown";
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}

const moment = (seconds) => seconds === null ? "–" : new Date(seconds * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });

// A value that a program can read, too: what the page shows is what the API said.
const shown = (value, text) => make("data", { value: value === null ? "" : String(value), text });
const state = (text, kind) => make("span", { class: `state ${kind}`, text });

function fact(name, value) {
  return make("div", {}, make("dt", { text: name }), make("dd", {}, value));
}

// ---------------------------------------------------------------------------------------------------- sources

function lagKind(lag) {
  if (lag === null) return "warn";
  return lag >= BEHIND_SECONDS ? "bad" : lag >= FRESH_SECONDS ? "warn" : "good";
}

function lagText(lag) {
  if (lag === null) return "unknown";
  return lag >= BEHIND_SECONDS ? "behind" : lag >= FRESH_SECONDS ? "a little behind" : "up to date";
}

function sourceCard(source) {
  const found = document.querySelector(`[data-source="${CSS.escape(source.name)}"]`);
  if (found) return found;
  const chart = make("div", { class: "chart", "aria-hidden": "true" });
  const card = make("article", { class: "card", "data-source": source.name, "aria-label": `Source ${source.name}` },
    make("div", {}, make("h3", { text: source.name }), make("span", { class: "badge" })),
    make("p", { class: "lag" }),
    make("figure", {}, chart, make("figcaption")),
    make("dl", { class: "facts" }));
  byId("sources").append(card);
  return card;
}

function showSource(source) {
  const card = sourceCard(source);
  card.querySelector(".badge").replaceChildren(state(lagText(source.lagSeconds), lagKind(source.lagSeconds)));
  card.querySelector(".lag").replaceChildren(shown(source.lagSeconds, duration(source.lagSeconds)), make("small", { text: " lag" }));
  card.querySelector("dl").replaceChildren(
    fact("Applied", shown(source.applied, count(source.applied))),
    fact("Dropped", shown(source.dropped, count(source.dropped))),
    fact("Redelivered", shown(source.redelivered, count(source.redelivered))),
    fact("Ignored", shown(source.ignored, count(source.ignored))),
    fact("Dead letters", shown(source.deadLetters, count(source.deadLetters))),
    ...(source.deadLettersNotKept ? [fact("Not kept", count(source.deadLettersNotKept))] : []),
    ...(source.clockWentBack ? [fact("Clock went back", count(source.clockWentBack))] : []),
    fact("Transactions", shown(source.transactions, count(source.transactions))),
    fact("$ per million", shown(source.dollarsPerMillionChanges, dollars(source.dollarsPerMillionChanges))));
  drawLag(card, source.name);
}

function pointsOf(name) {
  const kept = history.get(name) || [], last = kept.length ? kept[kept.length - 1].atSeconds : 0;
  return [...kept, ...(live.get(name) || []).filter((point) => point.atSeconds > last)];
}

function drawLag(card, name) {
  const points = pointsOf(name), holder = card.querySelector(".chart");
  const columns = [points.map((point) => point.atSeconds), points.map((point) => point.lagSeconds)];
  const worst = Math.max(0, ...columns[1].filter((lag) => lag !== null));
  card.querySelector("figcaption").textContent = points.length < 2 ? "Lag over time: measuring…"
    : `Lag over the last ${duration(points[points.length - 1].atSeconds - points[0].atSeconds)}: at most ${duration(worst)}`;
  const known = charts.get(name);
  if (known) {
    known.setData(columns);
    return;
  }
  if (points.length < 2 || !holder.clientWidth) return;
  const color = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  const axis = { stroke: color("--soft"), font: "11px system-ui", grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false } };
  charts.set(name, new uPlot({
    width: holder.clientWidth, height: 116, legend: { show: false }, cursor: { show: false }, padding: [8, 18, 0, 0],
    scales: { x: { range: (_, low, high) => [Math.min(low, high - SHORTEST_SECONDS), high] }, y: { range: (_, low, high) => [0, Math.max(10, (high || 0) * 1.15)] } },
    axes: [
      { ...axis, size: 26, gap: 6, space: 70, grid: { show: false },
        values: (_, ticks) => ticks.map((at) => new Date(at * 1000).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })) },
      { ...axis, size: 46, gap: 4, space: 28, values: (_, ticks) => ticks.map((lag) => lag < 120 ? `${lag} s` : `${Math.round(lag / 60)} min`) }],
    series: [{}, { stroke: color("--accent"), width: 2, fill: color("--accent") + "22", points: { show: false } }],
  }, columns, holder));
}

function redraw() {
  for (const chart of charts.values()) chart.destroy();
  charts.clear();
  for (const card of document.querySelectorAll("[data-source]")) drawLag(card, card.dataset.source);
}

// ---------------------------------------------------------------------------------------------------- tables

// Rows keep their meaning for screen readers when a narrow page lays them out as blocks: hence the roles.
function table(caption, columns, rows) {
  const head = make("tr", { role: "row" }, ...columns.map((column) =>
    make("th", { role: "columnheader", scope: "col", class: column.isNumber ? "number" : "", text: column.name })));
  const body = rows.map((row) => make("tr", { role: "row", ...row.attributes }, ...row.cells.map((cell, place) => {
    const column = columns[place];
    const tag = place ? "td" : "th", role = place ? "cell" : "rowheader";
    const kind = `${column.isNumber ? "number" : ""} ${column.isWide ? "wide" : ""}`.trim();
    const attributes = { role, class: kind, "data-label": column.name };
    return make(tag, place ? attributes : { ...attributes, scope: "row" }, ...[cell].flat());
  })));
  return make("table", { role: "table", "aria-label": caption },
    make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, ...body));
}

const number = (name) => ({ name, isNumber: true });

function showIndexes(status) {
  const kinds = { serving: "good", building: "warn", unknown: "calm" };
  const columns = [{ name: "Index" }, { name: "State" }, number("Entries written"), number("Removed"), number("Lookups"),
    number("Rows per entry"), number("Transactions"), number("$ per million entries"), number("$ per million lookups")];
  const rows = status.indexes.map((index) => {
    const { changes, lookups } = index.transactions;
    const transactions = changes === null ? null : changes + lookups;
    const ratio = index.entriesReturned ? index.rowsRead / index.entriesReturned : null;
    return { attributes: { "data-index": index.name }, cells: [
      [index.name, make("small", { text: `of ${index.source}` })],
      state(index.state, kinds[index.state] || "calm"),
      shown(index.entriesWritten, count(index.entriesWritten)),
      shown(index.entriesRemoved, count(index.entriesRemoved)),
      shown(index.lookups, count(index.lookups)),
      shown(ratio, ratio === null ? "–" : ratio.toFixed(2)),
      shown(transactions, count(transactions)),
      shown(index.dollarsPerMillionEntries, dollars(index.dollarsPerMillionEntries)),
      shown(index.dollarsPerMillionLookups, dollars(index.dollarsPerMillionLookups)),
    ] };
  });
  byId("indexes").replaceChildren(table("Indexes", columns, rows));
  const { date, perMillionTransactions } = status.prices;
  byId("prices").textContent = `Storage transactions at ${dollars(perMillionTransactions)} per million, prices of ${date}. `
    + (status.counters.sinceSeconds === null ? "Counts are of the answering instance."
      : `Counts are of all instances since ${moment(status.counters.sinceSeconds)}.`);
}

function showLetters(letters) {
  const waiting = letters.count === null ? "It is not known how many dead letters wait."
    : letters.count === 0 ? "No dead letter waits."
    : `${count(letters.count)}${letters.hasMore ? " or more" : ""} wait${letters.count === 1 ? "s" : ""}:`;
  const total = make("p", { class: letters.count ? "" : "panel" }, shown(letters.count, waiting));
  const columns = [{ name: "Kind" }, number("Letters"), { name: "Source" }, { name: "Index" }, { name: "Reason of one of them", isWide: true }];
  const rows = letters.reasons.map((one) => ({ attributes: { "data-kind": one.kind }, cells: [
    one.kind, shown(one.count, count(one.count)), one.source, one.index === null ? "–" : one.index,
    make("span", { class: "reason", text: one.reason })] }));
  byId("letters").replaceChildren(total, ...(rows.length ? [table("Dead letters by kind of failure", columns, rows)] : []));
}

function showGenerations(status) {
  const kinds = { serving: "good", building: "warn", standby: "calm", retired: "calm" };
  const columns = [{ name: "Index" }, { name: "Generation", isWide: true }, { name: "State" }, { name: "Since" }, { name: "Built" }, { name: "Verified" }];
  const rows = status.indexes.flatMap((index) => index.generations.map((one) => ({ attributes: { "data-generation": one.id }, cells: [
    index.name, make("code", { text: one.id }), state(one.state, kinds[one.state] || "calm"),
    moment(one.enteredAtSeconds), moment(one.builtAtSeconds),
    one.verifiedAtSeconds === null ? "–" : `${moment(one.verifiedAtSeconds)}, ${count(one.differences)} differences`] })));
  byId("generations").replaceChildren(rows.length ? table("Generations", columns, rows)
    : make("p", { class: "panel", text: "No generation is known yet." }));
  byId("tasks").replaceChildren(...(status.tasks && status.tasks.length ? [taskTable(status.tasks)] : []));
}

function taskTable(tasks) {
  const kinds = { running: "warn", done: "good", failed: "bad" };
  const columns = [{ name: "Task" }, { name: "State" }, { name: "Progress" }, { name: "Done so far", isWide: true }, { name: "Started" }];
  return table("Builds and other long tasks", columns, tasks.map((task) => ({ attributes: { "data-task": task.id }, cells: [
    [`${task.kind} ${task.about.index || ""}`, make("small", { text: task.problem || "" })],
    state(task.state, kinds[task.state] || "calm"),
    make("span", { class: "progress" }, make("progress", { max: String(Math.max(1, task.slices)), value: String(task.slicesDone), "aria-label": `Progress of ${task.kind} ${task.about.index || task.id}` }),
      ` ${task.slicesDone} of ${task.slices}`),
    Object.entries(task.counts).map(([name, done]) => `${name} ${count(done)}`).join(", ") || "–",
    moment(task.startedAtSeconds)] })));
}

function showAdvice(indexes) {
  const rows = indexes.flatMap((index) => index.advice.map((one) => ({ attributes: { "data-advice": one.code }, cells: [
    index.name, one.code, make("span", { class: "reason", text: `${one.what}. ${one.mend}` }),
    shown(one.dollarsPerMonth, one.dollarsPerMonth === null ? "–" : dollars(one.dollarsPerMonth))] })));
  const columns = [{ name: "Index" }, { name: "Kind" }, { name: "What, and what to do", isWide: true }, number("$ a month")];
  byId("advice-section").hidden = false;
  byId("advice").replaceChildren(rows.length ? table("Advice", columns, rows)
    : make("p", { class: "panel", text: "Nothing to advise." }));
}

function limiterText({ limit, limitMax, inFlight, waiting, latencyRatio, lastCut }) {
  const queued = waiting.callers + waiting.feed + waiting.background;
  const cut = lastCut ? `, cut from ${lastCut.before} to ${lastCut.after} ${duration(lastCut.secondsAgo)} ago (${lastCut.reason})` : "";
  return `${inFlight} of ${limit} (at most ${limitMax}), ${queued} waiting, latency ${latencyRatio} of quiet${cut}`;
}

function showStorage({ isReachable, breaker, accounts }) {
  const kinds = { closed: "good", "half-open": "warn", open: "bad" };
  byId("storage").replaceChildren(
    fact("Index storage", state(isReachable ? "answers" : "does not answer", isReachable ? "good" : "bad")),
    fact("Breaker", state(breaker.state, kinds[breaker.state])),
    fact("Failures in a row", shown(breaker.failures, count(breaker.failures))),
    ...(breaker.openForSeconds === null ? [] : [fact("Open for", shown(breaker.openForSeconds, duration(breaker.openForSeconds)))]),
    fact("Last outage", shown(breaker.lastOutageSeconds, breaker.lastOutageSeconds === null ? "none seen" : duration(breaker.lastOutageSeconds))),
    fact("Last error", make("span", { class: "prose", text: breaker.lastError || "none seen" })),
    ...accounts.map((one) => fact(`Transactions of ${one.name}`,
      shown(one.transactions.changes, count(one.transactions.changes + one.transactions.lookups)))),
    ...accounts.filter((one) => one.limiter).map((one) => fact(`Calls at once to ${one.name}`, limiterText(one.limiter))));
}

// ---------------------------------------------------------------------------------------------------- the whole

function say(text, kind) {
  const summary = byId("summary");
  summary.className = `pill ${kind}`;
  if (summary.textContent !== text) summary.textContent = text;
}

function summarize(status) {
  const behind = status.sources.filter((source) => source.lagSeconds >= BEHIND_SECONDS);
  if (!status.storage.isReachable) say("The index storage does not answer", "bad");
  else if (behind.length) say(`Behind: ${behind.map((source) => source.name).join(", ")}`, "bad");
  else if (status.unknown.length) say("Not everything is known", "warn");
  else if (status.deadLetters.count) say(`Up to date, with ${count(status.deadLetters.count)} dead letter${status.deadLetters.count === 1 ? "" : "s"}`, "warn");
  else say("Up to date", "good");
}

function show(status) {
  byId("report").hidden = false;
  byId("access").hidden = true;
  const at = Math.floor(Date.parse(status.at) / 1000);
  const names = new Set(status.sources.map((source) => source.name));
  for (const card of document.querySelectorAll("[data-source]")) if (!names.has(card.dataset.source)) card.remove();
  for (const source of status.sources) {
    live.set(source.name, [...(live.get(source.name) || []), { atSeconds: at, lagSeconds: source.lagSeconds }].slice(-LIVE_POINTS));
    showSource(source);
  }
  byId("unknown").hidden = !status.unknown.length;
  byId("unknown").querySelector("ul").replaceChildren(...status.unknown.map((text) => make("li", { text })));
  showIndexes(status);
  showLetters(status.deadLetters);
  showGenerations(status);
  showStorage(status.storage);
  summarize(status);
  byId("updated").textContent = `As of ${new Date(status.at).toLocaleTimeString("en", { hourCycle: "h23" })}`;
  document.body.dataset.at = status.at;
}

const get = (path) => fetch(base + path, { headers: key ? { "x-functions-key": key } : {}, cache: "no-store" });

async function readHistory() {
  if (Date.now() - historyAt < HISTORY_MS) return;
  const answer = await get("/api/status/history");
  if (!answer.ok) return;
  history = new Map((await answer.json()).value.map((one) => [one.source, one.points]));
  historyAt = Date.now();
}

async function readAdvice() {
  if (Date.now() - adviceAt < ADVICE_MS) return;
  adviceAt = Date.now();
  const answer = await get("/api/advice");
  if (answer.ok) showAdvice((await answer.json()).indexes);
}

function askForKey() {
  byId("refused").textContent = key ? "This key is not accepted." : "";
  byId("report").hidden = true;
  byId("access").hidden = false;
  say("A function key is needed", "calm");
  byId("key").focus();
}

async function refresh() {
  clearTimeout(timer);
  try {
    const answer = await get("/api/status");
    if (answer.status === 401) {
      askForKey();
      return;
    }
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.detail || `The app answered ${answer.status}.`);
    await readHistory().catch(() => {});  // the chart goes on with what it has
    show(content);
    readAdvice().catch(() => {});  // it costs a sample of storage: it comes later, and seldom
  } catch (error) {
    say("The app does not answer", "bad");
    byId("unknown").hidden = false;
    byId("unknown").querySelector("ul").replaceChildren(make("li", { text: String(error.message || error) }));
  }
  if (!isPaused) timer = setTimeout(refresh, POLL_MS);
}

byId("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byId("pause").textContent = isPaused ? "Resume" : "Pause";
  byId("pause").setAttribute("aria-pressed", String(isPaused));
  if (isPaused) clearTimeout(timer);
  else refresh();
});
byId("access").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value;
  refresh();
});
dark.addEventListener("change", redraw);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  redraw();
});
refresh();
