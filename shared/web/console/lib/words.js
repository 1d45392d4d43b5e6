// How numbers, times and amounts of money read.
export const count = (value) =>
  value === null || value === undefined ? "unknown" : Math.round(value).toLocaleString("en");
export const about = (value) => (value === null || value === undefined ? "unknown" : `≈ ${count(value)}`);
// Counts of long work, in words: "facts 60, dead letters 0".
export const done = (counts) =>
  Object.entries(counts)
    .filter(([, value]) => typeof value === "number")
    .map(([name, value]) => `${name === "letters" ? "dead letters" : name} ${count(value)}`)
    .join(", ");
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export function dollars(value) {
  if (value === null || value === undefined) return "–";
  if (value > 0 && value < 0.01) return "under $0.01";
  const digits = Math.abs(value) < 100 ? 2 : 0;
  return `${value < 0 ? "−" : ""}$${Math.abs(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

// An amount for a million of something may be far below a cent.
export const exactDollars = (value) =>
  value === null || value === undefined ? "–" : `$${value.toLocaleString("en", { maximumSignificantDigits: 3 })}`;

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "unknown";
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} days`;
}

export function rate(value) {
  if (value === null || value === undefined) return "–";
  return value === 0
    ? "0/s"
    : `${value < 0.01 ? "< 0.01" : value.toLocaleString("en", { maximumSignificantDigits: value < 10 ? 2 : 3 })}/s`;
}

export const percent = (share) =>
  `${(share * 100).toLocaleString("en", { maximumFractionDigits: share < 0.1 ? 1 : 0 })} %`;

export function bytes(value) {
  if (value === null || value === undefined) return "unknown";
  const powers = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(powers.length - 1, value > 0 ? Math.floor(Math.log(value) / Math.log(1024)) : 0);
  return `${(value / 1024 ** power).toLocaleString("en", { maximumSignificantDigits: 3 })} ${powers[power]}`;
}

const when = (date) => date.toLocaleString("en", { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
export const moment = (seconds) => (seconds === null || seconds === undefined ? "–" : when(new Date(seconds * 1000)));
export const momentOf = (text) => (text ? when(new Date(text)) : "–");
export const clock = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

// A value of a document in a line of text.
export const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
