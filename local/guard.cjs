// Loaded into Azurite before its own code (`node --require`), so that it ends when its supervisor does.
// Its standard input is a pipe that the supervisor holds: the end of that pipe means "stop", or that the
// supervisor has ended.
"use strict";

let stopping = false;

// A second SIGTERM would kill Azurite in the middle of its flush and lose the tables; this listener stays, so that
// one is ignored. Before Azurite listens itself there is nothing to flush.
process.on("SIGTERM", () => {
  const azuriteListens = process.listenerCount("SIGTERM") > 1;
  if (!azuriteListens && !stopping) process.exit(0);
  stopping = true;
});

process.stdin.on("end", () => {
  if (!stopping) process.emit("SIGTERM");
});
process.stdin.on("error", () => {});
process.stdin.resume();
process.stdin.unref();
