import { extractiveModel } from "./answer.ts";
import type { Model } from "./answer.ts";
import { openAiModel } from "./openai.ts";

/** The model that answers, and the time limit for an answer. */
export interface ModelChoice {
  readonly kind: "local" | "openai";
  readonly model: Model;
  readonly answerTimeoutMs: number;
}

/** Chooses the OpenAI API if `OPENAI_API_KEY` is set, else the model on this machine. */
export const chooseModel = (env: NodeJS.ProcessEnv): ModelChoice => {
  const apiKey = env["OPENAI_API_KEY"];
  if (apiKey === undefined || apiKey === "") {
    return { kind: "local", model: extractiveModel, answerTimeoutMs: 10_000 };
  }
  const baseUrl = env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
  const model = openAiModel({ apiKey, baseUrl, model: env["OPENAI_MODEL"] ?? "gpt-4o-mini" });
  return { kind: "openai", model, answerTimeoutMs: 60_000 };
};
