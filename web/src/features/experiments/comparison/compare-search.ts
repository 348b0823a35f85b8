import { isId, parseChoice, omitUndefined, toSearchText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";

export const comparisonOrders = ["regression", "improvement", "run"] as const;
export const comparisonSubsets = ["all", "regressions", "improvements", "errors"] as const;
export const diffBases = ["baseline", "reference"] as const;

/** Search parameters in the URL of a comparison. */
export interface CompareSearch {
  /** Experiment ids, separated by commas, in the order of the columns. */
  readonly experiments?: string;
  /** Id of the baseline experiment. @defaultValue the pinned or the oldest experiment */
  readonly baseline?: string;
  /** The feedback key whose scores determine the order and the subset of the examples. @defaultValue all keys */
  readonly key?: string;
  /** Keys for which a lower score is better, separated by commas. */
  readonly lower?: string;
  /** Order of the examples. @defaultValue "regression" */
  readonly order?: (typeof comparisonOrders)[number];
  /** Subset of the examples. @defaultValue "all" */
  readonly only?: (typeof comparisonSubsets)[number];
  /** Id of a pairwise comparison. If it is set, only the scores of this comparison are shown. */
  readonly comparative?: string;
  /** Id of the open example. */
  readonly example?: string;
  /** The text that the outputs of the open example are compared with. @defaultValue "baseline" */
  readonly against?: (typeof diffBases)[number];
}

export const parseCompareSearch = (search: JsonMembers): CompareSearch => {
  // LangSmith clients print links to `?selectedSessions=`.
  const experimentIds = parseIds(toSearchText(search["experiments"] ?? search["selectedSessions"]));
  const { baseline, comparative, example } = search;
  return omitUndefined({
    experiments: experimentIds.length === 0 ? undefined : experimentIds.join(","),
    baseline: isId(baseline) && experimentIds.includes(baseline) ? baseline : undefined,
    key: toSearchText(search["key"]),
    lower: toSearchText(search["lower"]),
    order: parseChoice(search["order"], comparisonOrders),
    only: parseChoice(search["only"], comparisonSubsets),
    comparative: isId(comparative) ? comparative : undefined,
    example: isId(example) ? example : undefined,
    against: parseChoice(search["against"], diffBases),
  });
};

/** Maximum number of experiments in a comparison; the server rejects more. */
const maxExperiments = 20;

/** Parses ids that are separated by commas. Drops invalid ids and duplicates. */
export const parseIds = (text: string | undefined): readonly string[] =>
  [...new Set((text ?? "").split(",").filter(isId))].slice(0, maxExperiments);

/** Parses feedback keys that are separated by commas. */
export const parseKeys = (text: string | undefined): readonly string[] =>
  (text ?? "").split(",").filter((key) => key !== "");
