import {
  parseChoice,
  requireItems,
  requireText,
  toItems,
  toNumber,
  toRecord,
  toText,
} from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/**
 * The kinds of prices in the order of the form, with their labels. All prices are for a million tokens, except the last
 * one, which is for 1,000 requests.
 */
export const priceKinds = [
  ["input", "Input"],
  ["output", "Output"],
  ["cache_read", "Cached input"],
  ["cache_write", "Cache write"],
  ["cache_write_1h", "Cache write (1 h)"],
  ["input_audio", "Audio input"],
  ["output_audio", "Audio output"],
  ["reasoning", "Reasoning"],
  ["request", "1,000 requests"],
] as const;

export type PriceKind = (typeof priceKinds)[number][0];

/**
 * A price that depends on the number of input tokens of a run. If the number is greater than the `start` of one or more
 * tiers, the price of the last of these tiers applies, otherwise `base`.
 */
export interface TieredRate {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

export type Rate = number | TieredRate;
export type Rates = Readonly<Partial<Record<PriceKind, Rate>>>;

/** The fields that identify a row of the tenant's price table. */
export interface PriceKey {
  readonly model: string;
  readonly provider: string | null;
  readonly tier: string | null;
  /** A date such as 2026-01-31, or an ISO 8601 time, in UTC. */
  readonly from: string | null;
}

export interface Price extends PriceKey {
  readonly prices: Rates;
}

/** A public price, which is built into the server. */
export interface LibraryPrice {
  readonly model: string;
  readonly provider: string;
  readonly providerName: string;
  readonly prices: Rates;
}

export interface LibraryPage {
  readonly prices: readonly LibraryPrice[];
  readonly total: number;
}

const sources = ["none", "no_tokens", "reported", "table", "library"] as const;
export type PriceSource = (typeof sources)[number];

/** Model calls with the same price, or with the same reason for having no price. */
export interface UsedModel {
  readonly source: PriceSource;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly reason: string | undefined;
  readonly calls: number;
  readonly cost: number;
  readonly latestMs: number | undefined;
}

export interface UsedModels {
  readonly models: readonly UsedModel[];
  /** The number of calls of models that are not listed. */
  readonly otherCalls: number;
  /** Whether all calls of the period were counted. */
  readonly isComplete: boolean;
  /** The calls of this many days were counted, up to now. */
  readonly days: number;
}

/** @throws TypeError the value is not a price table. */
export const parsePrices = (value: unknown): readonly Price[] =>
  requireItems(toRecord(value)["prices"], "prices").map((item) => {
    const row = toRecord(item);
    return {
      model: requireText(row, "model"),
      provider: toText(row["provider"]) ?? null,
      tier: toText(row["tier"]) ?? null,
      from: toText(row["from"]) ?? null,
      prices: parseRates(row["prices"]),
    };
  });

/** @throws TypeError the value is not a list of public prices. */
export const parseLibraryPage = (value: unknown): LibraryPage => ({
  prices: requireItems(toRecord(value)["prices"], "public prices").map((item) => {
    const row = toRecord(item);
    return {
      model: requireText(row, "model"),
      provider: requireText(row, "provider"),
      providerName: requireText(row, "provider_name"),
      prices: parseRates(row["prices"]),
    };
  }),
  total: toNumber(toRecord(value)["total"]) ?? 0,
});

/** Parses the models of recent calls. Models without a price come first, then those with the most calls. */
export function parseUsedModels(value: unknown): UsedModels {
  const response = toRecord(value);
  const models = requireItems(response["models"], "models").map((item): UsedModel => {
    const row = toRecord(item);
    return {
      source: parseChoice(row["price"], sources) ?? "none",
      model: toText(row["model"]),
      provider: toText(row["provider"]),
      reason: toText(row["reason"]),
      calls: toNumber(row["calls"]) ?? 0,
      cost: toNumber(row["cost"]) ?? 0,
      latestMs: parseTimeMs(row["latest"]),
    };
  });
  return {
    models: models.toSorted(
      (left, right) =>
        Number(right.source === "none") - Number(left.source === "none") ||
        right.calls - left.calls,
    ),
    otherCalls: toNumber(response["other_calls"]) ?? 0,
    isComplete: response["is_complete"] === true,
    days: toNumber(response["days"]) ?? 0,
  };
}

const parseRates = (value: unknown): Rates => {
  const members = toRecord(value);
  return Object.fromEntries(
    priceKinds.flatMap(([kind]) => {
      const rate = parseRate(members[kind]);
      return rate === undefined ? [] : [[kind, rate]];
    }),
  );
};

function parseRate(value: unknown): Rate | undefined {
  const tiered: JsonMembers = toRecord(value);
  const base = toNumber(tiered["base"]);
  if (base === undefined) {
    return toNumber(value);
  }
  const tiers = toItems(tiered["tiers"]).flatMap((item) => {
    const tier = toRecord(item);
    const [start, price] = [toNumber(tier["start"]), toNumber(tier["price"])];
    return start === undefined || price === undefined ? [] : [{ start, price }];
  });
  return { base, tiers };
}

/**
 * Formats a price in the way the user enters it in the form: `2.5`, or `2, 4 above 200000` if it depends on the input
 * tokens.
 */
export function formatRate(rate: Rate | undefined): string {
  if (rate === undefined) {
    return "";
  }
  return typeof rate === "number"
    ? String(rate)
    : [String(rate.base), ...rate.tiers.map(({ start, price }) => `${price} above ${start}`)].join(
        ", ",
      );
}

const numberPattern = /^(?:\d+(?:\.\d*)?|\.\d+)$/;
const tierPattern = /^(?<price>\d+(?:\.\d*)?|\.\d+) +above +(?<start>\d+)$/;

/**
 * Parses a price in the format of {@link formatRate}. Returns `undefined` for an empty text, and an error message for
 * an invalid text.
 */
export function parseRateText(text: string): Rate | undefined | { readonly fault: string } {
  const [baseText = "", ...tierTexts] = text.split(",").map((part) => part.trim());
  if (baseText === "" && tierTexts.length === 0) {
    return undefined;
  }
  const tiers = tierTexts.map((part) => tierPattern.exec(part)?.groups);
  if (!numberPattern.test(baseText) || tiers.includes(undefined)) {
    return {
      fault: "Enter US dollars, such as 2.5, or prices by input tokens, such as 2, 4 above 200000.",
    };
  }
  const base = Number(baseText);
  return tierTexts.length === 0
    ? base
    : {
        base,
        tiers: tiers.map((tier) => ({
          start: Number(tier?.["start"]),
          price: Number(tier?.["price"]),
        })),
      };
}

/** Whether two rows of the price table have the same key. Like the server, this ignores case and surrounding spaces. */
export const hasSameKey = (left: PriceKey, right: PriceKey): boolean =>
  toKey(left) === toKey(right);

export const toKey = ({ model, provider, tier, from }: PriceKey): string =>
  [model, provider ?? "", tier === "standard" ? "" : (tier ?? ""), from ?? ""]
    .map((part) => part.trim().toLowerCase())
    .join("\n");
