// What the first screen shows, asked for and read while the rest is on its way. No module: those wait for all of it.

{
  const ask = async (path) => {
    const answer = await fetch(path);
    const said = await answer.json();
    return { ok: answer.ok, status: answer.status, json: async () => said };
  };
  const key = location.hash.slice(1) || encodeURIComponent(localStorage.getItem("segue.last") ?? "");
  const path = key && `sessions/${key}`;
  const wanted = ["sessions?limit=30", path, path && `${path}/log?limit=50`].filter(Boolean);
  window.early = new Map(wanted.map((each) => [each, ask(each)]));
  // Whoever takes it hears that it failed.
  for (const answer of early.values()) answer.catch(() => {});
}
