// Short notices about what was done. The element segue-toasts shows them.

export function toast(text, { undo = null, ms = 4000, bad = false } = {}) {
  dispatchEvent(new CustomEvent("segue-toast", { detail: { text, undo, ms, bad } }));
}

export const refused = (problem) => toast(problem.message, { bad: true });
