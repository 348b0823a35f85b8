import { isId, oneOf, omitUndefined, toSearchText } from "../../api/parse.ts";
import type { Members } from "../../api/parse.ts";

export const comparisonOrders = ["regression", "improvement", "run"] as const;
export const comparisonSubsets = ["all", "regressions", "improvements", "errors"] as const;
export const diffBases = ["baseline", "reference"] as const;

/** What the address of a comparison selects. */
export interface CompareSearch {
  /** Ids, joined by commas, in the order of the columns. */
  readonly experiments?: string;
  /** @defaultValue the first experiment */
  readonly baseline?: string;
  /** Of the scores only this one decides. */
  readonly key?: string;
  /** Keys of which less is better, joined by commas. */
  readonly lower?: string;
  /** @defaultValue "regression" */
  readonly order?: (typeof comparisonOrders)[number];
  /** @defaultValue "all" */
  readonly only?: (typeof comparisonSubsets)[number];
  /** Only the scores that were given in this comparison. */
  readonly comparative?: string;
  /** The example that is open. */
  readonly example?: string;
  /** What outputs are held against. @defaultValue "baseline" */
  readonly against?: (typeof diffBases)[number];
}

export const parseCompareSearch = (search: Members): CompareSearch => {
  // Clients of LangSmith print links to `?selectedSessions=`.
  const ids = toIds(toSearchText(search["experiments"] ?? search["selectedSessions"]));
  const { baseline, comparative, example } = search;
  return omitUndefined({
    experiments: ids.length === 0 ? undefined : ids.join(","),
    baseline: isId(baseline) && ids.includes(baseline) ? baseline : undefined,
    key: toSearchText(search["key"]),
    lower: toSearchText(search["lower"]),
    order: oneOf(search["order"], comparisonOrders),
    only: oneOf(search["only"], comparisonSubsets),
    comparative: isId(comparative) ? comparative : undefined,
    example: isId(example) ? example : undefined,
    against: oneOf(search["against"], diffBases),
  });
};

/** Experiments in one comparison; the server takes no more. */
const experimentsMax = 20;

/** The ids of an address, each once. */
export const toIds = (text: string | undefined): readonly string[] =>
  [...new Set((text ?? "").split(",").filter(isId))].slice(0, experimentsMax);

export const toKeys = (text: string | undefined): readonly string[] =>
  (text ?? "").split(",").filter((key) => key !== "");
