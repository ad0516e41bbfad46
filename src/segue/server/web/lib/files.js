// Files of messages: uploads with progress, and images as blob URLs. The server sends a file as an attachment only.

import { address, inPath, Problem } from "./api.js";
import { newId } from "./live.js";
import { language, t } from "./words.js";

/** Formats that cannot contain a program. An SVG can, and is never shown. */
const SHOWN = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export const isShown = ({ type, media_type }) => type === "image" && SHOWN.has(media_type);

/** Shows a file in an `img`: whatever the bytes are, they are taken as an image. `giveUp`: it is none, or is gone. */
export async function showImage(image, { id, media_type }, giveUp) {
  try {
    const response = await fetch(address(`files/${inPath(id)}`));
    if (!response.ok) return giveUp();
    const url = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: media_type }));
    image.onload = () => URL.revokeObjectURL(url);
    image.onerror = () => {
      URL.revokeObjectURL(url);
      giveUp();
    };
    image.src = url;
  } catch {
    giveUp();
  }
}

export const downloadUrl = ({ id }) => address(`files/${inPath(id)}`).href;

const MEGABYTE = 2 ** 20;

export function formatSize(bytes) {
  const large = bytes >= MEGABYTE;
  const unit = large ? "megabyte" : "kilobyte";
  const size = large ? bytes / MEGABYTE : Math.ceil(bytes / 1024);
  return size.toLocaleString(language, { style: "unit", unit, maximumFractionDigits: 1 });
}

/** Why a file was not stored, in the words of the page. */
function reason(status, { code, detail } = {}) {
  if (status === 413) return t("file_too_large");
  if (code === "too_many_files") return t("files_full");
  if (status >= 500) return t("file_not_stored");
  return status ? (detail ?? t("file_not_stored")) : t("unreachable");
}

/** Uploads a file; calls `onProgress` with a share of 1. `signal` cancels it. Returns the part for a message. */
export function upload(path, file, { onProgress, signal }) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    const refuse = () => fail(new Problem(request.status, reason(request.status, request.response ?? {})));
    request.open("POST", address(`${path}/files?name=${encodeURIComponent(file.name)}`));
    request.responseType = "json";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Idempotency-Key", newId());
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    request.onload = () => (request.status === 201 ? done(request.response) : refuse());
    request.onerror = refuse;
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
