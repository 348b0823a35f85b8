import { Type } from "typebox";
import type { Static } from "typebox";

/** Limits of a judge. The names contain the unit of a limit that is not a plain number. */
export const judgeLimits = {
  nameChars: 200,
  keyChars: 180,
  categories: 20,
  templateChars: 10_000,
  /** Characters of the filled-in template. */
  promptChars: 1_000_000,
} as const;

const limits = judgeLimits;
const nameSchema = Type.String({ minLength: 1, maxLength: limits.nameChars });

/** A model at an endpoint, with its settings. */
export const modelChoiceSchema = Type.Object({
  /** Name of a model endpoint. */
  endpoint: nameSchema,
  model: nameSchema,
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
});

/** A model that judges an output according to a prompt. */
export const judgeSchema = Type.Object({
  /** The key of the feedback. */
  key: Type.String({ minLength: 1, maxLength: limits.keyChars }),
  /** A Mustache template. */
  template: Type.String({ minLength: 1, maxLength: limits.templateChars }),
  form: Type.Union([
    /** A number from 0 to 1. */
    Type.Object({ kind: Type.Literal("score") }),
    Type.Object({ kind: Type.Literal("verdict") }),
    Type.Object({
      kind: Type.Literal("categories"),
      categories: Type.Array(nameSchema, {
        minItems: 2,
        maxItems: limits.categories,
        uniqueItems: true,
      }),
    }),
  ]),
  ...modelChoiceSchema.properties,
});

export type Judge = Static<typeof judgeSchema>;
export type ModelChoice = Static<typeof modelChoiceSchema>;
