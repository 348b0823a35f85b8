import { microsToStamp, stampToIso } from "millrace/model";
import type { FeedbackStats } from "../store/feedback.ts";
import { mergePayloads } from "../store/payload.ts";
import { readMeasures } from "../store/run-measures.ts";
import type { RunMeasures } from "../store/run-measures.ts";
import type { UsageName } from "../store/usage-places.ts";
import type { RunFile, RunRow, StoredRun } from "../store/run-row.ts";
import { readThreadId } from "./run-thread.ts";

/** Members that a run always shows, `null` where nothing was received. */
const payloadMembers = [
  "inputs",
  "outputs",
  "error",
  "extra",
  "serialized",
  "events",
  "tags",
] as const;

/** What is known of a run beside its row and what was received. */
const furtherMembers = ["feedback_stats", "s3_urls", "thread_id"] as const;

const nullJson = "null";

/** What of a run is shown beside what was received. */
export interface RunView {
  /** The members that it has; all of them where it is left out. */
  readonly select?: ReadonlySet<string> | undefined;
  /** What the feedback on it comes to; absent where there is none. */
  readonly feedbackStats?: FeedbackStats | undefined;
  /** Where an attachment can be read; without, attachments are not shown. */
  readonly link?: ((file: RunFile) => string) | undefined;
}

/**
 * A run as `GET /runs/{id}` answers it. What was received is copied byte for byte, so that texts that
 * JavaScript or SQLite would alter come back as they were.
 */
export function toRunJson(run: StoredRun, view: RunView = {}): Buffer {
  const pieces: Buffer[] = [];
  // Short members are joined as text, which is sooner done than copying many small pieces; all is UTF-8.
  let text = "";
  eachMember(run, view, (name, json) => {
    text += `${text === "" && pieces.length === 0 ? "{" : ","}${keyOf(name)}:`;
    if (typeof json === "string" || json.length <= shortBytes) {
      text += typeof json === "string" ? json : json.toString("utf8");
    } else {
      pieces.push(Buffer.from(text), json);
      text = "";
    }
  });
  return Buffer.concat([...pieces, Buffer.from(`${text}}`)]);
}

/** Longer JSON is copied as it is. */
const shortBytes = 1_024;

/** A JSON array of texts that are JSON already, under a name, followed by further members. */
export function toListJson(
  name: string,
  items: readonly Buffer[],
  rest: Readonly<Record<string, unknown>>,
): Buffer {
  const tail = JSON.stringify(rest).slice(1);
  return Buffer.concat([
    Buffer.from(`{${JSON.stringify(name)}:`),
    toArrayJson(items),
    Buffer.from(`${tail === "}" ? "" : ","}${tail}`),
  ]);
}

/** A JSON array of texts that are JSON already. */
export const toArrayJson = (items: readonly Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from("["),
    ...items.flatMap((item, index) => (index === 0 ? [item] : [commaJson, item])),
    Buffer.from("]"),
  ]);

const commaJson = Buffer.from(",");

/** A time of the store as the wire has it: ISO 8601, UTC, microseconds. */
export const toIso = (micros: number): string => stampToIso(microsToStamp(micros));

/** The members of a run by their names, as JSON; of a selection only those are made that it names. */
export function membersOf(run: StoredRun, view: RunView = {}): Map<string, Buffer> {
  const members = new Map<string, Buffer>();
  eachMember(run, view, (name, json) => members.set(name, Buffer.from(json)));
  return members;
}

/** Each member once: what was received as its bytes, what the server says as text. */
function eachMember(
  run: StoredRun,
  { select, feedbackStats, link }: RunView,
  put: (name: string, json: Buffer | string) => void,
): void {
  const { fromRow, fromMeasures, isAsked, wanted } = choiceOf(select);
  const received = mergePayloads(run.bodies, wanted);
  for (const [name, describe] of fromRow) {
    // The row has no more of it than SQLite's text type holds.
    const asWritten = name === "name" ? received.get(name) : undefined;
    put(name, asWritten ?? JSON.stringify(describe(run)));
  }
  if (fromMeasures.length > 0) {
    const measures = readMeasures(received);
    for (const [name, describe] of fromMeasures) {
      put(name, JSON.stringify(describe(measures)));
    }
  }
  const further = {
    feedback_stats: () => feedbackStats ?? null,
    s3_urls: () => (link === undefined ? null : toUrls(run, link)),
    thread_id: () => readThreadId(received),
  };
  for (const name of furtherMembers) {
    if (isAsked(name)) {
      put(name, JSON.stringify(further[name]()));
    }
  }
  for (const name of payloadMembers) {
    if (isAsked(name)) {
      put(name, received.get(name) ?? nullJson);
    }
  }
  for (const [name, json] of received) {
    // Never over what the server itself says of a run.
    if (isAsked(name) && !ownMembers.has(name)) {
      put(name, json);
    }
  }
}

/** By `attachment.<name>`, as clients look them up; null where there is none. */
function toUrls({ row, attachments }: StoredRun, link: (file: RunFile) => string) {
  const entries = attachments.map(({ name, mimeType }) => {
    const url = link({ traceId: row.traceId, runId: row.id, name });
    return [`attachment.${name}`, { presigned_url: url, s3_url: url, mime_type: mimeType }];
  });
  return entries.length === 0 ? null : (Object.fromEntries(entries) as object);
}

/** What the server says of a run, in this order. */
const rowMembers = Object.entries<(run: StoredRun) => unknown>({
  id: ({ row }) => row.id,
  name: ({ row }) => row.name,
  run_type: ({ row }) => row.runType,
  start_time: ({ row }) => toIso(row.startMicros),
  end_time: ({ row }) => (row.endMicros === null ? null : toIso(row.endMicros)),
  status: ({ row }) => statusOf(row),
  parent_run_id: ({ row }) => row.parentRunId,
  parent_run_ids: ({ row }) => ancestorsOf(row),
  child_run_ids: ({ childRunIds }) => childRunIds,
  direct_child_run_ids: ({ directChildRunIds }) => directChildRunIds,
  trace_id: ({ row }) => row.traceId,
  dotted_order: ({ row }) => row.dottedOrder,
  session_id: ({ row }) => row.projectId,
  session_name: ({ projectName }) => projectName,
  reference_example_id: ({ row }) => row.referenceExampleId,
  execution_order: () => 1,
  in_dataset: () => null,
  manifest_id: () => null,
  share_token: ({ shareToken }) => shareToken,
  app_path: ({ row, tenantId }) => `/o/${tenantId}/projects/p/${row.projectId}/r/${row.id}`,
});

const countOf = (name: UsageName) => (measures: RunMeasures | undefined) =>
  Math.round(measures?.[name] ?? 0);
const costOf = (name: UsageName) => (measures: RunMeasures | undefined) =>
  toCostText(measures?.[name]);

/** Counts are whole and never null on the wire, costs are decimal texts. */
const measureMembers = Object.entries<(measures: RunMeasures | undefined) => unknown>({
  total_tokens: countOf("total_tokens"),
  prompt_tokens: countOf("prompt_tokens"),
  completion_tokens: countOf("completion_tokens"),
  total_cost: costOf("total_cost"),
  prompt_cost: costOf("prompt_cost"),
  completion_cost: costOf("completion_cost"),
  first_token_time: (measures) =>
    typeof measures?.first_token_us === "number" ? toIso(measures.first_token_us) : null,
});

/** Members that never come from elsewhere, and their keys as JSON. */
const ownMembers: ReadonlyMap<string, string> = new Map(
  [...rowMembers, ...measureMembers]
    .map(([name]): string => name)
    .concat(furtherMembers, payloadMembers)
    .map((name) => [name, JSON.stringify(name)]),
);

const keyOf = (name: string): string => ownMembers.get(name) ?? JSON.stringify(name);

/** What a selection comes to, found once for all runs of an answer. */
interface Choice {
  readonly isAsked: (name: string) => boolean;
  readonly fromRow: typeof rowMembers;
  readonly fromMeasures: typeof measureMembers;
  /** The members that need be found in what was received; all of them where it is left out. */
  readonly wanted: ReadonlySet<string> | undefined;
}

const choices = new WeakMap<ReadonlySet<string>, Choice>();

function choiceOf(select: ReadonlySet<string> | undefined): Choice {
  if (select === undefined) {
    return everyMember;
  }
  const known = choices.get(select);
  if (known !== undefined) {
    return known;
  }
  const isAsked = (name: string): boolean => name === "id" || select.has(name);
  const fromMeasures = measureMembers.filter(([name]) => isAsked(name));
  const choice = {
    isAsked,
    fromRow: rowMembers.filter(([name]) => isAsked(name)),
    fromMeasures,
    // Measures and threads are read from several members.
    wanted: fromMeasures.length > 0 || select.has("thread_id") ? undefined : select,
  };
  choices.set(select, choice);
  return choice;
}

const everyMember: Choice = {
  isAsked: () => true,
  fromRow: rowMembers,
  fromMeasures: measureMembers,
  wanted: undefined,
};

/** `null` where the cost is not known. */
export const toCostText = (cost: number | null | undefined): string | null =>
  typeof cost === "number" ? String(cost) : null;

function statusOf({ hasError, endMicros }: RunRow): "error" | "success" | "pending" {
  if (hasError) {
    return "error";
  }
  return endMicros === null ? "pending" : "success";
}

const stampLength = 22;

/** Ids of the runs above, root first. */
const ancestorsOf = ({ dottedOrder }: RunRow): string[] =>
  dottedOrder
    .split(".")
    .slice(0, -1)
    .map((segment) => segment.slice(stampLength));
