import { isId, parseChoice, toSearchText } from "../../api/parse.ts";

export const rulesTabs = ["rules", "alerts", "webhooks"] as const;

export type RulesTab = (typeof rulesTabs)[number];

/** Search parameters in the URL of the Rules page. */
export interface RulesSearch {
  /** Project id. @defaultValue the first project by name that is not an experiment, or else the first experiment */
  readonly project?: string;
  /** @defaultValue rules */
  readonly tab?: RulesTab;
  /** If it is set, the form of a new alert is open, with this metric selected. */
  readonly figure?: string;
  /** The runs that the new alert counts: which ones, and the property and the value that they must have. */
  readonly scope?: string;
  readonly group?: string;
  readonly value?: string;
  /**
   * On the tab of the rules: if it is set, the form of a new rule is open, with this filter. On the tab of the alerts:
   * the filter of the runs that the new alert counts.
   */
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
