// Theme, and prefetch: requests the data of the first screen while the scripts load. A classic script, because a module
// would wait for all of its imports.

{
  // Before the first paint, so that a chosen theme does not flash the other one.
  document.documentElement.dataset.theme = localStorage.getItem("segue.theme") ?? "system";
  const prefetch = async (path) => {
    const response = await fetch(path);
    const body = await response.json();
    return { ok: response.ok, status: response.status, json: async () => body };
  };
  const key = location.hash.slice(1) || encodeURIComponent(localStorage.getItem("segue.last") ?? "");
  const session = key && `sessions/${key}`;
  const coming = ["/automations", "/recall", "/scheduled-messages?status=pending"];
  const parts = ["", "/log?limit=50", "/archives?limit=100", ...coming];
  const paths = ["sessions?limit=30", ...(session ? parts.map((part) => session + part) : [])];
  window.early = new Map(paths.map((path) => [path, prefetch(path)]));
  // The caller that takes a response handles its failure; this only avoids an unhandled rejection.
  for (const response of early.values()) response.catch(() => {});
}
