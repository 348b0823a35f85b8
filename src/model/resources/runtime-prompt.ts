import type { PulledPrompt } from "./prompt.ts";

/**
 * Where `prompts.get` took a prompt from: the server; memory, while it is fresh; memory, although it expired (`stale`);
 * a snapshot on disk; or the caller's fallback.
 */
export const promptSources = ["server", "memory", "stale", "snapshot", "fallback"] as const;

/** One of {@link promptSources}. */
export type PromptSource = (typeof promptSources)[number];

/** Numbers of calls of `prompts.get`, by the source of their result. */
export type PromptSourceCounts = Readonly<Record<PromptSource, number>>;

/** A prompt for immediate use. It is frozen, because callers share it. Nothing in it is executed. */
export interface RuntimePrompt extends Omit<PulledPrompt, "commitHash"> {
  /** The requested identifier, such as `owner/repo:commit`. The owner is left out if it is the caller's own tenant. */
  readonly name: string;
  /** Hash of the commit; absent if the prompt is a fallback. */
  readonly commitHash?: string | undefined;
  readonly source: PromptSource;
  /** When the server sent the prompt, in milliseconds since the Unix epoch; absent for a fallback. */
  readonly fetchedAt?: number | undefined;
  /** Why the server's current version could not be served; absent if there was no failure. */
  readonly reason?: string | undefined;
}
