import { omitUndefined, parseChoice, toSearchText } from "../../../api/parse.ts";

export const auditOutcomes = ["succeeded", "denied", "failed"] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

export const auditRanges = ["1d", "7d", "30d"] as const;
export type AuditRange = (typeof auditRanges)[number];

/** The maximum length of a filter's text. The ids of keys have 36 characters, and the names of actions are short. */
const maxFilterChars = 200;

/** Search parameters in the URL of the audit log. */
export interface AuditSearch {
  /** The id of a key, the name of another actor, or a kind of actors. */
  readonly actor?: string;
  /** The name of an action, such as `createKey`. */
  readonly action?: string;
  readonly outcome?: AuditOutcome;
  /** @defaultValue all entries that are kept */
  readonly range?: AuditRange;
  /** Whether the entries of all tenants are listed. */
  readonly all?: true;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parseAuditSearch(search: Readonly<Record<string, unknown>>): AuditSearch {
  return omitUndefined({
    actor: toSearchText(search["actor"])?.slice(0, maxFilterChars),
    action: toSearchText(search["action"])?.slice(0, maxFilterChars),
    outcome: parseChoice(search["outcome"], auditOutcomes),
    range: parseChoice(search["range"], auditRanges),
    all: search["all"] === true ? true : undefined,
  });
}

const dayMs = 86_400_000;
const rangeDays: { readonly [Range in AuditRange]: number } = { "1d": 1, "7d": 7, "30d": 30 };

/** Converts the filters in the URL to the query parameters of the server. */
export function toAuditQuery(
  { actor, action, outcome, range, all }: AuditSearch,
  nowMs: number = Date.now(),
): URLSearchParams {
  return new URLSearchParams({
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(range === undefined
      ? {}
      : { from: new Date(nowMs - rangeDays[range] * dayMs).toISOString() }),
    ...(all === true ? { all_tenants: "true" } : {}),
  });
}
