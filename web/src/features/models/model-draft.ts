import { omitUndefined } from "../../api/parse.ts";

/** A model at an endpoint, as it is entered. Numbers are texts until it is used. */
export interface ModelDraft {
  readonly endpoint: string;
  readonly model: string;
  readonly temperature: string;
  readonly maxTokens: string;
}

export const createModelDraft = (endpoint: string): ModelDraft => ({
  endpoint,
  model: "",
  temperature: "",
  maxTokens: "",
});

/** The model in the body of a request. */
export const toModelBody = ({ endpoint, model, temperature, maxTokens }: ModelDraft) =>
  omitUndefined({
    endpoint,
    model: model.trim(),
    temperature: temperature.trim() === "" ? undefined : Number(temperature),
    max_tokens: maxTokens.trim() === "" ? undefined : Number(maxTokens),
  });

/** What is wrong with the numbers of a model. */
export function findModelFaults({ temperature, maxTokens }: ModelDraft): readonly string[] {
  const [heat, tokens] = [Number(temperature), Number(maxTokens)];
  return [
    ...(heat >= 0 && heat <= 100 ? [] : ["Temperature must be a number from 0 to 100."]),
    ...(maxTokens.trim() === "" || (Number.isInteger(tokens) && tokens > 0)
      ? []
      : ["Max tokens must be a whole number above 0."]),
  ];
}
