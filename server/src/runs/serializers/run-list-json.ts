import type { NameCache } from "../../bodies/json-cursor.ts";
import type { FeedbackStats } from "../run-feedback.ts";
import type { RunPart, StoredRun } from "../run-row.ts";
import type { TraceUsage } from "../trace.ts";
import { toIso } from "../../http/wire-text.ts";
import { createMembers, findRequiredParts } from "./run-json.ts";

/** Maximum number of characters that a list shows of a value. */
const maxPreviewChars = 400;

/** Tags and metadata whose JSON has more bytes than this are not parsed for a list. */
const maxParsedBytes = 65_536;

/** Maximum number of metadata entries and of tags that a list shows for a run. */
const maxEntries = 100;

/** Functions that shorten the members that can be long. */
const shorteners: Readonly<Record<string, (json: Buffer) => unknown>> = {
  inputs: createPreview,
  outputs: createPreview,
  error: createPreview,
  tags: (json) => toArray(parseIfShort(json)).slice(0, maxEntries).map(toShortText),
};

/** Selects the data of each run that a list contains. */
export interface ListView {
  readonly select: ReadonlySet<string>;
  /** The members that must be read to create the selected ones. */
  readonly neededNames: ReadonlySet<string>;
  /** The parts of a run that must be read. */
  readonly parts: ReadonlySet<RunPart>;
  /** Cache of the names of the payloads' members, which are the same in most runs of a list. */
  readonly names: NameCache;
}

/**
 * Creates the view for a selection. Metadata is a member of `extra`, so `extra` is needed if metadata is selected.
 */
export function createListView(select: ReadonlySet<string>): ListView {
  const neededNames = new Set([
    ...select,
    ...(select.has("metadata") ? ["extra"] : []),
    ...(select.has("trace_usage") ? ["parent_run_id", "trace_id"] : []),
  ]);
  return { select, neededNames, parts: findRequiredParts(neededNames), names: [] };
}

/**
 * Serializes a run for a list, in limited size: the beginning of `inputs`, `outputs` and `error`, and the values of
 * `metadata` as short strings. `trace_usage` is the usage of a root run's whole trace.
 */
export function toListItem(
  run: StoredRun,
  { select, neededNames, names }: ListView,
  { feedbackStats, usage }: ItemDetails,
): object {
  const members = createMembers(run, { select: neededNames, feedbackStats, names });
  const item: Record<string, unknown> = { id: run.row.id };
  for (const name of select) {
    const json = members.get(name);
    if (name === "trace_usage") {
      item[name] = usage === undefined ? null : toUsageJson(usage);
    } else if (name === "metadata") {
      item[name] = readMetadata(members.get("extra"));
    } else if (json !== undefined) {
      const shorten = shorteners[name];
      item[name] = shorten === undefined ? parseIfShort(json) : shorten(json);
    }
  }
  return item;
}

/** Data of a list item that is not stored with its run. */
interface ItemDetails {
  readonly feedbackStats: FeedbackStats | undefined;
  readonly usage: TraceUsage | undefined;
}

const toUsageJson = ({ tokens, cost, models, firstTokenMicros, isPartial }: TraceUsage) => ({
  total_tokens: tokens,
  total_cost: cost,
  models: models.map(toShortText),
  first_token_time: firstTokenMicros === null ? null : toIso(firstTokenMicros),
  is_partial: isPartial,
});

/** The characters and the complete escapes at the beginning of the content of a JSON string. */
const wholeCharactersPattern = /^(?:[^"\\]|\\(?:u[\da-f]{4}|[^u]))*/i;

/** Returns the beginning of a string, or of the JSON text of any other value; `null` if the value is null. */
function createPreview(json: Buffer): string | null {
  // A character takes up to six bytes in JSON, when it is escaped.
  const head = json.subarray(0, maxPreviewChars * 6).toString("utf8");
  if (head === "null") {
    return null;
  }
  if (!head.startsWith('"')) {
    return head.slice(0, maxPreviewChars);
  }
  // Leave out an escape that was cut off, and all that follows the end of the string.
  const [inner] = wholeCharactersPattern.exec(head.slice(1, maxPreviewChars)) ?? [""];
  const text = parseJson(`"${inner}"`);
  return typeof text === "string" ? text : inner;
}

function readMetadata(extra: Buffer | undefined): Readonly<Record<string, string>> {
  const value = extra === undefined ? undefined : parseIfShort(extra);
  const metadata = isRecord(value) ? value["metadata"] : undefined;
  return isRecord(metadata)
    ? Object.fromEntries(
        Object.entries(metadata)
          .slice(0, maxEntries)
          .map(([key, entryValue]) => [toShortText(key), toShortText(entryValue)]),
      )
    : {};
}

const toShortText = (value: unknown): string =>
  (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, maxPreviewChars);

const parseIfShort = (json: Buffer): unknown =>
  json.length > maxParsedBytes ? undefined : parseJson(json.toString("utf8"));

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Only damaged data is not JSON. The list then has its beginning, or no value.
  }
}

const toArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
