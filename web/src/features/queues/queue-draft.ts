import type { JsonMembers } from "../../api/parse.ts";
import type { Queue } from "./queue.ts";
import { toRubricItem, yesNoChoices } from "./rubric.ts";
import type { Choice, RubricQuestion } from "./rubric.ts";

/** The fields of a queue that a user can edit, in the server's format. */
export interface QueueFields {
  readonly name: string;
  readonly description: string;
  readonly rubric_instructions: string;
  readonly rubric_items: readonly JsonMembers[];
  readonly default_dataset: string | null;
  readonly num_reviewers_per_item: number | undefined;
  readonly enable_reservations: boolean;
  /** Absent if runs are not claimed and the field is empty. */
  readonly reservation_minutes: number | undefined;
}

/** The form state of a question. */
export interface QuestionDraft {
  /** Used only in the form: identifies the question while others are added and removed. */
  readonly id: string;
  readonly key: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly kind: "yesno" | "categorical" | "continuous" | "freeform";
  /** `undefined` while the field is empty. */
  readonly min: number | undefined;
  /** `undefined` while the field is empty. */
  readonly max: number | undefined;
  /** One choice per line: a score and a label, such as `2 = good`, or only the label. */
  readonly choices: string;
}

/** The form state of a queue. */
export interface QueueDraft {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** Empty if the queue has no dataset. */
  readonly datasetId: string;
  /** `undefined` while the field is empty. */
  readonly reviewersPerRun: number | undefined;
  readonly shouldClaimRuns: boolean;
  /** `undefined` while the field is empty. */
  readonly claimMinutes: number | undefined;
  readonly questions: readonly QuestionDraft[];
}

const defaultClaimMinutes = 5;

/** The most reviews per run that the server accepts. */
export const maxReviewersPerRun = 100;
/** The longest claim in minutes that the server accepts: a day. */
export const maxClaimMinutes = 1_440;

export const createQuestion = (id: string, key = ""): QuestionDraft => ({
  id,
  key,
  description: "",
  isRequired: true,
  kind: "yesno",
  min: 0,
  max: 1,
  choices: "0 = bad\n1 = fair\n2 = good",
});

/** Creates the form state to edit a queue, or to create one if `queue` is `undefined`. */
export const createQueueDraft = (queue: Queue | undefined): QueueDraft => ({
  name: queue?.name ?? "",
  description: queue?.description ?? "",
  instructions: queue?.instructions ?? "",
  datasetId: queue?.defaultDatasetId ?? "",
  reviewersPerRun: queue?.reviewersPerRun ?? 1,
  shouldClaimRuns: queue === undefined || queue.claimMinutes !== undefined,
  claimMinutes: queue?.claimMinutes ?? defaultClaimMinutes,
  questions: queue?.questions.map(toQuestionDraft) ?? [createQuestion("0", "correct")],
});

function toQuestionDraft(question: RubricQuestion, index: number): QuestionDraft {
  const { key, description, isRequired } = question;
  const base = { ...createQuestion(String(index), key), description, isRequired };
  switch (question.kind) {
    case "freeform":
      return { ...base, kind: "freeform" };
    case "continuous":
      return { ...base, kind: "continuous", min: question.min, max: question.max };
    case "categorical":
      return isYesNo(question.choices)
        ? { ...base, kind: "yesno" }
        : { ...base, kind: "categorical", choices: question.choices.map(formatChoice).join("\n") };
  }
}

const isYesNo = (choices: readonly Choice[]): boolean =>
  choices.length === 2 &&
  choices.every(({ label, score }, index) => {
    const expected = yesNoChoices[index];
    return expected?.label === label && expected.score === score;
  });

const formatChoice = ({ label, score }: Choice): string =>
  score === undefined || String(score) === label ? label : `${score} = ${label}`;

/** Returns the value of a number field, or `undefined` while the field is empty. */
export const parseNumber = (value: number | string): number | undefined =>
  value === "" || Number.isNaN(Number(value)) ? undefined : Number(value);

/**
 * Parses one choice per line: a score and a label (`2 = good`), only a score (`2`), or only a label (`good`). The score
 * of a choice without one is its index among the choices.
 */
export function parseChoices(text: string): readonly Choice[] {
  const lines = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
  return lines.map((line, index): Choice => {
    const [, number, label] = /^(-?\d+(?:\.\d+)?)\s*(?:=\s*(.+))?$/.exec(line) ?? [];
    return number === undefined
      ? { label: line, score: index, value: line }
      : {
          label: label ?? number,
          score: Number(number),
          ...(label === undefined ? {} : { value: label }),
        };
  });
}

/** Returns an error message for an invalid form, or `undefined` if the form is valid. */
export function validateQueueDraft(draft: QueueDraft): string | undefined {
  const { name, questions, reviewersPerRun, shouldClaimRuns, claimMinutes } = draft;
  if (name.trim() === "") {
    return "Enter a name for the queue.";
  }
  if (!isWholeNumber(reviewersPerRun, maxReviewersPerRun)) {
    return `Enter the number of reviews per run, from 1 to ${maxReviewersPerRun}.`;
  }
  if (shouldClaimRuns && !isWholeNumber(claimMinutes, maxClaimMinutes)) {
    return `Enter the claim timeout in minutes, from 1 to ${maxClaimMinutes.toLocaleString("en")}.`;
  }
  const keys = questions.map(({ key }) => key.trim());
  if (keys.includes("")) {
    return "Enter a key for each question. Feedback is saved under this key.";
  }
  const duplicateKey = keys.find((key, index) => keys.indexOf(key) !== index);
  if (duplicateKey !== undefined) {
    return `Two questions have the key ${duplicateKey}. Use a different key for each.`;
  }
  const tooLongKey = keys.find((key) => key.length > 180);
  if (tooLongKey !== undefined) {
    return "Use at most 180 characters in a key.";
  }
  return questions.map(validateQuestion).find((problem) => problem !== undefined);
}

/** Whether a number is whole, at least 1 and at most `max`. */
const isWholeNumber = (value: number | undefined, max: number): boolean =>
  Number.isInteger(value) && value !== undefined && value >= 1 && value <= max;

function validateQuestion({ key, kind, min, max, choices }: QuestionDraft): string | undefined {
  if (kind === "continuous") {
    if (min === undefined || max === undefined) {
      return `Enter a minimum and a maximum for ${key}.`;
    }
    if (!(max > min)) {
      return `Enter a maximum for ${key} that is greater than its minimum.`;
    }
  }
  if (kind !== "categorical") {
    return undefined;
  }
  const scores = parseChoices(choices).map(({ score }) => score);
  if (scores.length < 2) {
    return `Enter at least two choices for ${key}.`;
  }
  return new Set(scores).size < scores.length
    ? `Two choices of ${key} have the same score. Use a different score for each.`
    : undefined;
}

/** Converts a valid form state to the body of the request. */
export const toQueueFields = (draft: QueueDraft): QueueFields => ({
  name: draft.name.trim(),
  description: draft.description,
  rubric_instructions: draft.instructions,
  rubric_items: draft.questions.map((question) => toRubricItem(toQuestion(question))),
  default_dataset: draft.datasetId === "" ? null : draft.datasetId,
  num_reviewers_per_item: draft.reviewersPerRun,
  enable_reservations: draft.shouldClaimRuns,
  reservation_minutes: draft.claimMinutes,
});

function toQuestion(question: QuestionDraft): RubricQuestion {
  const { description, isRequired, kind, min = 0, max = 1 } = question;
  const base = { key: question.key.trim(), description, isRequired };
  switch (kind) {
    case "yesno":
      return { ...base, kind: "categorical", choices: yesNoChoices };
    case "categorical":
      return { ...base, kind, choices: parseChoices(question.choices) };
    case "continuous":
      return { ...base, kind, min, max };
    case "freeform":
      return { ...base, kind };
  }
}
