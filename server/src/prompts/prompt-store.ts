import type { PromptReads, PromptWrites } from "./prompt.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that the handlers of prompts use. */
export interface PromptStore {
  readonly read: Promised<{
    readonly prompts: PromptReads;
  }>;
  readonly write: Promised<{
    readonly prompts: PromptWrites;
  }>;
}
