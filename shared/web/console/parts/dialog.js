// A dialog over the page: the browser keeps the focus in it, and Escape closes it.
import { useEffect, useRef } from "preact/hooks";
import { html } from "../lib/html.js";

export function Dialog({ title, onClose, isNarrow, children }) {
  const element = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => before && before.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${element} class=${isNarrow ? "narrow" : ""} aria-labelledby="dialog-title"
    onClose=${onClose}>
    <div class="row spread"><h2 id="dialog-title">${title}</h2>
      <button type="button" class="quiet" onClick=${() => element.current.close()}>Close</button></div>
    ${children}
  </dialog>`;
}

// Asks before something that cannot be taken back.
export const Confirm = ({ title, action, isRisky, onConfirm, onClose, children }) => html`
  <${Dialog} title=${title} isNarrow onClose=${onClose}>
    ${children}
    <div class="end"><button type="button" class=${isRisky ? "risky" : "main"} onClick=${onConfirm}>${action}</button>
      </div>
  <//>`;
