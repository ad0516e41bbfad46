// Usage in words: of a run in one line, and of many in their sum.

import { t } from "./dom.js";
import { language } from "./words.js";

const CENT = 0.01;

/** 3,124 is "3.1 k". */
function count(tokens) {
  const number = (value, digits) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
  return tokens < 1000 ? number(tokens, 0) : `${number(tokens / 1000, 1)} k`;
}

/** Small amounts keep two significant digits: $0.0021. */
export function dollars(amount) {
  const digits = amount < CENT ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  return `$${new Intl.NumberFormat(language, digits).format(amount)}`;
}

/** The sum of many runs: `["3.1 k tokens", "$0.02"]`; a price that is not known is said. */
export function amounts({ input_tokens: read, output_tokens: written, cost_usd: cost, without_price: unpriced }) {
  if (!read && !written) return [];
  const parts = [t("tokens_used", { n: count(read + written) })];
  if (cost != null) parts.push(dollars(cost));
  if (unpriced) parts.push(cost == null ? t("price_unknown") : t("price_unknown_of", { count: unpriced }));
  return parts;
}

export function usageLine(usage) {
  if (!usage) return null;
  const parts = [
    usage.input_tokens && t("tokens_in", { n: count(usage.input_tokens) }),
    usage.cache_read_tokens && t("tokens_cached", { n: count(usage.cache_read_tokens) }),
    usage.output_tokens && t("tokens_out", { n: count(usage.output_tokens) }),
  ].filter(Boolean);
  if (parts.length) parts.push(usage.cost_usd == null ? t("price_unknown") : dollars(usage.cost_usd));
  return [...parts, ...Object.keys(usage.requests ?? {})].join(", ") || null;
}
