import { createHash } from "node:crypto";
import { ValidationError, isUuid, microsToStamp, parseDottedOrder } from "millrace/model";
import type { DottedOrder, Operation } from "millrace/model";
import { messageOf } from "../../model/errors.ts";
import { readPayloadFacets } from "../facets.ts";
import type { RunBilling } from "../usage/run-cost.ts";
import { readReportedUsage } from "../usage/run-measures.ts";
import type { FindMembers } from "../usage/run-measures.ts";
import type { RunMeasures } from "../usage/measures.ts";
import type { RunColumns } from "../run-record.ts";
import type { SpanRecord } from "millrace/spans";
import type { ShareableText } from "../shared-texts/shareable-text.ts";
import { parseValue } from "../../bodies/json-text.ts";
import { latestMicros, parseTime, describeInvalidTime } from "../../model/parse-time.ts";
import { selectPayload } from "./run-members.ts";
import type { ColumnValues, Members } from "./run-members.ts";

/** A run that can't be stored. The message is the reason that the client receives. */
export class InvalidRunError extends Error {
  readonly runId: string | null;

  constructor(runId: string | null, reason: string) {
    super(reason);
    this.runId = runId;
  }
}

/** A run as received: the names of its members and their JSON, unchanged. */
export interface ReceivedRun {
  readonly operation: Operation;
  readonly members: Members;
  /**
   * Values of members that have columns, if they were parsed already (see `run-members.ts` and `split-run.ts`).
   * `members` then contains only the other members.
   */
  readonly values?: ColumnValues;
  /**
   * JSON of the payload's members without the braces, if the members were adjacent in the request. They can then be
   * copied together.
   */
  readonly rawMembers?: Buffer | undefined;
  /** A faster way to find the members of an object that is one of `members`. */
  readonly findMembers?: FindMembers | undefined;
  /** Set for a run that was received as an OpenTelemetry span. */
  readonly span?: SpanRecord;
  /**
   * The texts that other runs may contain, too, by the member that contains them. Their ranges are relative to the JSON
   * of this member.
   */
  readonly shareable?: ReadonlyMap<string, readonly ShareableText[]> | undefined;
}

/** Rules that differ between the endpoints that ingest runs. */
export interface ParseRules {
  /** Whether `trace_id` and `dotted_order` must be present, as they must in batches. */
  readonly position: "required" | "optional";
  /** The run id in the URL. The id in the body must be the same. */
  readonly pathId?: string;
}

/** A validated run: values for the columns, and the payload as received. */
export interface ParsedRun {
  readonly id: string;
  readonly traceId: string | undefined;
  readonly dottedOrder: string | undefined;
  readonly columns: RunColumns;
  readonly facets: readonly string[];
  readonly measures: RunMeasures | undefined;
  readonly billing: RunBilling | undefined;
  readonly hasExtra: boolean;
  readonly payload: ReadonlyMap<string, Buffer>;
  /** Computes a digest of a patch (an update of a run), which distinguishes it from other patches of the same run. */
  readonly computeDigest: (body: Buffer) => string;
}

/** The fields of a received run from which {@link readValue} reads the values of members. */
type MemberSource = Pick<ReceivedRun, "members" | "values">;

/**
 * Validates a run against the rules of the wire format.
 *
 * @throws InvalidRunError the run is invalid.
 */
export function parseRun(run: ReceivedRun, rules: ParseRules): ParsedRun {
  const { operation, members } = run;
  const id = parseId(run, rules.pathId);
  try {
    const columns = parseColumns(run);
    const position = parsePosition(run, rules);
    checkPosition({ id, isPost: operation === "post", columns, ...position });
    const usage = readReportedUsage(members, { findMembers: run.findMembers, withBilling: true });
    return {
      id,
      traceId: position.traceId,
      dottedOrder: position.dottedOrder,
      columns,
      measures: usage?.measures,
      billing: usage?.billing,
      hasExtra: members.has("extra"),
      facets: readPayloadFacets(members),
      payload: run.values === undefined ? selectPayload(members) : members,
      computeDigest: (body) => computeDigest(JSON.stringify([columns, position]), body),
    };
  } catch (cause) {
    throw cause instanceof InvalidRunError ? cause : new InvalidRunError(id, messageOf(cause));
  }
}

function parseId(run: MemberSource, pathId: string | undefined): string {
  const id = readValue(run, "id");
  if (id === undefined && pathId !== undefined) {
    return pathId;
  }
  if (!isUuid(id)) {
    throw new InvalidRunError(
      null,
      id === undefined ? "id is missing" : `id is not a UUID: ${toExcerpt(id)}`,
    );
  }
  if (pathId !== undefined && id.toLowerCase() !== pathId) {
    throw new InvalidRunError(pathId, `id is ${id}, but the URL names ${pathId}`);
  }
  return id.toLowerCase();
}

function parseColumns(run: MemberSource): RunColumns {
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

/** Whether the JSON of an error is null or an empty string, which means that the run has no error. */
const isBlank = (raw: Buffer): boolean => raw.equals(nullJson) || raw.equals(emptyJson);
const nullJson = Buffer.from("null");
const emptyJson = Buffer.from('""');

interface WirePosition {
  readonly traceId: string | undefined;
  readonly dottedOrder: string | undefined;
}

function parsePosition(run: MemberSource, { position }: ParseRules): WirePosition {
  const traceId = parseUuid(run, "trace_id") ?? undefined;
  const dottedOrder = parseText(run, "dotted_order") ?? undefined;
  if (position === "required" && (traceId === undefined || dottedOrder === undefined)) {
    throw new ValidationError(`${traceId === undefined ? "trace_id" : "dotted_order"} is missing`);
  }
  const isLower = dottedOrder === undefined || !hexCapitalPattern.test(dottedOrder);
  return {
    traceId,
    dottedOrder: isLower ? dottedOrder : dottedOrder.replaceAll(hexCapitalsPattern, toLower),
  };
}

const hexCapitalPattern = /[A-F]/;
const hexCapitalsPattern = /[A-F]+/g;

const toLower = (letters: string): string => letters.toLowerCase();

interface PositionToCheck extends WirePosition {
  readonly id: string;
  readonly isPost: boolean;
  readonly columns: RunColumns;
}

/**
 * The last segment of a dotted order consists of the timestamp and the id of the run itself. Timestamps are encoded so
 * that their alphabetical order is their order in time.
 */
const uuidLength = 36;
const latestStamp = microsToStamp(latestMicros);
const lastSegmentLength = latestStamp.length + uuidLength;

/** Checks a run's position in its trace (docs/wire.md, "Dotted order"). */
function checkPosition({ id, isPost, columns, traceId, dottedOrder }: PositionToCheck): void {
  const parentId = columns.parentRunId;
  const isRoot = parentId === null || (isPost && parentId === undefined);
  if (isRoot && traceId !== undefined && traceId !== id) {
    throw new ValidationError(
      `trace_id of a root run must be its id: trace_id is ${traceId}, id is ${id}`,
    );
  }
  if (dottedOrder === undefined) {
    return;
  }
  if (dottedOrder.slice(-lastSegmentLength, -uuidLength) > latestStamp) {
    throw new ValidationError(
      "the start in dotted_order is after 2255-06-05, the last day that can be stored",
    );
  }
  const orderSummary = summarizeOrder(dottedOrder);
  const { segmentCount } = orderSummary;
  if (isRoot && segmentCount !== 1) {
    throw new ValidationError(
      `dotted_order of a root run (without parent_run_id) must have one segment, not ${segmentCount}`,
    );
  }
  if (typeof parentId === "string" && segmentCount < 2) {
    throw new ValidationError(
      "dotted_order of a child run must have at least two segments, not one",
    );
  }
  if (orderSummary.traceId !== (traceId ?? orderSummary.traceId)) {
    throw new ValidationError(
      `dotted_order begins with ${orderSummary.traceId}, which is not trace_id ${traceId}`,
    );
  }
  if (orderSummary.runId !== id) {
    throw new ValidationError(
      `dotted_order ends with ${orderSummary.runId}, which is not id ${id}`,
    );
  }
}

/** The parts of a dotted order that are checked. */
interface OrderSummary {
  readonly segmentCount: number;
  readonly traceId: string;
  readonly runId: string;
}

/** Caches the ancestors that were parsed last: runs with the same parent have the same ancestors. */
let lastAncestors = { text: "", count: 0, traceId: "" };

/**
 * Parses a dotted order.
 *
 * @throws ValidationError the dotted order is malformed.
 */
function summarizeOrder(text: string): OrderSummary {
  // The position at which the ancestors end in a valid dotted order; negative for a root.
  const ancestorsEnd = text.length - lastSegmentLength - 1;
  const ancestors = text.slice(0, Math.max(ancestorsEnd, 0));
  if (ancestors !== "" && text[ancestorsEnd] === "." && ancestors === lastAncestors.text) {
    const lastSegment = readSegment(text.slice(ancestorsEnd + 1));
    if (lastSegment !== undefined) {
      return {
        segmentCount: lastAncestors.count + 1,
        traceId: lastAncestors.traceId,
        runId: lastSegment.runId,
      };
    }
  }
  const { segments, traceId, runId } = parseDottedOrder(text);
  const count = segments.length;
  lastAncestors =
    count === 1 ? { text, count, traceId } : { text: ancestors, count: count - 1, traceId };
  return { segmentCount: count, traceId, runId };
}

/**
 * Returns `undefined` if the segment is malformed. The caller then parses the whole dotted order, whose error names
 * the segment.
 */
function readSegment(text: string): DottedOrder | undefined {
  try {
    return parseDottedOrder(text);
  } catch {
    return undefined;
  }
}

const computeDigest = (columnsJson: string, body: Buffer): string =>
  createHash("sha256").update(columnsJson).update(body).digest("base64url");

function parseText(run: MemberSource, name: string): string | null | undefined {
  const value = readValue(run, name);
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new ValidationError(`${name} must be a string, not ${toExcerpt(value)}`);
  }
  return value;
}

function parseUuid(run: MemberSource, name: string): string | null | undefined {
  const value = parseText(run, name);
  if (typeof value !== "string") {
    return value;
  }
  const cached = cachedUuids.get(name);
  if (cached?.text === value) {
    return cached.uuid;
  }
  if (!isUuid(value)) {
    throw new ValidationError(`${name} is not a UUID: ${toExcerpt(value)}`);
  }
  const uuid = value.toLowerCase();
  cachedUuids.set(name, { text: value, uuid });
  return uuid;
}

/** Caches the last UUID of each member: runs of a trace have many of them in common. */
const cachedUuids = new Map<string, { readonly text: string; readonly uuid: string }>();

function parseMicros(run: MemberSource, name: string): number | null | undefined {
  const value = readValue(run, name);
  if (value === undefined || value === null) {
    return value;
  }
  const micros = parseTime(value);
  if (micros === undefined) {
    throw new ValidationError(`${name} ${describeInvalidTime(value)}: ${toExcerpt(value)}`);
  }
  return micros;
}

/** Returns the value of a member; `undefined` if it is absent. */
export function readValue({ members, values }: MemberSource, name: string): unknown {
  const raw = members.get(name);
  return raw === undefined ? values?.[name] : parseValue(raw);
}

const toExcerpt = (value: unknown): string => JSON.stringify(value).slice(0, 80);
