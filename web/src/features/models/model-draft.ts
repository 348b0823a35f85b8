import { omitUndefined } from "../../api/parse.ts";

/** A model and its endpoint, as the user has entered them. Numbers are the entered texts. */
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

/** Converts a model to its members in the body of a request. */
export const toModelBody = ({ endpoint, model, temperature, maxTokens }: ModelDraft) =>
  omitUndefined({
    endpoint,
    model: model.trim(),
    temperature: temperature.trim() === "" ? undefined : Number(temperature),
    max_tokens: maxTokens.trim() === "" ? undefined : Number(maxTokens),
  });

/** Error messages for the invalid fields of a model. */
export type ModelFaults = {
  readonly [Field in "endpoint" | "model" | "temperature" | "maxTokens"]?: string;
};

export function findModelFaults({ model, temperature, maxTokens }: ModelDraft): ModelFaults {
  const [temperatureNumber, maxTokensNumber] = [Number(temperature), Number(maxTokens)];
  return {
    ...(model.trim() === "" && { model: "Enter the name of the model." }),
    ...(!(temperatureNumber >= 0 && temperatureNumber <= 100) && {
      temperature: "Temperature must be a number from 0 to 100.",
    }),
    ...(maxTokens.trim() !== "" &&
      !(Number.isInteger(maxTokensNumber) && maxTokensNumber > 0) && {
        maxTokens: "Max tokens must be a whole number above 0.",
      }),
  };
}
