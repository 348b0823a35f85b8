/** The time ranges that the feedback page offers, in days. Each range ends now. */
export const feedbackDays = [1, 7, 30, 90] as const;

export type FeedbackDays = (typeof feedbackDays)[number];

/** Search parameters in the URL of the feedback page. */
export interface FeedbackSearch {
  /** Project id. @defaultValue the project with the latest feedback, or else the first project */
  readonly project?: string;
  /** Feedback key. @defaultValue the most frequent key */
  readonly key?: string;
  /** @defaultValue 30 */
  readonly days?: FeedbackDays;
}

/** Parses the search parameters of a URL. Leaves out invalid values. */
export function parseFeedbackSearch(search: Readonly<Record<string, unknown>>): FeedbackSearch {
  const { project, days } = search;
  const key = typeof search["key"] === "number" ? String(search["key"]) : search["key"];
  const knownDays = feedbackDays.find((option) => option === days);
  return {
    ...(typeof project === "string" && /^[\da-f-]{36}$/i.test(project) ? { project } : {}),
    ...(typeof key === "string" && key !== "" && key.length <= 180 ? { key } : {}),
    ...(knownDays === undefined ? {} : { days: knownDays }),
  };
}
