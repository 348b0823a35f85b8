import { toMillraceVariables } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** Options for the prompts that `prompts.get` caches. */
export interface RuntimePromptOptions {
  readonly promptTtlMs: number;
  readonly promptWaitMs: number;
  readonly maxCachedPrompts: number;
  readonly maxPromptCacheBytes: number;
  readonly promptSnapshotDir: string | undefined;
}

const mebibyte = 1_048_576;

/** The rows of the option table for {@link RuntimePromptOptions}. */
export const promptOptionRows: { readonly [Name in keyof RuntimePromptOptions]: OptionRow } = {
  promptTtlMs: {
    kind: "number",
    fallback: 60_000,
    min: 0,
    max: 31_536_000_000,
    env: toMillraceVariables("PROMPT_TTL_MS"),
    doc: "Milliseconds for which `prompts.get` serves a prompt from memory without a request to the server; with 0, each call sends a request. A commit named by its hash never expires. See prompts.md.",
  },
  promptWaitMs: {
    kind: "number",
    fallback: 5_000,
    min: 0,
    max: 600_000,
    env: toMillraceVariables("PROMPT_WAIT_MS"),
    doc: "Longest time in milliseconds that `prompts.get` waits for the server if it could serve an older copy, a snapshot or a fallback instead.",
  },
  maxCachedPrompts: {
    kind: "number",
    fallback: 100,
    min: 1,
    max: 100_000,
    env: toMillraceVariables("MAX_CACHED_PROMPTS"),
    doc: "Number of prompts that `prompts.get` keeps in memory, and of files in `promptSnapshotDir`. In memory, the least recently used prompt is evicted; on disk, the oldest file is removed.",
  },
  maxPromptCacheBytes: {
    kind: "number",
    fallback: 16 * mebibyte,
    min: 1_024,
    max: 1_024 * mebibyte,
    env: toMillraceVariables("MAX_PROMPT_CACHE_BYTES"),
    doc: "Total size, as JSON, of the prompts that `prompts.get` keeps in memory, and of the files in `promptSnapshotDir`, in bytes.",
  },
  promptSnapshotDir: {
    kind: "text",
    fallback: undefined,
    env: toMillraceVariables("PROMPT_SNAPSHOT_DIR"),
    doc: "Folder where `prompts.get` stores each prompt, to serve it while the server can't be reached, also after a restart. Only its owner can read it. Use one folder per workspace.",
  },
};
