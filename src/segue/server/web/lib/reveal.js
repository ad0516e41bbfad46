// Leads to a message that was found, also far back in a long conversation.

import { prefersReducedMotion } from "./dom.js";
import { refused } from "./toast.js";

const PAGE = 500;
const PAUSE_MS = 50;
const pause = () => new Promise((wake) => setTimeout(wake, PAUSE_MS));

/** Loads older pages until `find` returns something; returns that, or undefined if there is none. */
export async function loadUntil(chat, find) {
  while (!find() && chat.hasOlder) {
    const added = await chat.older(PAGE);
    if (!added.length) await pause();
  }
  return find();
}

/** `message` is a result of the search. */
export async function reveal(talk, chat, message) {
  try {
    if (chat.state === "loading") {
      await new Promise((wake) => chat.addEventListener("opened", wake, { once: true }));
    }
    const find = () =>
      message.turn_id
        ? chat.fold.turn(message.turn_id)
        : chat.fold.entries.find((entry) => entry.kind === "message" && entry.seq === message.seq);
    const entry = await loadUntil(chat, find);
    if (entry) show(talk, chat, entry);
  } catch (problem) {
    refused(problem);
  }
}

function show(talk, chat, entry) {
  const newest = chat.fold.newest(entry);
  const element = talk.reveal(newest);
  if (newest !== entry) element.querySelector("segue-versions")?.open();
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  // Entries above get their real height when they are drawn, which moves this one.
  const settle = (left) => {
    element.scrollIntoView({ block: "center", behavior: "instant" });
    if (left) requestAnimationFrame(() => settle(left - 1));
  };
  requestAnimationFrame(() => settle(3));
  if (prefersReducedMotion()) return;
  const wash = getComputedStyle(element).getPropertyValue("--wash");
  element.animate([{ background: wash }, { background: wash, offset: 0.6 }, {}], 2500);
}
