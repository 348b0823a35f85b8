/** Days that the page of feedback looks back. */
export const feedbackDays = [1, 7, 30, 90] as const;

export type FeedbackDays = (typeof feedbackDays)[number];

/** The state of the feedback page in the address. */
export interface FeedbackSearch {
  /** @defaultValue the first */
  readonly project?: string;
  /** @defaultValue the one given last */
  readonly key?: string;
  /** @defaultValue 30 */
  readonly days?: FeedbackDays;
}

/** Reads the query of an address; what can't be is left out. */
export function parseFeedbackSearch(search: Readonly<Record<string, unknown>>): FeedbackSearch {
  const { project, days } = search;
  const key = typeof search["key"] === "number" ? String(search["key"]) : search["key"];
  const known = feedbackDays.find((one) => one === days);
  return {
    ...(typeof project === "string" && /^[\da-f-]{36}$/i.test(project) ? { project } : {}),
    ...(typeof key === "string" && key !== "" && key.length <= 180 ? { key } : {}),
    ...(known === undefined ? {} : { days: known }),
  };
}
