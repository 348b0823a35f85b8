import type { Members } from "../../api/parse.ts";
import type { Queue } from "./queue.ts";
import { toRubricItem, yesOrNo } from "./rubric.ts";
import type { Choice, ScoreInput } from "./rubric.ts";

/** What of a queue a person writes. */
export interface QueueFields {
  readonly name: string;
  readonly description: string;
  readonly rubric_instructions: string;
  readonly rubric_items: readonly Members[];
  readonly default_dataset: string | null;
  readonly num_reviewers_per_item: number;
  readonly enable_reservations: boolean;
  readonly reservation_minutes: number;
}

/** A question as a form has it. */
export interface QuestionDraft {
  /** Of this page: keeps a question's fields while others come and go. */
  readonly id: string;
  readonly key: string;
  readonly about: string;
  readonly isRequired: boolean;
  readonly kind: "yesno" | "categorical" | "continuous" | "freeform";
  readonly min: number;
  readonly max: number;
  /** One choice a line: `2 = good`, or `good`. */
  readonly choices: string;
}

/** A queue as a form has it. */
export interface QueueDraft {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** Empty: none. */
  readonly datasetId: string;
  readonly reviewersPerRun: number;
  readonly hasClaims: boolean;
  readonly claimMinutes: number;
  readonly questions: readonly QuestionDraft[];
}

const defaultClaimMinutes = 5;

export const newQuestion = (id: string, key = ""): QuestionDraft => ({
  id,
  key,
  about: "",
  isRequired: true,
  kind: "yesno",
  min: 0,
  max: 1,
  choices: "0 = bad\n1 = fair\n2 = good",
});

/** The form of a queue; without one, that of a new one. */
export const toQueueDraft = (queue: Queue | undefined): QueueDraft => ({
  name: queue?.name ?? "",
  description: queue?.description ?? "",
  instructions: queue?.instructions ?? "",
  datasetId: queue?.defaultDatasetId ?? "",
  reviewersPerRun: queue?.reviewersPerRun ?? 1,
  hasClaims: queue === undefined || queue.claimMinutes !== undefined,
  claimMinutes: queue?.claimMinutes ?? defaultClaimMinutes,
  questions: queue?.inputs.map(toQuestion) ?? [newQuestion("0", "correct")],
});

function toQuestion(input: ScoreInput, index: number): QuestionDraft {
  const { key, about, isRequired } = input;
  const base = { ...newQuestion(String(index), key), about, isRequired };
  switch (input.kind) {
    case "freeform":
      return { ...base, kind: "freeform" };
    case "continuous":
      return { ...base, kind: "continuous", min: input.min, max: input.max };
    case "categorical":
      return isYesOrNo(input.choices)
        ? { ...base, kind: "yesno" }
        : { ...base, kind: "categorical", choices: input.choices.map(toLine).join("\n") };
  }
}

const isYesOrNo = (choices: readonly Choice[]): boolean =>
  choices.length === 2 &&
  choices.every(({ label, score }, index) => {
    const known = yesOrNo[index];
    return known?.label === label && known.score === score;
  });

const toLine = ({ label, score }: Choice): string =>
  score === undefined || String(score) === label ? label : `${score} = ${label}`;

/** The choices of a question's lines. A number is a score; where no line has one, places count from 0. */
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

/** Why a form can't be sent; `undefined`: it can. */
export function validateQueueDraft({ name, questions }: QueueDraft): string | undefined {
  if (name.trim() === "") {
    return "A queue has a name.";
  }
  const keys = questions.map(({ key }) => key.trim());
  if (keys.includes("")) {
    return "Each question has a key, under which its feedback is kept.";
  }
  const repeated = keys.find((key, index) => keys.indexOf(key) !== index);
  if (repeated !== undefined) {
    return `Two questions have the key ${repeated}.`;
  }
  const long = keys.find((key) => key.length > 180);
  if (long !== undefined) {
    return "A key has at most 180 characters.";
  }
  return questions.map(validateQuestion).find((fault) => fault !== undefined);
}

function validateQuestion({ key, kind, min, max, choices }: QuestionDraft): string | undefined {
  if (kind === "continuous" && !(max > min)) {
    return `The range of ${key} ends above where it begins.`;
  }
  if (kind !== "categorical") {
    return undefined;
  }
  const scores = parseChoices(choices).map(({ score }) => score);
  if (scores.length < 2) {
    return `${key} has at least two choices.`;
  }
  return new Set(scores).size < scores.length ? `Two choices of ${key} have one score.` : undefined;
}

/** The body of the request. */
export const toQueueFields = (draft: QueueDraft): QueueFields => ({
  name: draft.name.trim(),
  description: draft.description,
  rubric_instructions: draft.instructions,
  rubric_items: draft.questions.map((question) => toRubricItem(toInput(question))),
  default_dataset: draft.datasetId === "" ? null : draft.datasetId,
  num_reviewers_per_item: draft.reviewersPerRun,
  enable_reservations: draft.hasClaims,
  reservation_minutes: draft.claimMinutes,
});

function toInput(question: QuestionDraft): ScoreInput {
  const { about, isRequired, kind, min, max } = question;
  const base = { key: question.key.trim(), about, isRequired };
  switch (kind) {
    case "yesno":
      return { ...base, kind: "categorical", choices: yesOrNo };
    case "categorical":
      return { ...base, kind, choices: parseChoices(question.choices) };
    case "continuous":
      return { ...base, kind, min, max };
    case "freeform":
      return { ...base, kind };
  }
}
