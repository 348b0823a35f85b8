import { microsToStamp } from "millrace/model";
import { serverLimits } from "../../model/options.ts";
import type { RunColumns, RunRecord, SpanRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import type { FacetWriter } from "./facet-writer.ts";
import type { RunProjects } from "../run-writer-needs.ts";
import type { SpanRow, SpanRows } from "./span-rows.ts";
import { idOf } from "../../storage/sqlite/tenant-keys.ts";
import type { TenantKeyWriter } from "../../storage/sqlite/tenant-keys.ts";

/** A record of a span. */
export interface SpanRunRecord extends RunRecord {
  readonly span: SpanRecord;
}

/**
 * Finds the place of spans, which come in any order and name only their parent.
 *
 * The run whose id is the trace's is the trace's top: its root; while none is known, the one span
 * that another process is said to have called; else a stand-in without payload, which also stands above
 * several roots. A span whose parent is not known stands directly below the top, and moves with all
 * that is below it when its parent comes.
 */
export class SpanWriter {
  readonly #rows: SpanRows;
  readonly #projects: RunProjects;
  readonly #facets: FacetWriter;
  readonly #keys: TenantKeyWriter;

  constructor({
    rows,
    projects,
    facets,
    keys,
  }: {
    readonly rows: SpanRows;
    readonly projects: RunProjects;
    readonly facets: FacetWriter;
    readonly keys: TenantKeyWriter;
  }) {
    this.#rows = rows;
    this.#projects = projects;
    this.#facets = facets;
    this.#keys = keys;
  }

  /** The record with the key, in place of the id, and the place that its run gets, as far as is known by now. */
  place(tenantId: string, record: SpanRunRecord): RunRecord {
    const { span } = record;
    const known = this.#rows.find(tenantId, span.traceId, span.id);
    if (known !== undefined) {
      return { ...record, id: known.run.id };
    }
    if (span.kind === "placed") {
      return record;
    }
    const topKey = this.#keyOf(tenantId, span.traceId);
    const holder = this.#rows.findByRun(topKey);
    if (holder?.span.parentId === span.id) {
      this.#demote(tenantId, holder);
    }
    return this.#takesTop(tenantId, span, topKey)
      ? { ...record, ...rootPlace(topKey, startOf(record)) }
      : this.#placeBelow(tenantId, record, topKey);
  }

  /** After a record was stored as it was placed: those that wait for it go below it. */
  settle(tenantId: string, { span, columns }: SpanRunRecord, runKey: string): void {
    const run = this.#rows.findRun(runKey);
    if (run === undefined) {
      return;
    }
    const hasProject = namesProject(columns);
    this.#rows.insert(tenantId, { span, hasProject, run });
    const topKey = this.#keyOf(tenantId, span.traceId);
    const children = this.#rows.listChildren(tenantId, span);
    const adopted = run.id === topKey ? this.#rows.listBelow(tenantId, span.traceId, run) : [];
    for (const child of [...adopted, ...children]) {
      this.#putBelow(tenantId, child, run);
    }
    if (children.some((child) => child.run.parentRunId === idOf(topKey))) {
      this.#rows.dropEmpty(tenantId, topKey);
    }
  }

  /** Whether a span becomes the top of its trace, where it may replace the present top. */
  #takesTop(tenantId: string, span: SpanRecord, topKey: string): boolean {
    const isEntry = span.kind === "entry" && this.#parentOf(tenantId, span) === undefined;
    if (span.kind !== "root" && !isEntry) {
      return false;
    }
    const top = this.#rows.findRun(topKey);
    if (top === undefined) {
      return true;
    }
    const holder = this.#rows.findByRun(topKey);
    if (holder === undefined) {
      return !top.posted && !this.#rows.hasRival(tenantId, span, top);
    }
    if (span.kind === "entry" && holder.span.kind === "root") {
      return false;
    }
    this.#demote(tenantId, holder);
    return span.kind !== holder.span.kind;
  }

  #placeBelow(tenantId: string, record: SpanRunRecord, topKey: string): RunRecord {
    const { span, columns } = record;
    const startMicros = startOf(record);
    const parent = this.#parentOf(tenantId, span) ?? this.#standIn(tenantId, record, topKey);
    const endMicros = columns.endMicros ?? startMicros;
    const isWithin = parent.startMicros <= startMicros && endMicros <= (parent.endMicros ?? 0);
    if (parent.id === topKey && !parent.posted && !isWithin) {
      this.#rows.widen(parent, { startMicros, endMicros });
    }
    const key = this.#keyOf(tenantId, record.id);
    const { traceId, dottedOrder, parentRunId } = placeBelow(parent, { id: key, startMicros });
    const projectId = namesProject(columns) ? columns.projectId : parent.projectId;
    return {
      ...record,
      id: key,
      traceId,
      dottedOrder,
      columns: { ...columns, parentRunId, ...(projectId === undefined ? {} : { projectId }) },
    };
  }

  #parentOf(tenantId: string, { traceId, parentId }: SpanRecord): RunRow | undefined {
    return parentId === null ? undefined : this.#rows.find(tenantId, traceId, parentId)?.run;
  }

  /** The top of a trace. A missing one is created, with the name of the span below it. */
  #standIn(tenantId: string, record: SpanRunRecord, topKey: string): RunRow {
    const top = this.#rows.findRun(topKey);
    if (top !== undefined) {
      return top;
    }
    const { columns } = record;
    const named = this.#projects.resolve(tenantId, columns);
    return this.#makeStandIn({
      ...rootPlace(topKey, startOf(record)),
      projectId:
        typeof named === "string"
          ? named
          : this.#projects.defaultId(tenantId, { ...columns, projectId: null, projectName: null }),
      name: columns.name ?? "unnamed",
      startMicros: startOf(record),
      endMicros: columns.endMicros ?? null,
    });
  }

  #makeStandIn(
    run: Pick<
      RunRow,
      "id" | "traceId" | "dottedOrder" | "projectId" | "name" | "startMicros" | "endMicros"
    >,
  ): RunRow {
    const standIn: RunRow = {
      ...run,
      runType: "chain",
      hasError: false,
      parentRunId: null,
      referenceExampleId: null,
      posted: false,
      patched: 0,
      measures: "none",
    };
    this.#rows.insertRun(standIn);
    this.#facets.add(standIn, noFacets);
    return standIn;
  }

  /** The top gets an id of its own, below a stand-in. */
  #demote(tenantId: string, top: SpanRow): void {
    const { run, span } = top;
    const key = this.#keyOf(tenantId, span.id);
    this.#rows.rename(run, key);
    const standIn = this.#makeStandIn(run);
    const below = { ...top, run: { ...run, id: key } };
    this.#putBelow(tenantId, below, standIn);
    for (const child of this.#rows.listChildren(tenantId, span)) {
      const parent = this.#rows.findRun(key);
      if (parent !== undefined) {
        this.#putBelow(tenantId, child, parent);
      }
    }
  }

  /** Puts a run below another, and all below it with it, as far as that changes anything. */
  #putBelow(tenantId: string, row: SpanRow, parent: RunRow): void {
    const waiting: [SpanRow, RunRow][] = [[row, parent]];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [{ run, hasProject, span }, above] = next;
      const place = placeBelow(above, run);
      const placed = { ...run, ...place, projectId: hasProject ? run.projectId : above.projectId };
      // Spans that name one another in a circle stay where they are.
      if (!above.dottedOrder.includes(idOf(run.id)) && isChanged(run, placed)) {
        this.#rows.placeRun(run, placed);
        for (const child of this.#rows.listChildren(tenantId, span)) {
          waiting.push([child, placed]);
        }
      }
    }
  }

  /** The key of a run of the tenant's that is there or is to be. */
  #keyOf(tenantId: string, id: string): string {
    const key = this.#keys.keyOf("run", tenantId, id);
    const run = this.#rows.findRun(key);
    return run === undefined || this.#projects.isOf(tenantId, run.projectId)
      ? key
      : this.#keys.lengthen("run", tenantId, id);
  }
}

/** A stand-in has no payload. */
const noFacets: readonly string[] = [];

type SpanTracePosition = Pick<RunRow, "traceId" | "dottedOrder" | "parentRunId">;

const isChanged = (before: RunRow, after: RunRow): boolean =>
  before.dottedOrder !== after.dottedOrder ||
  before.parentRunId !== after.parentRunId ||
  before.projectId !== after.projectId;

const namesProject = ({ projectName, projectId }: RunColumns): boolean =>
  typeof (projectName ?? projectId) === "string";

const startOf = ({ columns }: RunRecord): number => columns.startMicros ?? Date.now() * 1_000;

const rootPlace = (key: string, startMicros: number) => ({
  id: key,
  traceId: idOf(key),
  dottedOrder: microsToStamp(startMicros) + idOf(key),
});

const segmentLength = 58;

/** Below the parent; below one further up where that would be too deep. */
function placeBelow(
  parent: RunRow,
  { id, startMicros }: Pick<RunRow, "id" | "startMicros">,
): SpanTracePosition {
  const limit = serverLimits.spanDepth * (segmentLength + 1) - 1;
  const above = parent.dottedOrder.slice(0, limit);
  return {
    traceId: parent.traceId,
    dottedOrder: `${above}.${microsToStamp(startMicros)}${idOf(id)}`,
    parentRunId: above.slice(-36),
  };
}
