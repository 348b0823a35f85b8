import type { RequestScoped } from "../http/request-scope.ts";
import type { PromptReads, PromptWrites } from "./prompt.ts";

/** The part of the store that the handlers of prompts use. */
export interface PromptStore extends RequestScoped<PromptStore> {
  readonly read: { readonly prompts: PromptReads };
  readonly write: { readonly prompts: PromptWrites };
}
