// Pages of a list, one after the other.
import { useEffect, useState } from "preact/hooks";
import { get, queryOf } from "./calls.js";
import { useSession } from "./session.js";

// Pages as they were read: to go back asks nothing again.
export function usePages(path, query) {
  const session = useSession();
  const [state, setState] = useState({ pages: [], at: 0, isLoading: true });
  const read = (text, known) =>
    get(`${path}?${text}`).then(
      (page) => setState({ pages: [...known, page], at: known.length, isLoading: false }),
      (problem) => setState({ pages: known, at: Math.max(0, known.length - 1), isLoading: false, problem }),
    );
  const again = () => read(query, []);
  useEffect(() => {
    again();
  }, [session]);
  const { pages, at } = state;
  const next = () => {
    if (pages[at + 1]) return setState({ ...state, at: at + 1 });
    setState({ ...state, isLoading: true });
    return read(queryOf(pages[at].nextLink), pages.slice(0, at + 1));
  };
  return {
    page: pages[at],
    number: at + 1,
    before: pages.slice(0, at).reduce((sum, page) => sum + page.value.length, 0),
    isLoading: state.isLoading,
    problem: state.problem,
    next,
    again,
    previous: () => setState({ ...state, at: at - 1 }),
  };
}
