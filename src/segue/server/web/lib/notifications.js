// Notifications on this device by Web Push, and the badge of the installed app.

import { address, get, post, remove } from "./api.js";
import { live } from "./connection.js";
import { go } from "./route.js";
import { sessions } from "./sessions.js";

/** The id of this device's subscription at the server. */
const DEVICE = "segue.device";
/** The server forgets after five minutes that a page is visible. */
const VISIBLE_MS = 240_000;

const isSupported =
  isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

export const notifications = new (class extends EventTarget {
  /** `on`, `off`, `denied` by the browser, or `unsupported`. */
  get state() {
    if (!isSupported) return "unsupported";
    if (Notification.permission === "denied") return "denied";
    return localStorage.getItem(DEVICE) && Notification.permission === "granted" ? "on" : "off";
  }

  start() {
    sessions.addEventListener("change", () => this.#showBadge());
    this.#showBadge();
    if (!isSupported) return;
    navigator.serviceWorker.addEventListener("message", ({ data }) => data.open && go(data.open));
    document.addEventListener("visibilitychange", () => this.#tellVisible());
    setInterval(() => document.hidden || this.#tellVisible(), VISIBLE_MS);
    if (this.state === "on") this.#subscribe().catch(() => {});
  }

  /** Asks the browser's user for permission, and subscribes this device. Only after a click. */
  async enable() {
    if ((await Notification.requestPermission()) === "granted") await this.#subscribe();
    this.#changed();
  }

  async disable() {
    const device = localStorage.getItem(DEVICE);
    if (!device) return;
    localStorage.removeItem(DEVICE);
    this.#changed();
    const registration = await navigator.serviceWorker.getRegistration(address("."));
    await (await registration?.pushManager.getSubscription())?.unsubscribe();
    await remove(`push/subscriptions?id=${device}`);
  }

  /** Also renews a subscription that was made with an older key of the server, or for another user. */
  async #subscribe() {
    const { key } = await get("push/key");
    await navigator.serviceWorker.register(address("sw.js"));
    const { pushManager } = await navigator.serviceWorker.ready;
    let subscription = await pushManager.getSubscription();
    if (subscription && toText(subscription.options.applicationServerKey) !== key) {
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: toBytes(key) });
    const { id } = await post("push/subscriptions", subscription.toJSON());
    localStorage.setItem(DEVICE, id);
    this.#tellVisible();
  }

  #tellVisible() {
    const device = localStorage.getItem(DEVICE);
    if (device) live.visible(device, !document.hidden);
  }

  #showBadge() {
    const count = sessions.unread;
    // Only an installed app has a badge.
    navigator.setAppBadge?.(count).catch(() => {});
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
})();

const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");

const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));

notifications.start();
