import { defaultRunType, microsToStamp, stampToMicros } from "millrace/model";
import type { RunRecord } from "./run-record.ts";
import type { RunRow } from "./run-row.ts";

/** Where a run stands in its trace. */
export interface TracePosition {
  readonly traceId: string;
  readonly dottedOrder: string;
  readonly parentRunId: string | null;
}

/** What the merge needs besides the record: its place, its project, the clock. */
export interface MergeContext {
  readonly place: TracePosition;
  /** The project that the record names; absent where it names none. */
  readonly projectId?: string;
  readonly defaultProjectId: string;
  readonly nowMicros: number;
}

/** Lengths of the two halves of a dotted order's segment. */
const stampLength = 22;
const uuidLength = 36;

/** The name of a run that has none. */
export const unnamed = "unnamed";

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

/** The position in this list is the column's bit in `patched`: append only. */
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

/** Above the bits of the columns `patched` counts the patches, so that a patch that got lost is noticed. */
export const patchUnit = 65_536;
/** The count stays there: bits are of 31. */
const patchesMax = 32_767;

/**
 * The run after one more record. A patch's value wins over the post's whichever comes first;
 * between patches the later one wins. The caller has made sure that the record is no duplicate.
 */
export function mergeRecord(
  row: RunRow | undefined,
  record: RunRecord,
  context: MergeContext,
): RunRow {
  if (row === undefined && record.operation === "post") {
    return firstRow(record, context);
  }
  const isPost = record.operation === "post";
  const given = givenColumns(record, context);
  const before = row ?? emptyRow(record.id, context);
  const values: Mutable<ColumnValues> = pickColumns(before);
  let { patched } = before;
  let bit = 1;
  for (const name of columnNames) {
    if (isPost ? (patched & bit) === 0 : given[name] !== undefined) {
      assign(values, name, given[name] ?? defaultOf[name](context));
      patched |= isPost ? 0 : bit;
    }
    bit <<= 1;
  }
  if (!isPost && patched < patchesMax * patchUnit) {
    patched += patchUnit;
  }
  return {
    ...values,
    id: record.id,
    traceId: context.place.traceId,
    dottedOrder: context.place.dottedOrder,
    posted: isPost || before.posted,
    patched,
    measures: before.measures,
  };
}

/** A run whose post is the first that is known of it: the common case, in one step. */
function firstRow({ id, columns }: RunRecord, context: MergeContext): RunRow {
  const { place } = context;
  return {
    traceId: place.traceId,
    id,
    projectId: context.projectId ?? context.defaultProjectId,
    name: columns.name ?? unnamed,
    runType: columns.runType ?? defaultRunType,
    startMicros: columns.startMicros ?? defaultOf.startMicros(context),
    endMicros: columns.endMicros ?? null,
    hasError: columns.hasError ?? false,
    parentRunId: columns.parentRunId ?? place.parentRunId,
    dottedOrder: place.dottedOrder,
    referenceExampleId: columns.referenceExampleId ?? null,
    posted: true,
    patched: 0,
    measures: "none",
  };
}

type Given = { readonly [Name in ColumnName]?: ColumnValues[Name] | null | undefined };

function givenColumns({ columns }: RunRecord, { projectId }: MergeContext): Given {
  const { projectId: _id, projectName: _name, ...rest } = columns;
  return { ...rest, projectId };
}

function assign<Name extends ColumnName>(
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

/** The value of a column that was never set, or that a patch has cleared. */
const defaultOf: {
  readonly [Name in ColumnName]: (context: MergeContext) => ColumnValues[Name];
} = {
  projectId: ({ defaultProjectId }) => defaultProjectId,
  name: () => unnamed,
  runType: () => defaultRunType,
  startMicros: ({ place, nowMicros }) => startOf(place.dottedOrder) ?? nowMicros,
  endMicros: () => null,
  hasError: () => false,
  parentRunId: ({ place }) => place.parentRunId,
  referenceExampleId: () => null,
};

const emptyRow = (id: string, context: MergeContext): RunRow => ({
  projectId: context.defaultProjectId,
  name: unnamed,
  runType: defaultRunType,
  startMicros: defaultOf.startMicros(context),
  endMicros: null,
  hasError: false,
  parentRunId: context.place.parentRunId,
  referenceExampleId: null,
  id,
  traceId: context.place.traceId,
  dottedOrder: context.place.dottedOrder,
  posted: false,
  patched: 0,
  measures: "none",
});

/** The start that a dotted order's last segment names. */
function startOf(dottedOrder: string): number | undefined {
  const stamp = dottedOrder.slice(-(stampLength + uuidLength), -uuidLength);
  return stamp === "" ? undefined : stampToMicros(stamp);
}

/** The position of a record, completed from the stored run where the record leaves it out; or the reason why it has none. */
export function placeRecord(
  record: RunRecord,
  known: RunRow | undefined,
  findRow: (id: string) => RunRow | undefined,
): TracePosition | { readonly reason: string } {
  const contradiction = contradicts(record, known);
  if (contradiction !== undefined) {
    return { reason: contradiction };
  }
  if (record.dottedOrder !== undefined) {
    return placeOf(record.dottedOrder);
  }
  if (known !== undefined && known.dottedOrder !== "") {
    return placeOf(known.dottedOrder);
  }
  return record.operation === "post"
    ? createPosition(record, findRow)
    : {
        traceId: record.traceId ?? known?.traceId ?? record.id,
        dottedOrder: "",
        parentRunId: null,
      };
}

function contradicts(record: RunRecord, known: RunRow | undefined): string | undefined {
  const { id, dottedOrder } = record;
  const traceId =
    record.traceId ?? (dottedOrder === undefined ? undefined : placeOf(dottedOrder).traceId);
  // A row without a dotted order stands under a trace id that was only assumed.
  return known === undefined ||
    known.dottedOrder === "" ||
    (traceId ?? known.traceId) === known.traceId
    ? undefined
    : `run ${id} was received before in trace ${known.traceId}, not ${traceId}`;
}

/** The position in a dotted order, which was checked when the run was received. */
function placeOf(dottedOrder: string): TracePosition {
  const end = dottedOrder.lastIndexOf(".");
  return {
    traceId: dottedOrder.slice(stampLength, stampLength + uuidLength),
    dottedOrder,
    parentRunId: end === -1 ? null : dottedOrder.slice(end - uuidLength, end),
  };
}

/**
 * The place of a post without a dotted order. Below a parent that is known it is exact. Below one that
 * is not, the ancestors are the trace's root and the parent, and they get this run's own start, since
 * theirs is unknown.
 */
function createPosition(
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
  const dottedOrder = [...ancestors, id].map((step) => stamp + step).join(".");
  return { traceId, dottedOrder, parentRunId };
}
