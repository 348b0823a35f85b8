import type { PromptReads, PromptWrites } from "./prompt.ts";
import type { Promised } from "../storage/promised.ts";

/** What the handlers of prompts need of the store. */
export interface PromptStore {
  readonly read: Promised<{
    readonly prompts: PromptReads;
  }>;
  readonly write: Promised<{
    readonly prompts: PromptWrites;
  }>;
}
