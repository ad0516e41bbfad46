// Service worker: shows a notification for a push, and opens its conversation. It caches nothing and serves nothing, so
// that the page is always the server's newest.

const NEW_MESSAGE = { en: "New message", de: "Neue Nachricht", zh: "新消息" };
const LOOK_UP_MS = 5000;
const within = (path) => new URL(path, self.registration.scope).href;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("push", (event) => event.waitUntil(receive(event.data?.json() ?? {})));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.session));
});

const pages = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

async function receive({ session = "", unread = 1 }) {
  await navigator.setAppBadge?.(unread).catch(() => {});
  if ((await pages()).some((page) => page.visibilityState === "visible")) return;
  const icon = within("icon-192.png");
  const { title, body } = await wordsFor(session);
  await self.registration.showNotification(title, { body, icon, tag: session, renotify: true, data: { session } });
}

/** The push has no text. The user's own server has, as long as they are logged in. */
async function wordsFor(session) {
  const language = navigator.language.split("-")[0];
  const unknown = { title: "Segue", body: NEW_MESSAGE[language] ?? NEW_MESSAGE.en };
  try {
    const path = within(`sessions/${encodeURIComponent(session)}`);
    const response = await fetch(path, { signal: AbortSignal.timeout(LOOK_UP_MS) });
    if (!response.ok) return unknown;
    const { title, last_line: line } = await response.json();
    return { title: title || unknown.title, body: line || unknown.body };
  } catch {
    return unknown;
  }
}

async function open(session) {
  const page = (await pages()).find(({ url }) => url.startsWith(self.registration.scope));
  if (!page) return self.clients.openWindow(within(`#${encodeURIComponent(session)}`));
  page.postMessage({ open: session });
  return page.focus();
}
