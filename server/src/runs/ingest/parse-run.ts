import { createHash } from "node:crypto";
import { ValidationError, isUuid, microsToStamp, parseDottedOrder } from "millrace/model";
import type { DottedOrder, Operation } from "millrace/model";
import { messageOf } from "../../model/errors.ts";
import { facetsOf } from "../facets.ts";
import { readMeasures } from "../run-measures.ts";
import type { RunMeasures } from "../run-measures.ts";
import type { RunColumns, SpanRecord } from "../run-record.ts";
import { parseScalar } from "../../bodies/json-text.ts";
import { latestMicros, parseTime, timeProblem } from "../../model/parse-time.ts";
import { payloadOf } from "./split-run.ts";
import type { ColumnValues, Members } from "./split-run.ts";

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
  /** Values of members that columns hold, where they were read already: see `split-run.ts`; the others alone are then `members`. */
  readonly values?: ColumnValues;
  /** The members that are kept, where they stood side by side: an object's text without its braces. */
  readonly kept?: Buffer | undefined;
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
  readonly traceId: string | undefined;
  readonly dottedOrder: string | undefined;
  readonly columns: RunColumns;
  readonly facets: readonly string[];
  readonly measures: RunMeasures | undefined;
  readonly payload: ReadonlyMap<string, Buffer>;
  /** Distinguishes this patch from others of the same run, from its payload's bytes. */
  readonly digestOf: (body: Buffer) => string;
}

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
    const place = parsePosition(run, rules);
    checkPosition({ id, isPost: operation === "post", columns, ...place });
    return {
      id,
      traceId: place.traceId,
      dottedOrder: place.dottedOrder,
      columns,
      measures: readMeasures(members),
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
  return {
    projectId: parseUuid(run, "session_id"),
    projectName: parseText(run, "session_name"),
    name: parseText(run, "name"),
    runType: parseText(run, "run_type"),
    startMicros: parseMicros(run, "start_time"),
    endMicros: parseMicros(run, "end_time"),
    hasError: error === undefined ? undefined : !isBlank(error),
    parentRunId: parseUuid(run, "parent_run_id"),
    referenceExampleId: parseUuid(run, "reference_example_id"),
  };
}

/** An empty error counts as no error. */
const isBlank = (raw: Buffer): boolean => raw.equals(nullJson) || raw.equals(emptyJson);
const nullJson = Buffer.from("null");
const emptyJson = Buffer.from('""');

interface WirePosition {
  readonly traceId: string | undefined;
  readonly dottedOrder: string | undefined;
}

function parsePosition(run: Received, { place }: ParseRules): WirePosition {
  const traceId = parseUuid(run, "trace_id") ?? undefined;
  const dottedOrder = parseText(run, "dotted_order") ?? undefined;
  if (place === "required" && (traceId === undefined || dottedOrder === undefined)) {
    throw new ValidationError(`${traceId === undefined ? "trace_id" : "dotted_order"} is missing`);
  }
  const isLower = dottedOrder === undefined || !capital.test(dottedOrder);
  return { traceId, dottedOrder: isLower ? dottedOrder : dottedOrder.replaceAll(capitals, lower) };
}

const capital = /[A-F]/;
const capitals = /[A-F]+/g;

const lower = (letters: string): string => letters.toLowerCase();

interface PositionToCheck extends WirePosition {
  readonly id: string;
  readonly isPost: boolean;
  readonly columns: RunColumns;
}

/** Stamps sort as their times do. A dotted order ends with the run's own stamp and id. */
const uuidLength = 36;
const latestStamp = microsToStamp(latestMicros);
const ownSegment = latestStamp.length + uuidLength;

/** The rules on dotted orders (docs/wire.md, "Rules of the server"). */
function checkPosition({ id, isPost, columns, traceId, dottedOrder }: PositionToCheck): void {
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
  if (dottedOrder.slice(-ownSegment, -uuidLength) > latestStamp) {
    throw new ValidationError(
      "the start in dotted_order is after 2255-06-05, the last day that can be stored",
    );
  }
  const order = readOrder(dottedOrder);
  const { count } = order;
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

/** What is to be known of a dotted order. */
interface Order {
  readonly count: number;
  readonly traceId: string;
  readonly runId: string;
}

/** Ancestors that were read: siblings, and the children of a root, have the same. */
let known = { text: "", count: 0, traceId: "" };

/** @throws ValidationError it is malformed. */
function readOrder(text: string): Order {
  const end = text.lastIndexOf(".");
  if (end !== -1 && end === known.text.length && text.startsWith(known.text)) {
    const own = readSegment(text.slice(end + 1));
    if (own !== undefined) {
      return { count: known.count + 1, traceId: known.traceId, runId: own.runId };
    }
  }
  const { segments, traceId, runId } = parseDottedOrder(text);
  const count = segments.length;
  known =
    end === -1 ? { text, count, traceId } : { text: text.slice(0, end), count: count - 1, traceId };
  return { count, traceId, runId };
}

/** `undefined` where it is malformed. The caller, which has the index in the whole, reports it. */
function readSegment(text: string): DottedOrder | undefined {
  try {
    return parseDottedOrder(text);
  } catch {
    return undefined;
  }
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
  if (typeof value !== "string") {
    return value;
  }
  const last = lastUuids.get(name);
  if (last?.text === value) {
    return last.uuid;
  }
  if (!isUuid(value)) {
    throw new ValidationError(`${name} is not a UUID: ${excerpt(value)}`);
  }
  const uuid = value.toLowerCase();
  lastUuids.set(name, { text: value, uuid });
  return uuid;
}

/** By name: runs of a trace have much in common. */
const lastUuids = new Map<string, { readonly text: string; readonly uuid: string }>();

function parseMicros(run: Received, name: string): number | null | undefined {
  const value = valueOf(run, name);
  if (value === undefined || value === null) {
    return value;
  }
  const micros = parseTime(value);
  if (micros === undefined) {
    throw new ValidationError(`${name} ${timeProblem(value)}: ${excerpt(value)}`);
  }
  return micros;
}

/** The value of a member; `undefined` where it is absent. */
export function valueOf({ members, values }: Received, name: string): unknown {
  const raw = members.get(name);
  return raw === undefined ? values?.[name] : parseScalar(raw);
}

const excerpt = (value: unknown): string => JSON.stringify(value).slice(0, 80);
