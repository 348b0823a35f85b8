import { isId, parseChoice, toSearchText } from "../../api/parse.ts";

export const rulesTabs = ["rules", "alerts", "webhooks"] as const;

export type RulesTab = (typeof rulesTabs)[number];

/** Search parameters in the URL of the Rules page. */
export interface RulesSearch {
  /** Project id. @defaultValue the project with the latest runs */
  readonly project?: string;
  /** @defaultValue rules */
  readonly tab?: RulesTab;
  /** If it is set, the form of a new alert is open, with this metric selected. */
  readonly figure?: string;
  /** The runs that the new alert counts: which ones, and the property and the value that they must have. */
  readonly scope?: string;
  readonly group?: string;
  readonly value?: string;
  /** If it is set, the form of a new rule is open, with this filter. In the form of a new alert, the filter of its runs. */
  readonly filter?: string;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parseRulesSearch(search: Readonly<Record<string, unknown>>): RulesSearch {
  const { project } = search;
  const tab = parseChoice(search["tab"], rulesTabs);
  return {
    ...(isId(project) ? { project } : {}),
    ...(tab === undefined ? {} : { tab }),
    ...Object.fromEntries(
      textNames.flatMap((name) => {
        const text = toSearchText(search[name]);
        return text === undefined ? [] : [[name, text]];
      }),
    ),
  };
}

const textNames = ["figure", "scope", "group", "value", "filter"] as const;
