import type { RunTree } from "../../main/index.ts";
import { RunHandler } from "./run-handler.ts";

/** The second argument of a LangChain runnable's `invoke`, `stream` and `batch`. */
export interface RunnableConfig {
  /** The LangChain callback handlers that receive the events of the runnable. */
  readonly callbacks: object[];
  readonly tags: string[];
  readonly metadata: Record<string, unknown>;
  /** Maximum number of steps of a graph or an agent: the client's option `recursionLimit`, 25 by default. */
  readonly recursionLimit: number;
}

/**
 * Creates the config for a LangChain runnable, or a graph of LangGraph, whose runs should become children of `run`. It
 * is needed only if `run` is not the current run: LangChain finds the current run by itself. For other settings, such
 * as `configurable`, spread the config: `{ ...toRunnableConfig(run), configurable }`.
 *
 * @throws TypeError if `run` is not a run.
 */
export const toRunnableConfig = (run: RunTree): RunnableConfig => ({
  callbacks: [new RunHandler(run)],
  tags: [...(run.tags ?? [])],
  metadata: { ...run.metadata },
  recursionLimit: run.client.recursionLimit ?? defaultRecursionLimit,
});

/** The limit for clients without the option `recursionLimit`. */
const defaultRecursionLimit = 25;
