import { parseTimeMs } from "../../components/time/time.ts";
import type { FeedbackPeriod } from "./queries.ts";

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
  /** The period whose feedback is listed, in ISO 8601. Without a period, the latest feedback is listed. */
  readonly from?: string;
  readonly to?: string;
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
    ...parsePeriod(search),
  };
}

function parsePeriod({ from, to }: Readonly<Record<string, unknown>>): FeedbackSearch {
  const [fromMs, toMs] = [from, to].map((time) =>
    typeof time === "string" ? parseTimeMs(time) : undefined,
  );
  return fromMs === undefined || toMs === undefined || fromMs >= toMs
    ? {}
    : { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/** The period in the URL; `undefined` if the URL has no period. */
export const toPeriod = ({ from, to }: FeedbackSearch): FeedbackPeriod | undefined =>
  from === undefined || to === undefined
    ? undefined
    : { fromMs: Date.parse(from), toMs: Date.parse(to) };
