import { Type } from "typebox";
import type { Static } from "typebox";
import { judgeLimits, judgeSchema, modelChoiceSchema } from "../../judges/judge-schema.ts";

/** Limits of one experiment. The names contain the unit of a limit that is not a plain number. */
export const launchLimits = {
  /** Targets in one request: an experiment is started for each combination of a prompt and a model. */
  targets: 20,
  repetitions: 10,
  /** Rows of one experiment that run at the same time. */
  concurrency: 16,
  scorers: 20,
  judges: 5,
  variables: 100,
  /** Splits whose examples are run. */
  splits: 20,
  versionChars: 200,
  pathChars: 500,
  optionsChars: 4_000,
  /** Bytes of the examples that one step reads. */
  stepBytes: 16 * 1_048_576,
  /** Examples whose prompts are rendered to estimate the cost. */
  sampledExamples: 20,
} as const;

const limits = launchLimits;
const nameSchema = Type.String({ minLength: 1, maxLength: judgeLimits.nameChars });
const targetSchema = Type.Object({
  name: nameSchema,
  /** `owner/repo:commit`, or `repo:commit`; the latest commit by default. */
  prompt: nameSchema,
  ...modelChoiceSchema.properties,
});

const scorerSchema = Type.Object({
  scorer: nameSchema,
  options: Type.Optional(Type.Record(Type.String({ maxLength: 100 }), Type.Unknown())),
});

/** Settings that all experiments of one request share. */
const commonMembers = {
  dataset_id: Type.String({ maxLength: 64 }),
  /** Only examples in any of these splits are run; all examples if omitted. */
  splits: Type.Optional(
    Type.Array(Type.String({ maxLength: judgeLimits.nameChars }), {
      minItems: 1,
      maxItems: limits.splits,
    }),
  ),
  repetitions: Type.Integer({ minimum: 1, maximum: limits.repetitions }),
  concurrency: Type.Integer({ minimum: 1, maximum: limits.concurrency }),
  /** For each variable of the prompts, the member of an example that fills it in; `inputs.<name>` by default. */
  mapping: Type.Record(
    Type.String({ maxLength: judgeLimits.nameChars }),
    Type.String({ maxLength: limits.pathChars }),
    { maxProperties: limits.variables },
  ),
  scorers: Type.Array(scorerSchema, { maxItems: limits.scorers }),
  judges: Type.Array(judgeSchema, { maxItems: limits.judges }),
};

/** Body of the requests that estimate and start experiments. */
export const launchBody = Type.Object({
  ...commonMembers,
  /**
   * The version of the dataset: a tag, or a time, which selects the newest version at or before it. The latest version
   * by default.
   */
  as_of: Type.Optional(Type.String({ maxLength: limits.versionChars })),
  targets: Type.Array(targetSchema, { minItems: 1, maxItems: limits.targets }),
});
export type LaunchBody = Static<typeof launchBody>;

/** Parameters of the job that runs one experiment. */
export const launchParameters = Type.Object({
  ...commonMembers,
  target: targetSchema,
  experiment_id: Type.String({ maxLength: 64 }),
  prompt_commit: Type.String({ maxLength: 200 }),
  /** The version of the dataset: its time in microseconds, and the tag with which it was chosen, if any. */
  version_us: Type.Union([Type.Integer(), Type.Null()]),
  version_tag: Type.Optional(Type.String({ maxLength: limits.versionChars })),
});
export type LaunchParameters = Static<typeof launchParameters>;

/** A prompt and a model with its settings. One experiment runs one target. */
export type Target = Static<typeof targetSchema>;
