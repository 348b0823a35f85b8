import { toItems, toRecord, toText } from "../../../api/parse.ts";
import type { Members } from "../../../api/parse.ts";
import { toFeedbackConfig } from "../rubric.ts";
import type { Answer, ScoreInput } from "../rubric.ts";

/** What a reviewer has entered for one run, until the server has it. */
export interface ReviewDraft {
  /** By feedback key. */
  readonly answers: Readonly<Record<string, Answer>>;
  readonly note: string;
  /** The outputs as they should have been, as JSON text; `undefined`: they are right. */
  readonly correction?: string;
  /** The id of each feedback, made before it is sent, so that what is sent again counts once. By feedback key. */
  readonly ids: Readonly<Record<string, string>>;
  /** Keys that the server has feedback of already. */
  readonly sent: readonly string[];
  /** The example that was made of the run. */
  readonly exampleId?: string;
}

/** Where a draft belongs. */
export interface DraftKey {
  readonly queueId: string;
  /** Of the run's place in the queue. */
  readonly positionId: string;
  readonly reviewer: string;
}

/** Keys of what is not a question of the rubric. */
const noteKey = "note";
const correctionKey = "correction";

export const emptyDraft: ReviewDraft = { answers: {}, note: "", ids: {}, sent: [] };

export const isEmptyDraft = ({ answers, note, correction }: ReviewDraft): boolean =>
  Object.keys(answers).length === 0 && note === "" && correction === undefined;

const prefix = "millrace-review:";
/** Drafts without a change for this long are deleted. */
const retentionMs = 30 * 86_400_000;

const nameOf = ({ queueId, positionId, reviewer }: DraftKey): string =>
  `${prefix}${queueId}:${positionId}:${reviewer}`;

/** What of a browser's storage drafts need. */
export type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** The draft of a run that this browser keeps; a draft that can't be read counts as absent. */
export function readDraft(storage: DraftStorage, key: DraftKey): ReviewDraft | undefined {
  const kept = parseStored(storage.getItem(nameOf(key)));
  return kept?.draft;
}

/** Keeps a draft. `false`: the browser has no room for it. */
export function saveDraft(
  storage: DraftStorage,
  key: DraftKey,
  { draft, nowMs }: { readonly draft: ReviewDraft; readonly nowMs: number },
): boolean {
  try {
    storage.setItem(nameOf(key), JSON.stringify({ at: nowMs, draft }));
    return true;
  } catch {
    return false; // The page says so: nothing else knows of it.
  }
}

export const deleteDraft = (storage: DraftStorage, key: DraftKey): void =>
  storage.removeItem(nameOf(key));

/** Throws away what was left behind long ago. */
export function deleteOldDrafts(storage: DraftStorage, nowMs: number): void {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const at = parseStored(storage.getItem(name))?.at ?? 0;
    if (nowMs - at > retentionMs) {
      storage.removeItem(name);
    }
  }
}

/** A draft with one answer changed; `undefined` takes it away. */
export function answerIn(draft: ReviewDraft, key: string, answer: Answer | undefined): ReviewDraft {
  const { [key]: _before, ...others } = draft.answers;
  return { ...draft, answers: answer === undefined ? others : { ...others, [key]: answer } };
}

/** Keys of required questions without an answer. */
export const missingAnswers = (
  inputs: readonly ScoreInput[],
  { answers }: ReviewDraft,
): readonly string[] =>
  inputs
    .filter(({ key, isRequired }) => isRequired && answers[key] === undefined)
    .map(({ key }) => key);

/** One feedback to write. */
export interface FeedbackWrite {
  readonly id: string;
  readonly key: string;
  /** `undefined`: it is taken back. */
  readonly body: Members | undefined;
  /** Whether the server has it already. */
  readonly isSent: boolean;
}

/** What a draft means for the server, with an id for each feedback that has none yet. */
export function toFeedbackWrites(
  draft: ReviewDraft,
  inputs: readonly ScoreInput[],
  makeId: () => string,
): readonly FeedbackWrite[] {
  const bodies = new Map<string, Members>();
  for (const [key, answer] of Object.entries(draft.answers)) {
    const input = inputs.find((one) => one.key === key);
    const config = input === undefined ? undefined : toFeedbackConfig(input);
    bodies.set(key, {
      score: answer.score ?? null,
      value: answer.value ?? null,
      ...(config === undefined ? {} : { feedback_config: config }),
    });
  }
  if (draft.note.trim() !== "") {
    bodies.set(noteKey, { ...bodies.get(noteKey), comment: draft.note });
  }
  if (draft.correction !== undefined) {
    bodies.set(correctionKey, {
      ...bodies.get(correctionKey),
      correction: parseCorrection(draft.correction),
    });
  }
  const keys = new Set([...bodies.keys(), ...draft.sent]);
  return [...keys].map((key) => ({
    id: draft.ids[key] ?? makeId(),
    key,
    body: bodies.get(key),
    isSent: draft.sent.includes(key),
  }));
}

/** A correction is an object, or a text that describes what is wrong. */
function parseCorrection(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : text;
  } catch {
    return text;
  }
}

/** The outputs that a correction stands for; `undefined`: it is no JSON object. */
export function correctedOutputs(text: string): Members | undefined {
  const value = parseCorrection(text);
  return typeof value === "string" ? undefined : toRecord(value);
}

/** The draft that leads to the feedback which a reviewer gave on a run in this queue. */
export function draftOfFeedback(
  feedback: unknown,
  { queueId, reviewer }: Pick<DraftKey, "queueId" | "reviewer">,
): ReviewDraft {
  const own = toItems(feedback)
    .map(toRecord)
    .filter(({ feedback_source: source }) => {
      const metadata = toRecord(toRecord(source)["metadata"]);
      return metadata["reviewer"] === reviewer && metadata["annotation_queue_id"] === queueId;
    });
  let draft = emptyDraft;
  for (const given of own) {
    const key = toText(given["key"]) ?? "";
    const id = toText(given["id"]) ?? "";
    if (draft.sent.includes(key)) {
      continue; // The latest comes first.
    }
    draft = {
      ...withFields(draft, key, given),
      ids: { ...draft.ids, [key]: id },
      sent: [...draft.sent, key],
    };
  }
  return draft;
}

function withFields(draft: ReviewDraft, key: string, given: Members): ReviewDraft {
  const { score, value, comment, correction } = given;
  const answer: Answer = {
    ...(typeof score === "number" || typeof score === "boolean" ? { score: Number(score) } : {}),
    ...(typeof value === "string" ? { value } : {}),
  };
  const answered = Object.keys(answer).length === 0 ? draft : answerIn(draft, key, answer);
  const noted =
    key === noteKey && typeof comment === "string" ? { ...answered, note: comment } : answered;
  if (key !== correctionKey || correction === null || correction === undefined) {
    return noted;
  }
  const text =
    typeof correction === "string" ? correction : JSON.stringify(correction, undefined, 2);
  return { ...noted, correction: text };
}

function parseStored(
  text: string | null,
): { readonly at: number; readonly draft: ReviewDraft } | undefined {
  if (text === null) {
    return undefined;
  }
  try {
    const { at, draft } = toRecord(JSON.parse(text));
    const { answers, note, correction, ids, sent, exampleId } = toRecord(draft);
    return {
      at: typeof at === "number" ? at : 0,
      draft: {
        answers: toRecord(answers) as ReviewDraft["answers"],
        note: toText(note) ?? "",
        ids: toRecord(ids) as ReviewDraft["ids"],
        sent: Array.isArray(sent) ? sent.map(String) : [],
        ...(typeof correction === "string" ? { correction } : {}),
        ...(typeof exampleId === "string" ? { exampleId } : {}),
      },
    };
  } catch {
    return undefined; // Something else wrote there.
  }
}
