import { setImmediate } from "node:timers/promises";
import type { FeedbackStats } from "../run-feedback.ts";
import { mergePayloads } from "../payload.ts";
import { readMeasures } from "../run-measures.ts";
import type { RunFile, RunPart, StoredRun } from "../run-row.ts";
import { JsonPieces } from "../../http/json-pieces.ts";
import { measureMembers, rowMembers } from "./run-members.ts";
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
  const pieces = new JsonPieces();
  addRun(pieces, run, view);
  return pieces.toBuffer();
}

/** After so long others have their turn: payloads may be long, and each is walked over. */
const sliceMs = 20;

/** A page of runs as `POST /runs/query` answers it. Made in slices, run by run. */
export async function toPageJson(
  runs: readonly StoredRun[],
  viewOf: (run: StoredRun) => RunView,
  cursors: { readonly next: string | null },
): Promise<Buffer> {
  const pieces = new JsonPieces();
  pieces.add('{"runs":[');
  let began = performance.now();
  for (const [index, run] of runs.entries()) {
    pieces.add(index === 0 ? "" : ",");
    addRun(pieces, run, viewOf(run));
    if (performance.now() - began > sliceMs) {
      await setImmediate();
      began = performance.now();
    }
  }
  const rest = { cursors: { next: cursors.next, prev: null }, parsed_query: null };
  pieces.add(`],${JSON.stringify(rest).slice(1)}`);
  return pieces.toBuffer();
}

function addRun(pieces: JsonPieces, run: StoredRun, view: RunView): void {
  let isFirst = true;
  eachMember(run, view, (name, json) => {
    pieces.add(isFirst ? "{" : ",");
    pieces.add(keyOf(name));
    pieces.addJson(json);
    isFirst = false;
  });
  pieces.add("}");
}

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

/** The members of a run by their names, as JSON; of a selection only those are made that it names. */
export function membersOf(run: StoredRun, view: RunView = {}): Map<string, Buffer> {
  const members = new Map<string, Buffer>();
  eachMember(run, view, (name, json) => members.set(name, Buffer.from(json)));
  return members;
}

/** Each member once: received members as their bytes, those of the server as text. The id comes first. */
function eachMember(
  run: StoredRun,
  { select, feedbackStats, link }: RunView,
  put: (name: string, json: Buffer | string) => void,
): void {
  const { fromRow, fromMeasures, further, received: asked, isAsked, wanted } = choiceOf(select);
  const received = mergePayloads(run.bodies, wanted);
  for (const [name, { toJson }] of fromRow) {
    // The row has no more of it than SQLite's text type holds.
    const asWritten = name === "name" ? received.get(name) : undefined;
    put(name, asWritten ?? toJson(run));
  }
  if (fromMeasures.length > 0) {
    const measures = readMeasures(received);
    for (const [name, toJson] of fromMeasures) {
      put(name, toJson(measures));
    }
  }
  for (const name of further) {
    put(name, JSON.stringify(furtherMembers[name]({ run, received, feedbackStats, link })));
  }
  for (const name of asked) {
    put(name, received.get(name) ?? nullJson);
  }
  for (const [name, json] of received) {
    // Never over what the server itself says of a run.
    if (!ownMembers.has(name) && isAsked(name)) {
      put(name, json);
    }
  }
}

interface Further extends Pick<RunView, "feedbackStats" | "link"> {
  readonly run: StoredRun;
  readonly received: ReadonlyMap<string, Buffer>;
}

/** What is known of a run beside its row and what was received. */
const furtherMembers = {
  feedback_stats: ({ feedbackStats }: Further) => feedbackStats ?? null,
  s3_urls: ({ run, link }: Further) => (link === undefined ? null : toUrls(run, link)),
  thread_id: ({ received }: Further) => readThreadId(received),
};

const furtherNames = Object.keys(furtherMembers) as (keyof typeof furtherMembers)[];

/** By `attachment.<name>`, as clients look them up; null without attachments. */
function toUrls({ row, attachments }: StoredRun, link: (file: RunFile) => string) {
  const entries = attachments.map(({ name, mimeType }) => {
    const url = link({ traceId: row.traceId, runId: row.id, name });
    return [`attachment.${name}`, { presigned_url: url, s3_url: url, mime_type: mimeType }];
  });
  return entries.length === 0 ? null : (Object.fromEntries(entries) as object);
}

/** Members that never come from elsewhere, and their keys in JSON. */
const ownMembers: ReadonlyMap<string, string> = new Map(
  [...rowMembers, ...measureMembers]
    .map(([name]): string => name)
    .concat(furtherNames, payloadMembers)
    .map((name) => [name, `${JSON.stringify(name)}:`]),
);

const keyOf = (name: string): string => ownMembers.get(name) ?? `${JSON.stringify(name)}:`;

/** What a selection comes to, found once for all runs of an answer. */
interface Choice {
  readonly isAsked: (name: string) => boolean;
  readonly fromRow: typeof rowMembers;
  readonly fromMeasures: typeof measureMembers;
  readonly further: typeof furtherNames;
  readonly received: readonly string[];
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
    further: furtherNames.filter(isAsked),
    received: payloadMembers.filter(isAsked),
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
  further: furtherNames,
  received: payloadMembers,
  wanted: undefined,
};

/** What has to be read of runs of which these members are shown. */
export function partsOf(select: ReadonlySet<string>): ReadonlySet<RunPart> {
  const parts = new Set(
    choiceOf(select).fromRow.flatMap(([, { parts: ofMember }]): readonly RunPart[] => ofMember),
  );
  if (select.has("s3_urls")) {
    parts.add("attachments").add("traceId");
  }
  return [...select].every((name) => unreceived.has(name)) ? parts : parts.add("bodies");
}

/** The members that need no look at the received bytes. The row may hold only the beginning of a name. */
const unreceived: ReadonlySet<string> = new Set(
  rowMembers
    .map(([name]) => name)
    .filter((name) => name !== "name")
    .concat("feedback_stats", "s3_urls"),
);
