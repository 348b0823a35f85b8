import { defaultRunType, microsToStamp, stampToMicros } from "millrace/model";
import type { RunRecord } from "./run-record.ts";
import type { RunRow } from "./run-row.ts";

/** Where a run is in its trace. The dotted order is empty while the position is unknown. */
export interface TracePosition {
  readonly traceId: string;
  readonly dottedOrder: string;
  readonly parentRunId: string | null;
}

/** What {@link mergeRecord} needs in addition to the record and the stored row. */
export interface MergeContext {
  readonly position: TracePosition;
  /** The project that the record names; absent if the record names no project. */
  readonly projectId?: string;
  readonly defaultProjectId: string;
  readonly nowMicros: number;
}

/** Lengths of the two parts of a segment of a dotted order: a timestamp and a run id. */
const stampLength = 22;
const uuidLength = 36;

/** Name of a run that was received without one. */
const unnamed = "unnamed";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type ColumnValues = Pick<
  RunRow,
  | "projectId"
  | "name"
  | "runType"
  | "startMicros"
  | "endMicros"
  | "hasError"
  | "parentRunId"
  | "referenceExampleId"
>;
type ColumnName = keyof ColumnValues;

/** Only append to this list: the index of a column is its bit in the database column `patched`. */
const columnNames = [
  "projectId",
  "name",
  "runType",
  "startMicros",
  "endMicros",
  "hasError",
  "parentRunId",
  "referenceExampleId",
] as const satisfies readonly ColumnName[];

/**
 * The lower bits of the database column `patched` are a flag for each column that a patch has set. The higher bits, in
 * units of `patchUnit`, count the patches, so that a missing patch payload is detected.
 */
export const patchUnit = 65_536;
/** Patches are counted up to this number, because `patched` must fit into the 31 bits of bitwise operations. */
const maxPatches = 32_767;

/**
 * Returns the row of a run after one more record was merged into it. A value from a patch (an update) takes precedence
 * over one from the post (the creation), whichever arrives first; among patches, the later one takes precedence. The
 * caller must make sure that the record is not a duplicate.
 */
export function mergeRecord(
  row: RunRow | undefined,
  record: RunRecord,
  context: MergeContext,
): RunRow {
  if (row === undefined && record.operation === "post") {
    return createRow(record, context);
  }
  const isPost = record.operation === "post";
  const receivedColumns = selectReceivedColumns(record, context);
  const previous = row ?? createEmptyRow(record.id, context);
  const values: Mutable<ColumnValues> = pickColumns(previous);
  let { patchBits } = previous;
  let bit = 1;
  for (const name of columnNames) {
    if (isPost ? (patchBits & bit) === 0 : receivedColumns[name] !== undefined) {
      setColumn(values, name, receivedColumns[name] ?? defaultValues[name](context));
      patchBits |= isPost ? 0 : bit;
    }
    bit <<= 1;
  }
  if (!isPost && patchBits < maxPatches * patchUnit) {
    patchBits += patchUnit;
  }
  return {
    ...values,
    id: record.id,
    traceId: context.position.traceId,
    dottedOrder: context.position.dottedOrder,
    posted: isPost || previous.posted,
    patchBits,
    measureState: previous.measureState,
  };
}

/**
 * Creates the row of a run from a post (the operation that creates the run) that is the first record of the run, as it
 * usually is.
 */
function createRow({ id, columns }: RunRecord, context: MergeContext): RunRow {
  const { position } = context;
  return {
    traceId: position.traceId,
    id,
    projectId: context.projectId ?? context.defaultProjectId,
    name: columns.name ?? unnamed,
    runType: columns.runType ?? defaultRunType,
    startMicros: columns.startMicros ?? defaultValues.startMicros(context),
    endMicros: columns.endMicros ?? null,
    hasError: columns.hasError ?? false,
    parentRunId: columns.parentRunId ?? position.parentRunId,
    dottedOrder: position.dottedOrder,
    referenceExampleId: columns.referenceExampleId ?? null,
    posted: true,
    patchBits: 0,
    measureState: "none",
  };
}

type ReceivedColumns = { readonly [Name in ColumnName]?: ColumnValues[Name] | null | undefined };

function selectReceivedColumns(
  { columns }: RunRecord,
  { projectId }: MergeContext,
): ReceivedColumns {
  const { projectId: _id, projectName: _name, ...otherColumns } = columns;
  return { ...otherColumns, projectId };
}

function setColumn<Name extends ColumnName>(
  values: Mutable<ColumnValues>,
  name: Name,
  value: ColumnValues[Name],
): void {
  values[name] = value;
}

const pickColumns = (row: RunRow): ColumnValues => ({
  projectId: row.projectId,
  name: row.name,
  runType: row.runType,
  startMicros: row.startMicros,
  endMicros: row.endMicros,
  hasError: row.hasError,
  parentRunId: row.parentRunId,
  referenceExampleId: row.referenceExampleId,
});

/** The value of a column that no record has set, or that a patch has cleared. */
const defaultValues: {
  readonly [Name in ColumnName]: (context: MergeContext) => ColumnValues[Name];
} = {
  projectId: ({ defaultProjectId }) => defaultProjectId,
  name: () => unnamed,
  runType: () => defaultRunType,
  startMicros: ({ position, nowMicros }) => readStart(position.dottedOrder) ?? nowMicros,
  endMicros: () => null,
  hasError: () => false,
  parentRunId: ({ position }) => position.parentRunId,
  referenceExampleId: () => null,
};

const createEmptyRow = (id: string, context: MergeContext): RunRow => ({
  projectId: context.defaultProjectId,
  name: unnamed,
  runType: defaultRunType,
  startMicros: defaultValues.startMicros(context),
  endMicros: null,
  hasError: false,
  parentRunId: context.position.parentRunId,
  referenceExampleId: null,
  id,
  traceId: context.position.traceId,
  dottedOrder: context.position.dottedOrder,
  posted: false,
  patchBits: 0,
  measureState: "none",
});

/** Returns the start time in the last segment of a dotted order. */
function readStart(dottedOrder: string): number | undefined {
  const stamp = dottedOrder.slice(-(stampLength + uuidLength), -uuidLength);
  return stamp === "" ? undefined : stampToMicros(stamp);
}

/**
 * Returns the position of the run to which a record belongs. The position comes from the record or, if the record
 * contains none, from the stored run. If neither has one, the position is derived from the ids in a post, and remains
 * unknown after a patch. If the record contradicts the stored run, the function returns the reason instead of a
 * position.
 */
export function resolvePosition(
  record: RunRecord,
  storedRow: RunRow | undefined,
  findRow: (id: string) => RunRow | undefined,
): TracePosition | { readonly reason: string } {
  const contradiction = findContradiction(record, storedRow);
  if (contradiction !== undefined) {
    return { reason: contradiction };
  }
  if (record.dottedOrder !== undefined) {
    return parsePosition(record.dottedOrder);
  }
  if (storedRow !== undefined && storedRow.dottedOrder !== "") {
    return parsePosition(storedRow.dottedOrder);
  }
  return record.operation === "post"
    ? derivePosition(record, findRow)
    : {
        traceId: record.traceId ?? storedRow?.traceId ?? record.id,
        dottedOrder: "",
        parentRunId: null,
      };
}

function findContradiction(record: RunRecord, storedRow: RunRow | undefined): string | undefined {
  const { id, dottedOrder } = record;
  const traceId =
    record.traceId ?? (dottedOrder === undefined ? undefined : parsePosition(dottedOrder).traceId);
  // The trace id of a row without a dotted order is only assumed, so the record may contain another one.
  return storedRow === undefined ||
    storedRow.dottedOrder === "" ||
    (traceId ?? storedRow.traceId) === storedRow.traceId
    ? undefined
    : `run ${id} was received before in trace ${storedRow.traceId}, not ${traceId}`;
}

/** Parses a dotted order, which was validated when the run was received. */
function parsePosition(dottedOrder: string): TracePosition {
  const ancestorsEnd = dottedOrder.lastIndexOf(".");
  return {
    traceId: dottedOrder.slice(stampLength, stampLength + uuidLength),
    dottedOrder,
    parentRunId:
      ancestorsEnd === -1 ? null : dottedOrder.slice(ancestorsEnd - uuidLength, ancestorsEnd),
  };
}

/**
 * Derives the position of a new run without a dotted order. If the parent is stored, the position is exact. Otherwise
 * the ancestors are assumed to be the trace's root and the parent. Their start times are unknown, so their segments
 * contain this run's start time.
 */
function derivePosition(
  record: RunRecord,
  findRow: (id: string) => RunRow | undefined,
): TracePosition {
  const { id, columns } = record;
  const stamp = microsToStamp(columns.startMicros ?? Date.now() * 1_000);
  const parentRunId = columns.parentRunId ?? null;
  if (parentRunId === null) {
    return { traceId: id, dottedOrder: stamp + id, parentRunId };
  }
  const parent = findRow(parentRunId);
  if (parent !== undefined && parent.dottedOrder !== "") {
    const dottedOrder = `${parent.dottedOrder}.${stamp}${id}`;
    return { traceId: parent.traceId, dottedOrder, parentRunId };
  }
  const traceId = record.traceId ?? parentRunId;
  const ancestors = traceId === parentRunId ? [traceId] : [traceId, parentRunId];
  const dottedOrder = [...ancestors, id].map((ancestorId) => stamp + ancestorId).join(".");
  return { traceId, dottedOrder, parentRunId };
}
