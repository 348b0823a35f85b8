import { createHash } from "node:crypto";
import { ValidationError, isUuid, parseDottedOrder } from "millrace/model";
import type { Operation } from "millrace/model";
import { messageOf } from "../errors.ts";
import { facetsOf } from "../store/facets.ts";
import { readMeasures } from "../store/run-measures.ts";
import type { RunMeasures } from "../store/run-measures.ts";
import type { RunColumns, SpanRecord } from "../store/run-record.ts";
import { decodeText } from "./json-text.ts";
import { parseTime } from "./parse-time.ts";

/** A run that can't be stored; the message is the reason that the sender reads. */
export class RunFault extends Error {
  readonly runId: string | null;

  constructor(runId: string | null, reason: string) {
    super(reason);
    this.runId = runId;
  }
}

/** A run as it came: its members' names and their JSON texts, unchanged. */
export interface ReceivedRun {
  readonly operation: Operation;
  readonly members: Members;
  /** Values of members that columns hold, where they were read already: see {@link readColumnValues}. */
  readonly values?: ColumnValues;
  /** Of a run that came as a span. */
  readonly span?: SpanRecord;
}

/** What differs between the calls that take runs. */
export interface ParseRules {
  /** Whether `trace_id` and `dotted_order` must be there, as in batches. */
  readonly place: "required" | "optional";
  /** The id in the address, which is the run's. */
  readonly pathId?: string;
}

/** A run, checked: columns for the tables, the rest as it came. */
export interface ParsedRun {
  readonly id: string;
  readonly traceId?: string;
  readonly dottedOrder?: string;
  readonly columns: RunColumns;
  readonly facets: readonly string[];
  readonly measures?: RunMeasures;
  readonly payload: ReadonlyMap<string, Buffer>;
  /** Tells this patch from others of the same run, given its payload's bytes. */
  readonly digestOf: (body: Buffer) => string;
}

type Members = ReadonlyMap<string, Buffer>;
type ColumnValues = Readonly<Record<string, unknown>>;
/** What the members of a run are read from. */
type Received = Pick<ReceivedRun, "members" | "values">;

/**
 * Checks a run by the rules of the wire.
 *
 * @throws RunFault it breaks one.
 */
export function parseRun(run: ReceivedRun, rules: ParseRules): ParsedRun {
  const { operation, members } = run;
  const id = parseId(run, rules.pathId);
  try {
    const columns = parseColumns(run);
    const place = parsePlace(run, rules);
    checkPlace({ id, isPost: operation === "post", columns, ...place });
    const measures = readMeasures(members);
    return {
      id,
      ...place,
      columns,
      ...(measures === undefined ? {} : { measures }),
      facets: facetsOf(members),
      payload: run.values === undefined ? payloadOf(members) : members,
      digestOf: (body) => digestOf(JSON.stringify([columns, place]), body),
    };
  } catch (cause) {
    throw cause instanceof RunFault ? cause : new RunFault(id, messageOf(cause));
  }
}

function parseId(run: Received, pathId: string | undefined): string {
  const id = valueOf(run, "id");
  if (id === undefined && pathId !== undefined) {
    return pathId;
  }
  if (!isUuid(id)) {
    throw new RunFault(
      null,
      id === undefined ? "id is missing" : `id is not a UUID: ${excerpt(id)}`,
    );
  }
  if (pathId !== undefined && id.toLowerCase() !== pathId) {
    throw new RunFault(pathId, `id is ${id}, the address names ${pathId}`);
  }
  return id.toLowerCase();
}

function parseColumns(run: Received): RunColumns {
  const error = run.members.get("error");
  return defined({
    projectId: parseUuid(run, "session_id"),
    projectName: parseText(run, "session_name"),
    name: parseText(run, "name"),
    runType: parseText(run, "run_type"),
    startMicros: parseMicros(run, "start_time"),
    endMicros: parseMicros(run, "end_time"),
    hasError: error === undefined ? undefined : !isBlank(error),
    parentRunId: parseUuid(run, "parent_run_id"),
    referenceExampleId: parseUuid(run, "reference_example_id"),
  });
}

/** An error that says nothing is none. */
const isBlank = (raw: Buffer): boolean => raw.equals(nullJson) || raw.equals(emptyJson);
const nullJson = Buffer.from("null");
const emptyJson = Buffer.from('""');

interface WirePlace {
  readonly traceId?: string;
  readonly dottedOrder?: string;
}

function parsePlace(run: Received, { place }: ParseRules): WirePlace {
  const traceId = parseUuid(run, "trace_id") ?? undefined;
  const dottedOrder = parseText(run, "dotted_order") ?? undefined;
  if (place === "required" && (traceId === undefined || dottedOrder === undefined)) {
    throw new ValidationError(`${traceId === undefined ? "trace_id" : "dotted_order"} is missing`);
  }
  return defined({ traceId, dottedOrder: dottedOrder?.replaceAll(/[A-F]+/g, lower) });
}

const lower = (letters: string): string => letters.toLowerCase();

interface PlaceToCheck extends WirePlace {
  readonly id: string;
  readonly isPost: boolean;
  readonly columns: RunColumns;
}

/** The rules on dotted orders (docs/wire.md, "Rules of the server"). */
function checkPlace({ id, isPost, columns, traceId, dottedOrder }: PlaceToCheck): void {
  const parentId = columns.parentRunId;
  const isRoot = parentId === null || (isPost && parentId === undefined);
  if (isRoot && traceId !== undefined && traceId !== id) {
    throw new ValidationError(
      `trace_id of a root run is its id: trace_id is ${traceId}, id is ${id}`,
    );
  }
  if (dottedOrder === undefined) {
    return;
  }
  const order = parseDottedOrder(dottedOrder);
  const count = order.segments.length;
  if (isRoot && count !== 1) {
    throw new ValidationError(
      `dotted_order of a root run, one without parent_run_id, has one segment, not ${count}`,
    );
  }
  if (typeof parentId === "string" && count < 2) {
    throw new ValidationError("dotted_order of a child run has at least two segments, not one");
  }
  if (order.traceId !== (traceId ?? order.traceId)) {
    throw new ValidationError(
      `dotted_order begins with ${order.traceId}, which is not trace_id ${traceId}`,
    );
  }
  if (order.runId !== id) {
    throw new ValidationError(`dotted_order ends with ${order.runId}, which is not id ${id}`);
  }
}

/** Members that the columns hold already. */
const columnMembers: ReadonlySet<string> = new Set([
  "id",
  "trace_id",
  "dotted_order",
  "session_id",
  "session_name",
  "run_type",
  "start_time",
  "end_time",
  "parent_run_id",
  "reference_example_id",
]);

/** A longer text holds more than columns. */
const valuesBytesMax = 2_048;

/**
 * All members of a run's object at once, where columns hold each of them and nothing has to be kept as
 * it came: so it is with the main part of a run whose large fields have parts of their own. `undefined`
 * where it is not so, or the text is no JSON object: a walk through it then says more. The bytes are UTF-8.
 */
export function readColumnValues(json: Buffer): ColumnValues | undefined {
  if (json.length > valuesBytesMax || json.includes(backslash)) {
    return undefined;
  }
  let values: unknown;
  try {
    values = JSON.parse(json.toString("utf8"));
  } catch {
    return undefined; // Whoever walks through it finds the fault and its place.
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    return undefined;
  }
  return Object.keys(values).every(hasColumn) ? (values as ColumnValues) : undefined;
}

const hasColumn = (name: string): boolean => name === "name" || columnMembers.has(name);

const backslash = 0x5c;

function payloadOf(members: Members): Members {
  const payload = new Map<string, Buffer>();
  for (const [name, raw] of members) {
    // A name with escapes is kept as it came: a column may not hold what they stand for.
    const isKept = name === "name" ? raw.includes(backslash) : !columnMembers.has(name);
    if (isKept) {
      payload.set(name, raw);
    }
  }
  return payload;
}

const digestOf = (head: string, body: Buffer): string =>
  createHash("sha256").update(head).update(body).digest("base64url");

function parseText(run: Received, name: string): string | null | undefined {
  const value = valueOf(run, name);
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new ValidationError(`${name} is a text, not ${excerpt(value)}`);
  }
  return value;
}

function parseUuid(run: Received, name: string): string | null | undefined {
  const value = parseText(run, name);
  if (typeof value === "string" && !isUuid(value)) {
    throw new ValidationError(`${name} is not a UUID: ${excerpt(value)}`);
  }
  return typeof value === "string" ? value.toLowerCase() : value;
}

function parseMicros(run: Received, name: string): number | null | undefined {
  const value = valueOf(run, name);
  if (value === undefined || value === null) {
    return value;
  }
  const micros = parseTime(value);
  if (micros === undefined) {
    throw new ValidationError(
      `${name} is neither an ISO 8601 time nor epoch milliseconds: ${excerpt(value)}`,
    );
  }
  return micros;
}

const quote = 0x22;

/** What a member says; `undefined` where it is not there. */
export function valueOf({ members, values }: Received, name: string): unknown {
  const raw = members.get(name);
  return raw === undefined ? values?.[name] : parseScalar(raw);
}

function parseScalar(raw: Buffer): unknown {
  const value: unknown = raw[0] === quote ? decodeText(raw) : JSON.parse(raw.toString("utf8"));
  return value;
}

const excerpt = (value: unknown): string => JSON.stringify(value).slice(0, 80);

/** The object without the members that are `undefined`. */
function defined<T extends Readonly<Record<string, unknown>>>(
  values: T,
): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(values)) {
    if (values[name] !== undefined) {
      kept[name] = values[name];
    }
  }
  return kept as { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };
}
