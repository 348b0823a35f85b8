import { extractiveModel } from "./answer.ts";
import type { Model } from "./answer.ts";
import { openAiModel } from "./openai.ts";

/** Who answers, and how long an answer may take. */
export interface Answering {
  readonly kind: "local" | "openai";
  readonly model: Model;
  readonly patienceMs: number;
}

/** The OpenAI API where `OPENAI_API_KEY` is set; else the answerer on this machine. */
export const chooseModel = (env: NodeJS.ProcessEnv): Answering => {
  const apiKey = env["OPENAI_API_KEY"];
  if (apiKey === undefined || apiKey === "") {
    return { kind: "local", model: extractiveModel, patienceMs: 10_000 };
  }
  const baseUrl = env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
  const model = openAiModel({ apiKey, baseUrl, model: env["OPENAI_MODEL"] ?? "gpt-4o-mini" });
  return { kind: "openai", model, patienceMs: 60_000 };
};
