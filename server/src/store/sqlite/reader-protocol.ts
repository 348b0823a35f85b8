import type { Readers } from "../store.ts";
import type { ThreadAnswer } from "./thread-answer.ts";

/** A question under way to the reader's thread; arguments and answer are plain data. */
export interface ReaderCall {
  readonly sequence: number;
  readonly noun: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

export type ReaderMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "failedToStart"; readonly reason: string }
  | ThreadAnswer;

type Slow = { readonly [Noun in keyof Readers]?: readonly (keyof Readers[Noun])[] };

/** Questions that take the longer the more there is in the store, so that they are asked on a thread of their own. */
const slowReads: Slow = {
  datasets: ["diff", "diffPage"],
  examples: ["count", "listSplits"],
  experiments: ["compare"],
  feedback: ["statsOfFilter", "statsOfProjectRuns"],
  feedbackTrend: ["read"],
  runs: ["statistics"],
  storage: ["use", "projects"],
};

export const isSlow = (noun: string, method: string): boolean =>
  (slowReads[noun as keyof Readers] as readonly string[] | undefined)?.includes(method) === true;
