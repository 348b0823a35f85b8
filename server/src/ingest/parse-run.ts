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
  readonly members: ReadonlyMap<string, Buffer>;
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

/**
 * Checks a run by the rules of the wire.
 *
 * @throws RunFault it breaks one.
 */
export function parseRun({ operation, members }: ReceivedRun, rules: ParseRules): ParsedRun {
  const id = parseId(members, rules.pathId);
  try {
    const columns = parseColumns(members);
    const place = parsePlace(members, rules);
    checkPlace({ id, isPost: operation === "post", columns, ...place });
    const measures = readMeasures(members);
    return {
      id,
      ...place,
      columns,
      ...(measures === undefined ? {} : { measures }),
      facets: facetsOf(members),
      payload: payloadOf(members),
      digestOf: (body) => digestOf(JSON.stringify([columns, place]), body),
    };
  } catch (cause) {
    throw cause instanceof RunFault ? cause : new RunFault(id, messageOf(cause));
  }
}

function parseId(members: Members, pathId: string | undefined): string {
  const raw = members.get("id");
  if (raw === undefined && pathId !== undefined) {
    return pathId;
  }
  const id = raw === undefined ? undefined : parseScalar(raw);
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

function parseColumns(members: Members): RunColumns {
  const error = members.get("error");
  return defined({
    projectId: parseUuid(members, "session_id"),
    projectName: parseText(members, "session_name"),
    name: parseText(members, "name"),
    runType: parseText(members, "run_type"),
    startMicros: parseMicros(members, "start_time"),
    endMicros: parseMicros(members, "end_time"),
    hasError: error === undefined ? undefined : !isBlank(error),
    parentRunId: parseUuid(members, "parent_run_id"),
    referenceExampleId: parseUuid(members, "reference_example_id"),
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

function parsePlace(members: Members, { place }: ParseRules): WirePlace {
  const traceId = parseUuid(members, "trace_id") ?? undefined;
  const dottedOrder = parseText(members, "dotted_order") ?? undefined;
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

function parseText(members: Members, name: string): string | null | undefined {
  const raw = members.get(name);
  const value = raw === undefined ? undefined : parseScalar(raw);
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new ValidationError(`${name} is a text, not ${excerpt(value)}`);
  }
  return value;
}

function parseUuid(members: Members, name: string): string | null | undefined {
  const value = parseText(members, name);
  if (typeof value === "string" && !isUuid(value)) {
    throw new ValidationError(`${name} is not a UUID: ${excerpt(value)}`);
  }
  return typeof value === "string" ? value.toLowerCase() : value;
}

function parseMicros(members: Members, name: string): number | null | undefined {
  const raw = members.get(name);
  const value = raw === undefined ? undefined : parseScalar(raw);
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
