import type { FeedbackStats } from "../run-feedback.ts";
import type { NameCache } from "../../bodies/json-cursor.ts";
import { mergePayloads } from "../merge-payloads.ts";
import type { CostDetails } from "../usage/run-cost.ts";
import { readMeasures } from "../usage/run-measures.ts";
import type { RunFile, RunPart, StoredRun } from "../run-row.ts";
import { JsonBuilder } from "../../http/json-builder.ts";
import { addStoredCost, measureMembers, rowMembers } from "./run-members.ts";
import { readThreadId } from "./thread-id.ts";

/** The payload members that every response contains; `null` for those that were not received. */
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

/** Options for serializing a run. */
export interface RunView {
  /** The members to return; all of them if absent. */
  readonly select?: ReadonlySet<string> | undefined;
  /** Statistics of the run's feedback; absent if it has no feedback. */
  readonly feedbackStats?: FeedbackStats | undefined;
  /** Creates the URL of an attachment. If absent, the response contains no attachments. */
  readonly link?: ((file: RunFile) => string) | undefined;
  /** Whether to add `cost_basis`, which explains how the cost was determined, or why it is unknown. */
  readonly withCostBasis?: boolean | undefined;
  /** Cache of the names of the payloads' members, which are the same in most runs of a page. */
  readonly names?: NameCache | undefined;
}

/**
 * Serializes a run for `GET /runs/{id}`. Received values are copied byte for byte, because parsing them in
 * JavaScript or SQLite could change numbers and strings.
 */
export function toRunJson(run: StoredRun, view: RunView = {}): Buffer {
  const builder = new JsonBuilder();
  addRun(builder, run, view);
  return builder.toBuffer();
}

/**
 * The limits are checked after each group of this many runs. Reading the clock for every run would take as long as
 * writing some of its members.
 */
const runsPerCheck = 8;

export interface PageOptions {
  readonly selectView: (run: StoredRun) => RunView;
  /** The cursor of the next page. */
  readonly next: string | null;
  /** Called every few runs. It throws if the query has exceeded its limits. */
  readonly checkLimit: () => void;
}

/** Serializes a page of runs for `POST /runs/query`. */
export function toPageJson(
  runs: readonly StoredRun[],
  { selectView, next, checkLimit }: PageOptions,
): Buffer {
  const builder = new JsonBuilder();
  builder.add('{"runs":[');
  for (const [index, run] of runs.entries()) {
    builder.add(index === 0 ? "" : ",");
    addRun(builder, run, selectView(run));
    if (index % runsPerCheck === 0) {
      checkLimit();
    }
  }
  const trailingMembers = { cursors: { next, prev: null }, parsed_query: null };
  builder.add(`],${JSON.stringify(trailingMembers).slice(1)}`);
  return builder.toBuffer();
}

function addRun(builder: JsonBuilder, run: StoredRun, view: RunView): void {
  let prefix = "{";
  forEachMember(run, view, (name, json) => {
    builder.add(prefix + findJsonKey(name));
    builder.addJson(json);
    prefix = ",";
  });
  builder.add("}");
}

/** Builds a JSON object: a list with this name, whose items are JSON already, followed by the other members. */
export function toListJson(
  name: string,
  items: readonly Buffer[],
  otherMembers: Readonly<Record<string, unknown>>,
): Buffer {
  const trailingMembers = JSON.stringify(otherMembers).slice(1);
  return Buffer.concat([
    Buffer.from(`{${JSON.stringify(name)}:`),
    toArrayJson(items),
    Buffer.from(`${trailingMembers === "}" ? "" : ","}${trailingMembers}`),
  ]);
}

/** Builds a JSON array from items that are JSON already. */
export const toArrayJson = (items: readonly Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from("["),
    ...items.flatMap((item, index) => (index === 0 ? [item] : [commaJson, item])),
    Buffer.from("]"),
  ]);

const commaJson = Buffer.from(",");

/** Returns the members of a run as JSON, by name; only the selected ones if there is a selection. */
export function createMembers(run: StoredRun, view: RunView = {}): Map<string, Buffer> {
  const members = new Map<string, Buffer>();
  forEachMember(run, view, (name, json) => members.set(name, Buffer.from(json)));
  return members;
}

/**
 * Calls `onMember` once for each member: with bytes if the member was received, with text if the server adds it. The
 * id comes first.
 */
function forEachMember(
  run: StoredRun,
  { select, feedbackStats, link, withCostBasis, names }: RunView,
  onMember: (name: string, json: Buffer | string) => void,
): void {
  const {
    fromRow,
    fromMeasures,
    computed,
    received: payloadNames,
    isSelected,
    wanted,
  } = selectMembers(select);
  const received = mergePayloads(run.bodies, wanted, names);
  for (const [name, { toJson }] of fromRow) {
    // Prefer the name in the payload: the column may contain only its beginning, up to a NUL.
    const nameAsReceived = name === "name" ? received.get(name) : undefined;
    onMember(name, nameAsReceived ?? toJson(run));
  }
  if (fromMeasures.length > 0) {
    const measures = addStoredCost(readMeasures(received), run.cost);
    for (const [name, toJson] of fromMeasures) {
      onMember(name, toJson(measures));
    }
  }
  for (const name of computed) {
    onMember(name, JSON.stringify(computedMembers[name]({ run, received, feedbackStats, link })));
  }
  if (withCostBasis === true) {
    onMember("cost_basis", JSON.stringify(run.cost?.basis ?? null));
  }
  for (const name of payloadNames) {
    onMember(name, received.get(name) ?? nullJson);
  }
  for (const [name, json] of received) {
    // A received member never replaces one that the server adds.
    if (!knownMembers.has(name) && isSelected(name)) {
      onMember(name, json);
    }
  }
}

interface ComputedInput extends Pick<RunView, "feedbackStats" | "link"> {
  readonly run: StoredRun;
  readonly received: ReadonlyMap<string, Buffer>;
}

/** Members that are computed from more than the columns of a run's row. */
const computedMembers = {
  feedback_stats: ({ feedbackStats }: ComputedInput) => feedbackStats ?? null,
  s3_urls: ({ run, link }: ComputedInput) => (link === undefined ? null : createUrls(run, link)),
  thread_id: ({ received }: ComputedInput) => readThreadId(received),
  prompt_cost_details: ({ run }: ComputedInput) => toCostDetails(run, "input"),
  completion_cost_details: ({ run }: ComputedInput) => toCostDetails(run, "output"),
};

const computedNames = Object.keys(computedMembers) as (keyof typeof computedMembers)[];

/** Returns the components of a cost that the server computed; null if the cost is unknown, or if the run reports it. */
function toCostDetails({ cost }: StoredRun, side: "input" | "output"): CostDetails | null {
  const basis = cost?.basis ?? null;
  const details = basis === null || "reason" in basis ? {} : basis[side];
  return Object.keys(details).length === 0 ? null : details;
}

/** Returns URLs by `attachment.<name>`, which is how clients look them up; null if there are no attachments. */
function createUrls({ row, attachments }: StoredRun, link: (file: RunFile) => string) {
  const entries = attachments.map(({ name, mimeType }) => {
    const url = link({ traceId: row.traceId, runId: row.id, name });
    return [`attachment.${name}`, { presigned_url: url, s3_url: url, mime_type: mimeType }];
  });
  return entries.length === 0 ? null : (Object.fromEntries(entries) as object);
}

/** The members that are written before all other received members. The values are the names as JSON, with a colon. */
const knownMembers: ReadonlyMap<string, string> = new Map(
  [...rowMembers, ...measureMembers]
    .map(([name]): string => name)
    .concat(computedNames, payloadMembers, "cost_basis")
    .map((name) => [name, `${JSON.stringify(name)}:`]),
);

const findJsonKey = (name: string): string => knownMembers.get(name) ?? `${JSON.stringify(name)}:`;

/** The members to serialize for a selection, computed once for all runs of a response. */
interface MemberSelection {
  readonly isSelected: (name: string) => boolean;
  readonly fromRow: typeof rowMembers;
  readonly fromMeasures: typeof measureMembers;
  readonly computed: typeof computedNames;
  readonly received: readonly string[];
  /** The members that must be read from the payload; all of them if `undefined`. */
  readonly wanted: ReadonlySet<string> | undefined;
}

const selections = new WeakMap<ReadonlySet<string>, MemberSelection>();

function selectMembers(select: ReadonlySet<string> | undefined): MemberSelection {
  if (select === undefined) {
    return allMembers;
  }
  const cached = selections.get(select);
  if (cached !== undefined) {
    return cached;
  }
  const isSelected = (name: string): boolean => name === "id" || select.has(name);
  const fromMeasures = measureMembers.filter(([name]) => isSelected(name));
  const selection = {
    isSelected,
    fromRow: rowMembers.filter(([name]) => isSelected(name)),
    fromMeasures,
    computed: computedNames.filter(isSelected),
    received: payloadMembers.filter(isSelected),
    // Measures and thread ids are read from several members.
    wanted: fromMeasures.length > 0 || select.has("thread_id") ? undefined : select,
  };
  selections.set(select, selection);
  return selection;
}

const allMembers: MemberSelection = {
  isSelected: () => true,
  fromRow: rowMembers,
  fromMeasures: measureMembers,
  computed: computedNames,
  received: payloadMembers,
  wanted: undefined,
};

/** Returns the parts of a run that must be read to serialize the selected members. */
export function findRequiredParts(select: ReadonlySet<string>): ReadonlySet<RunPart> {
  const parts = new Set(
    selectMembers(select).fromRow.flatMap(
      ([, { parts: ofMember }]): readonly RunPart[] => ofMember,
    ),
  );
  if (
    selectMembers(select).fromMeasures.length > 0 ||
    costDetailNames.some((name) => select.has(name))
  ) {
    parts.add("cost");
  }
  if (select.has("s3_urls")) {
    parts.add("attachments").add("traceId");
  }
  return [...select].every((name) => membersWithoutPayload.has(name)) ? parts : parts.add("bodies");
}

const costDetailNames = ["prompt_cost_details", "completion_cost_details"] as const;

/** Members that don't require the payload. A run's `name` does require it: the row may contain only its beginning. */
const membersWithoutPayload: ReadonlySet<string> = new Set(
  rowMembers
    .map(([name]) => name)
    .filter((name) => name !== "name")
    .concat("feedback_stats", "s3_urls", ...costDetailNames),
);
