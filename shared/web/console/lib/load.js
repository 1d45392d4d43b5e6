// What a page shows is loaded, shown, and loaded again: when its question changes, with another key, or every so often.
import { useCallback, useEffect, useState } from "preact/hooks";
import { useSession } from "./session.js";

const RETRY_SECONDS = 3;

// An app that starts again, or storage that is down, answers later: the reader need not ask again.
const mayPass = (problem) => Boolean(problem) && (problem.status === 0 || problem.status >= 500);

// `load` gives a promise; nothing is loaded while it is null. The last value stays while a newer one cannot be had.
export function useLoad(load, inputs, everySeconds = 0) {
  const session = useSession();
  const question = JSON.stringify([session, ...inputs]);
  const [found, setFound] = useState({ question: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!load) return undefined;
    let isWanted = true,
      timer = 0;
    const run = async () => {
      const next = await load().then(
        (value) => ({ value }),
        (problem) => ({ problem }),
      );
      if (!isWanted) return;
      setFound((before) => ({
        ...(before.question === question ? before : {}),
        problem: undefined,
        ...next,
        question,
      }));
      const seconds = everySeconds || (mayPass(next.problem) ? RETRY_SECONDS : 0);
      if (seconds) timer = setTimeout(run, seconds * 1000);
    };
    run();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [question, turn, everySeconds, load === null]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const isCurrent = found.question === question;
  return {
    value: isCurrent ? found.value : undefined,
    problem: isCurrent ? found.problem : undefined,
    reload,
    isLoading: load !== null && !isCurrent,
  };
}

// Something that the reader starts: whether it runs, and what came of it.
export function useAction() {
  const [state, setState] = useState({ isRunning: false });
  const run = useCallback(async (work) => {
    setState({ isRunning: true });
    const next = await work().then(
      (value) => ({ value }),
      (problem) => ({ problem }),
    );
    setState({ isRunning: false, ...next });
    return next;
  }, []);
  return { ...state, run, forget: () => setState({ isRunning: false }) };
}
