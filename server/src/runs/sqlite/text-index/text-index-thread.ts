import { serverLimits } from "../../../model/options.ts";
import { BackgroundThread } from "../../../storage/background-thread.ts";
import type { TextIndexMethod } from "./text-index-writer.ts";

/** A call from the thread that fills the text index to a method of the writer thread. */
export interface TextIndexWrite {
  readonly method: TextIndexMethod;
  readonly argument: number;
}

/** Starts the thread that fills the text index. Without it, searches read the runs that the index does not contain. */
export const startTextIndexThread = (
  path: string,
  write: (method: TextIndexMethod, argument: number) => Promise<unknown>,
): BackgroundThread<TextIndexWrite> =>
  new BackgroundThread({
    file: "text-index.worker.js",
    name: "millrace-text-index",
    path,
    delayMs: serverLimits.textIndexDelayMs,
    write: ({ method, argument }) => write(method, argument),
    warning: "the text index can't be updated, so searches take longer",
  });
