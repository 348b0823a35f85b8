import { promptSources } from "../resources/runtime-prompt.ts";
import type { PromptSource, PromptSourceCounts } from "../resources/runtime-prompt.ts";

/**
 * Counts the results of `prompts.get` by source, in memory that the worker thread of `client.sync` shares, so that
 * `client.stats()` includes the blocking calls.
 */
export class PromptCounts {
  readonly memory: SharedArrayBuffer;
  readonly #counters: Uint32Array;

  constructor(
    memory = new SharedArrayBuffer(promptSources.length * Uint32Array.BYTES_PER_ELEMENT),
  ) {
    this.memory = memory;
    this.#counters = new Uint32Array(memory);
  }

  count(source: PromptSource): void {
    Atomics.add(this.#counters, promptSources.indexOf(source), 1);
  }

  read(): PromptSourceCounts {
    const entries = promptSources.map((source, index) => [
      source,
      Atomics.load(this.#counters, index),
    ]);
    return Object.fromEntries(entries) as PromptSourceCounts;
  }
}
