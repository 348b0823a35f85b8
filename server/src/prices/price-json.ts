import { RequestError } from "../model/errors.ts";
import { parseTime } from "../model/parse-time.ts";
import { priceKinds } from "./model-prices.ts";
import type { ModelPrices, PriceKind, Rate } from "./model-prices.ts";
import type { PriceKey, PriceRow } from "./price-table.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The highest price, in US dollars for a million tokens. */
const maxPrice = 1_000_000;
const maxTiers = 10;
const maxNameChars = 200;
/** Matches names of models, providers and tiers, which consist of printable ASCII characters. */
const namePattern = /^[!-~](?:[ -~]*[!-~])?$/;
/** Matches a date without a time, which means the beginning of that day in UTC. */
const datePattern = /^\d{4}-\d\d-\d\d$/;
const keyMembers = ["provider", "model", "tier", "from"];

/**
 * Parses a row of a price table.
 *
 * @param path - the name of the row in errors
 * @throws RequestError 422: the row is invalid.
 */
export function parsePrice(value: unknown, path: string): PriceRow {
  const row = toObject(value, path, [...keyMembers, "prices"]);
  return { ...readKey(row, path), prices: parsePrices(row["prices"], `${path}.prices`) };
}

/** Parses the members that identify a row. */
export const parsePriceKey = (value: unknown, path: string): PriceKey =>
  readKey(toObject(value, path, keyMembers), path);

function readKey(row: JsonObject, path: string): PriceKey {
  const model = parseName(row["model"], `${path}.model`);
  if (model === null) {
    throw new RequestError(
      422,
      `${path}.model is missing: it must be the name of a model, in which * stands for any text`,
    );
  }
  return {
    model,
    provider: parseName(row["provider"], `${path}.provider`),
    tier: toTier(parseName(row["tier"], `${path}.tier`)),
    fromMicros: parseFrom(row["from"], `${path}.from`),
  };
}

const toTier = (tier: string | null): string | null => (tier === "standard" ? null : tier);

function parseName(value: unknown, path: string): string | null {
  if (value === undefined || value === null) {
    return null;
  }
  if (typeof value !== "string" || value.length > maxNameChars || !namePattern.test(value)) {
    throw new RequestError(
      422,
      `${path} must be a text of 1 to ${maxNameChars} printable ASCII characters without spaces around it, not ${show(value)}`,
    );
  }
  return value.toLowerCase();
}

function parseFrom(value: unknown, path: string): number {
  if (value === undefined || value === null) {
    return 0;
  }
  const time = typeof value === "string" && datePattern.test(value) ? `${value}T00:00:00Z` : value;
  const micros = typeof time === "string" ? parseTime(time) : undefined;
  if (micros === undefined || micros < 0) {
    throw new RequestError(
      422,
      `${path} must be a date such as 2026-01-31, or an ISO 8601 time, not before 1970: not ${show(value)}`,
    );
  }
  return micros;
}

function parsePrices(value: unknown, path: string): ModelPrices {
  const prices = toObject(value, path, priceKinds);
  const entries = Object.entries(prices)
    .filter(([, rate]) => rate !== null)
    .map(([kind, rate]) => [kind, parseRate(rate, `${path}.${kind}`)] as const);
  const kinds = new Set(entries.map(([kind]) => kind));
  if (!kinds.has("input")) {
    throw new RequestError(
      422,
      `${path}.input is missing: a price per million input tokens is required, and may be 0`,
    );
  }
  return Object.fromEntries(entries) as Partial<Record<PriceKind, Rate>>;
}

function parseRate(value: unknown, path: string): Rate {
  if (typeof value !== "object" || value === null) {
    return parseAmount(value, path);
  }
  const { base, tiers } = toObject(value, path, ["base", "tiers"]);
  if (!Array.isArray(tiers) || tiers.length > maxTiers) {
    throw new RequestError(
      422,
      `${path}.tiers must be a list of up to ${maxTiers} objects with start and price`,
    );
  }
  const parsedTiers = tiers.map((tier: unknown, index) => {
    const tierPath = `${path}.tiers[${index}]`;
    const { start, price } = toObject(tier, tierPath, ["start", "price"]);
    if (typeof start !== "number" || !Number.isSafeInteger(start) || start < 0) {
      throw new RequestError(
        422,
        `${tierPath}.start must be a number of input tokens, not ${show(start)}`,
      );
    }
    return { start, price: parseAmount(price, `${tierPath}.price`) };
  });
  return {
    base: parseAmount(base, `${path}.base`),
    tiers: parsedTiers.toSorted((a, b) => a.start - b.start),
  };
}

function parseAmount(value: unknown, path: string): number {
  if (typeof value !== "number" || !(value >= 0 && value <= maxPrice)) {
    throw new RequestError(
      422,
      `${path} must be a number of US dollars from 0 to ${maxPrice}, not ${show(value)}`,
    );
  }
  return value;
}

function toObject(value: unknown, path: string, names: readonly string[]): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(422, `${path} must be an object, not ${show(value)}`);
  }
  const unknownName = Object.keys(value).find((name) => !names.includes(name));
  if (unknownName !== undefined) {
    throw new RequestError(
      422,
      `${path} has the unknown member ${show(unknownName)}; known members are ${names.join(", ")}`,
    );
  }
  return { ...value };
}

const show = (value: unknown): string =>
  value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);

/** Serializes a row of a price table. */
export const toPriceJson = ({ model, provider, tier, fromMicros, prices }: PriceRow) => ({
  provider,
  model,
  tier,
  from: fromMicros === 0 ? null : toDate(fromMicros),
  prices,
});

/** A time at midnight is shown as its date. */
const toDate = (micros: number): string =>
  new Date(micros / 1_000).toISOString().replace(/T00:00:00\.000Z$/, "");
