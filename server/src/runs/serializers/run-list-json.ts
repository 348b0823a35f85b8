import type { FeedbackStats } from "../run-feedback.ts";
import type { StoredRun } from "../run-row.ts";
import { membersOf } from "./run-json.ts";

/** Characters of a value that a list shows. */
const previewMax = 400;

/** Longer JSON of tags and metadata is not taken apart for a list. */
const looseBytes = 65_536;

/** Entries of metadata, and tags, that a list shows of a run. */
const entriesMax = 100;

/** What can be long: each is shown in part. */
const shownInPart: Readonly<Record<string, (json: Buffer) => unknown>> = {
  inputs: previewOf,
  outputs: previewOf,
  error: previewOf,
  tags: (json) => toList(parseLoose(json)).slice(0, entriesMax).map(toShort),
};

/** What a list shows of a run beside it. */
export interface ListView {
  readonly select: ReadonlySet<string>;
  readonly feedback: FeedbackStats | undefined;
}

/**
 * A run as a list shows it, short however long it is: of `inputs`, `outputs` and `error` the beginning of
 * their text, of `metadata` each value as a short text.
 */
export function toListItem(run: StoredRun, { select, feedback }: ListView): object {
  const needed = select.has("metadata") ? new Set([...select, "extra"]) : select;
  const members = membersOf(run, { select: needed, feedbackStats: feedback });
  const item: Record<string, unknown> = { id: run.row.id };
  for (const name of select) {
    const json = members.get(name);
    if (name === "metadata") {
      item[name] = metadataIn(members.get("extra"));
    } else if (json !== undefined) {
      const inPart = shownInPart[name];
      item[name] = inPart === undefined ? parseLoose(json) : inPart(json);
    }
  }
  return item;
}

/** The beginning of a JSON text; of a text without its quotes. `null` where there is nothing. */
function previewOf(json: Buffer): string | null {
  // A character has up to six bytes as an escape.
  const head = json.subarray(0, previewMax * 6).toString("utf8");
  if (head === "null") {
    return null;
  }
  if (!head.startsWith('"')) {
    return head.slice(0, previewMax);
  }
  // Cut where no escape is cut, the rest is a JSON text again.
  const inner = head
    .slice(1, previewMax)
    .replace(/\\(?:u[\da-f]{0,3})?$/i, "")
    .replace(/"$/, "");
  const text = parseJson(`"${inner}"`);
  return typeof text === "string" ? text : inner;
}

function metadataIn(extra: Buffer | undefined): Readonly<Record<string, string>> {
  const value = extra === undefined ? undefined : parseLoose(extra);
  const metadata = isRecord(value) ? value["metadata"] : undefined;
  return isRecord(metadata)
    ? Object.fromEntries(
        Object.entries(metadata)
          .slice(0, entriesMax)
          .map(([key, one]) => [toShort(key), toShort(one)]),
      )
    : {};
}

const toShort = (value: unknown): string =>
  (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, previewMax);

const parseLoose = (json: Buffer): unknown =>
  json.length > looseBytes ? undefined : parseJson(json.toString("utf8"));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Too deep, or a text that was cut: the caller shows it as it is.
  }
}

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
