// The exports of this folder for the local server, which scores the experiments that it runs.
export { createFeedbackId, createNamedId, createRunId } from "./row-ids.ts";
export { createConfiguredScorer, scorerForms } from "./scorer-forms.ts";
export type { ScorerConfig, ScorerForm, ScorerField } from "./scorer-forms.ts";
export { readPath } from "./scorers.ts";
export type { OutputScore, OutputScorer, ScoredOutputs } from "./scorers.ts";
