import { tokenPaths } from "../store/token-paths.ts";
import type { TokenPath } from "../store/token-paths.ts";

/** Most runs report no usage: this tells without reading their outputs as JSON. */
const mentions = ["usage_metadata", "tokenUsage", "token_usage"].map((word) => Buffer.from(word));

/**
 * The tokens that a run reports, by the names of its answer; `null` where it reports none. Found when a
 * run is read, from its payload as it was received.
 */
export function readTokens(
  members: ReadonlyMap<string, Buffer>,
): Readonly<Record<string, number | null>> {
  const extra = parseWhereMentioned(members.get("extra"));
  const places = {
    outputs: parseWhereMentioned(members.get("outputs")),
    metadata: follow(extra, ["metadata"]),
  };
  const counts = Object.entries(tokenPaths).map(
    ([name, paths]) => [name, read(places, paths)] as const,
  );
  return Object.fromEntries(counts);
}

function read(
  places: Readonly<Record<TokenPath[0], unknown>>,
  paths: readonly TokenPath[],
): number | null {
  for (const [place, ...steps] of paths) {
    const value = follow(places[place], steps);
    if (typeof value === "number") {
      return value;
    }
  }
  return null;
}

function parseWhereMentioned(json: Buffer | undefined): unknown {
  if (json === undefined || !mentions.some((word) => json.includes(word))) {
    return undefined;
  }
  const value: unknown = JSON.parse(json.toString("utf8"));
  return value;
}

const follow = (value: unknown, steps: readonly string[]): unknown =>
  steps.reduce<unknown>(
    (inner, step) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, step)
        ? (inner as Readonly<Record<string, unknown>>)[step]
        : undefined,
    value,
  );
