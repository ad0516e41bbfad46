// Theme, language, and prefetch: requests the data of the first screen while the scripts load. A classic script, because
// a module would wait for all of its imports.

{
  const page = document.documentElement;
  // Before the first paint, so that a chosen theme does not flash the other one.
  page.dataset.theme = localStorage.getItem("segue.theme") ?? "system";
  // The first language of the browser that the page has, unless another one was chosen.
  const tags = [localStorage.getItem("segue.language") ?? [], navigator.languages].flat();
  const tag = tags.find((each) => /^(en|de|zh)\b/i.test(each)) ?? "en";
  const language = tag.slice(0, 2).toLowerCase();
  page.lang = language === "zh" ? "zh-Hans" : tag;
  const prefetch = async (path) => {
    const response = await fetch(path);
    const body = await response.json();
    return { ok: response.ok, status: response.status, json: async () => body };
  };
  const key = location.hash.slice(1) || encodeURIComponent(localStorage.getItem("segue.last") ?? "");
  const session = key && `sessions/${key}`;
  const coming = ["/automations", "/recall", "/scheduled-messages?status=pending"];
  const parts = ["", "/log?limit=50", "/archives?limit=100", ...coming];
  const paths = ["sessions?limit=30", "auth/session", ...(session ? parts.map((part) => session + part) : [])];
  window.early = new Map(paths.map((path) => [path, prefetch(path)]));
  if (language !== "en") early.set("words", import(`./words/${language}.js`));
  // The caller that takes a response handles its failure; this only avoids an unhandled rejection.
  for (const response of early.values()) response.catch(() => {});
}
