import { toItems, toRecord, toText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import { toFeedbackConfig } from "../rubric.ts";
import type { Answer, RubricQuestion } from "../rubric.ts";

/** The answers, note and correction that a reviewer has entered for one run and not yet submitted completely. */
export interface ReviewDraft {
  /** By feedback key. */
  readonly answers: Readonly<Record<string, Answer>>;
  readonly note: string;
  /** The corrected outputs as JSON text; `undefined` if the reviewer does not correct them. */
  readonly correction?: string;
  /**
   * The id of each feedback entry, by feedback key. It is generated before the first request, so that a retry adds no
   * second entry.
   */
  readonly ids: Readonly<Record<string, string>>;
  /** Keys of the feedback that the server already has. */
  readonly sent: readonly string[];
  /** Id of the example that was created from the run. */
  readonly exampleId?: string;
}

export interface DraftKey {
  readonly queueId: string;
  /** Id of the run's position in the queue. */
  readonly positionId: string;
  readonly reviewer: string;
}

/** Keys of feedback that does not come from a question of the rubric. */
const noteKey = "note";
const correctionKey = "correction";

export const emptyDraft: ReviewDraft = { answers: {}, note: "", ids: {}, sent: [] };

export const isEmptyDraft = ({ answers, note, correction }: ReviewDraft): boolean =>
  Object.keys(answers).length === 0 && note === "" && correction === undefined;

const storageKeyPrefix = "millrace-review:";
/** Drafts that have not changed for this long are deleted. */
const retentionMs = 30 * 86_400_000;

const toStorageKey = ({ queueId, positionId, reviewer }: DraftKey): string =>
  `${storageKeyPrefix}${queueId}:${positionId}:${reviewer}`;

/** The part of the Web Storage API that drafts use. */
export type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** Reads a draft from this browser's storage. A malformed draft counts as absent. */
export function readDraft(storage: DraftStorage, key: DraftKey): ReviewDraft | undefined {
  const storedEntry = parseStoredEntry(storage.getItem(toStorageKey(key)));
  return storedEntry?.draft;
}

/** Stores a draft. Returns `false` if the browser refuses, for example because its storage is full. */
export function saveDraft(
  storage: DraftStorage,
  key: DraftKey,
  { draft, nowMs }: { readonly draft: ReviewDraft; readonly nowMs: number },
): boolean {
  try {
    storage.setItem(toStorageKey(key), JSON.stringify({ at: nowMs, draft }));
    return true;
  } catch {
    return false; // The review panel warns the reviewer that the draft is not stored.
  }
}

export const deleteDraft = (storage: DraftStorage, key: DraftKey): void =>
  storage.removeItem(toStorageKey(key));

/** Deletes the drafts that have not changed for `retentionMs`. */
export function deleteOldDrafts(storage: DraftStorage, nowMs: number): void {
  const storageKeys = Array.from(
    { length: storage.length },
    (_, index) => storage.key(index) ?? "",
  );
  for (const storageKey of storageKeys.filter((key) => key.startsWith(storageKeyPrefix))) {
    const savedMs = parseStoredEntry(storage.getItem(storageKey))?.at ?? 0;
    if (nowMs - savedMs > retentionMs) {
      storage.removeItem(storageKey);
    }
  }
}

/** Returns a draft with one answer replaced, or removed if `answer` is `undefined`. */
export function setAnswer(
  draft: ReviewDraft,
  key: string,
  answer: Answer | undefined,
): ReviewDraft {
  const { [key]: _previous, ...others } = draft.answers;
  return { ...draft, answers: answer === undefined ? others : { ...others, [key]: answer } };
}

/** Returns the keys of the required questions that have no answer. */
export const findMissingAnswers = (
  questions: readonly RubricQuestion[],
  { answers }: ReviewDraft,
): readonly string[] =>
  questions
    .filter(({ key, isRequired }) => isRequired && answers[key] === undefined)
    .map(({ key }) => key);

/** A feedback entry to create, update or delete on the server. */
export interface FeedbackWrite {
  readonly id: string;
  readonly key: string;
  /** `undefined` to delete the feedback. */
  readonly body: JsonMembers | undefined;
  /** Whether the server already has the feedback. */
  readonly isSent: boolean;
}

/** Converts a draft to the feedback entries to write. An entry without an id gets one from `createId`. */
export function toFeedbackWrites(
  draft: ReviewDraft,
  questions: readonly RubricQuestion[],
  createId: () => string,
): readonly FeedbackWrite[] {
  const bodies = new Map<string, JsonMembers>();
  for (const [key, answer] of Object.entries(draft.answers)) {
    const question = questions.find((candidate) => candidate.key === key);
    const config = question === undefined ? undefined : toFeedbackConfig(question);
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
    id: draft.ids[key] ?? createId(),
    key,
    body: bodies.get(key),
    isSent: draft.sent.includes(key),
  }));
}

/** Returns a JSON object as an object, and any other correction as text. */
function parseCorrection(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : text;
  } catch {
    return text;
  }
}

/** Parses a correction as corrected outputs. Returns `undefined` if it is not a JSON object. */
export function parseCorrectedOutputs(text: string): JsonMembers | undefined {
  const value = parseCorrection(text);
  return typeof value === "string" ? undefined : toRecord(value);
}

/** Restores a draft from the feedback that a reviewer has submitted for a run of this queue. */
export function restoreDraft(
  feedback: unknown,
  { queueId, reviewer }: Pick<DraftKey, "queueId" | "reviewer">,
): ReviewDraft {
  const submittedFeedback = toItems(feedback)
    .map(toRecord)
    .filter(({ feedback_source: source }) => {
      const metadata = toRecord(toRecord(source)["metadata"]);
      return metadata["reviewer"] === reviewer && metadata["annotation_queue_id"] === queueId;
    });
  let draft = emptyDraft;
  for (const item of submittedFeedback) {
    const key = toText(item["key"]) ?? "";
    const id = toText(item["id"]) ?? "";
    if (draft.sent.includes(key)) {
      continue; // The server lists the newest feedback first, and only that one counts.
    }
    draft = {
      ...applyFeedback(draft, key, item),
      ids: { ...draft.ids, [key]: id },
      sent: [...draft.sent, key],
    };
  }
  return draft;
}

function applyFeedback(draft: ReviewDraft, key: string, feedback: JsonMembers): ReviewDraft {
  const { score, value, comment, correction } = feedback;
  const answer: Answer = {
    ...(typeof score === "number" || typeof score === "boolean" ? { score: Number(score) } : {}),
    ...(typeof value === "string" ? { value } : {}),
  };
  const draftWithAnswer = Object.keys(answer).length === 0 ? draft : setAnswer(draft, key, answer);
  const draftWithNote =
    key === noteKey && typeof comment === "string"
      ? { ...draftWithAnswer, note: comment }
      : draftWithAnswer;
  if (key !== correctionKey || correction === null || correction === undefined) {
    return draftWithNote;
  }
  const text =
    typeof correction === "string" ? correction : JSON.stringify(correction, undefined, 2);
  return { ...draftWithNote, correction: text };
}

function parseStoredEntry(
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
    return undefined; // The stored text is not JSON, so it is not a draft.
  }
}
