// Loaded into Azurite before its own code (`node --require`), so that it ends when its supervisor does.
// Its standard input is a pipe that the supervisor holds: the end of that pipe means that the supervisor is gone.
"use strict";

const AZURITE_NOT_LISTENING = 1; // only the listener below is registered

// A second SIGTERM would kill Azurite in the middle of its flush and lose the tables; with this listener it is ignored.
process.on("SIGTERM", () => {
  if (process.listenerCount("SIGTERM") === AZURITE_NOT_LISTENING && !stopping) process.exit(0);
  stopping = true;
});
let stopping = false;

process.stdin.on("end", () => {
  if (!stopping) process.kill(process.pid, "SIGTERM");
});
process.stdin.on("error", () => {});
process.stdin.resume();
process.stdin.unref();
