import { microsToStamp } from "millrace/model";
import { serverLimits } from "../../model/options.ts";
import type { SpanRecord } from "millrace/spans";
import type { RunColumns, RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import type { RunProjects } from "../run-writer-dependencies.ts";
import { idOf } from "../../storage/row-keys.ts";

/** A run that was received as a span. */
export interface SpanRunRecord extends RunRecord {
  readonly span: SpanRecord;
}

/** A received span, and the run that was created from it. */
export interface SpanRow {
  readonly span: SpanRecord;
  /** Whether the span contains the name of a project. */
  readonly hasProject: boolean;
  readonly run: RunRow;
}

/** The rows of spans, and of the runs that were created from them. */
export interface SpanRows {
  find(tenantId: string, traceId: string, id: string): SpanRow | undefined;
  findByRun(runId: string): SpanRow | undefined;
  /** Returns the spans that name this span as their parent. */
  listChildren(tenantId: string, span: SpanRecord): readonly SpanRow[];
  /** Returns the spans of a trace whose runs are direct children of a run. */
  listChildrenOfRun(tenantId: string, traceId: string, run: RunRow): readonly SpanRow[];
  /**
   * Whether another span below `top` could replace it as well as `span`. `top` is the placeholder at the top of a
   * trace. It is shown until the span that began the trace is known. This is a root span or, if there is none, an entry
   * span (one whose parent belongs to another process).
   */
  hasCompetitor(tenantId: string, span: SpanRecord, top: RunRow): boolean;
  insert(tenantId: string, row: SpanRow): void;
  findRun(id: string): RunRow | undefined;
  insertRun(run: RunRow): void;
  /** Changes the position of a run in its trace, or moves it to another trace. */
  placeRun(previous: RunRow, run: RunRow): void;
  /** Changes the id of a run in all tables. */
  changeRunId(run: RunRow, newId: string): void;
  /** Extends the times of a placeholder to include those of a run below it. */
  extendTimes(
    placeholder: RunRow,
    times: { readonly startMicros: number; readonly endMicros: number },
  ): void;
  /** Deletes a placeholder if no run is below it any more. */
  deleteIfEmpty(tenantId: string, key: string): void;
}

/** The dependencies of {@link SpanWriter}. */
export interface SpanDependencies {
  readonly rows: SpanRows;
  readonly projects: Pick<RunProjects, "resolve" | "resolveDefault" | "belongsTo">;
  readonly facets: { add(run: RunRow, facets: readonly string[]): void };
  readonly keys: {
    keyOf(kind: "run", tenantId: string, id: string): string;
    assignQualifiedKey(kind: "run", tenantId: string, id: string): string;
  };
}

/**
 * Determines the positions of spans in their traces. Spans arrive in any order and name only their parent.
 *
 * The run whose id is the trace id is the top run of the trace. Normally the root span is the top run. While the root
 * span is missing, the top run is the only span whose parent belongs to another process; if there is no such span, the
 * top run is a placeholder without a payload. If there are several root spans, a placeholder is their parent. A span
 * whose parent is missing is placed directly below the top run, and moves with its descendants when the parent arrives.
 */
export class SpanWriter {
  readonly #rows: SpanRows;
  readonly #projects: SpanDependencies["projects"];
  readonly #facets: SpanDependencies["facets"];
  readonly #keys: SpanDependencies["keys"];

  constructor({ rows, projects, facets, keys }: SpanDependencies) {
    this.#rows = rows;
    this.#projects = projects;
    this.#facets = facets;
    this.#keys = keys;
  }

  /**
   * Returns the record with the run's database key in place of its id, and with the position that follows from the
   * spans received so far.
   */
  resolvePosition(tenantId: string, record: SpanRunRecord): RunRecord {
    const { span } = record;
    const existing = this.#rows.find(tenantId, span.traceId, span.id);
    if (existing !== undefined) {
      return { ...record, id: existing.run.id };
    }
    if (span.kind === "placed") {
      return record;
    }
    const rootRunKey = this.#findOrAssignKey(tenantId, span.traceId);
    const rootSpan = this.#rows.findByRun(rootRunKey);
    if (rootSpan?.span.parentId === span.id) {
      this.#replaceTop(tenantId, rootSpan);
    }
    return this.#claimRoot(tenantId, span, rootRunKey)
      ? { ...record, ...createRootPosition(rootRunKey, readStart(record)) }
      : this.#placeBelow(tenantId, record, rootRunKey);
  }

  /**
   * Must be called after a span's record was stored at its position. If children of the span arrived before it, moves
   * them below the span's run.
   */
  moveChildren(tenantId: string, { span, columns }: SpanRunRecord, runKey: string): void {
    const run = this.#rows.findRun(runKey);
    if (run === undefined) {
      return;
    }
    const hasProject = namesProject(columns);
    this.#rows.insert(tenantId, { span, hasProject, run });
    const rootRunKey = this.#findOrAssignKey(tenantId, span.traceId);
    const children = this.#rows.listChildren(tenantId, span);
    const topChildren =
      run.id === rootRunKey ? this.#rows.listChildrenOfRun(tenantId, span.traceId, run) : [];
    for (const child of [...topChildren, ...children]) {
      this.#moveBelow(tenantId, child, run);
    }
    if (children.some((child) => child.run.parentRunId === idOf(rootRunKey))) {
      this.#rows.deleteIfEmpty(tenantId, rootRunKey);
    }
  }

  /** Returns whether a span becomes the top run of its trace, and replaces the current top run if necessary. */
  #claimRoot(tenantId: string, span: SpanRecord, rootRunKey: string): boolean {
    const isEntry = span.kind === "entry" && this.#findParent(tenantId, span) === undefined;
    if (span.kind !== "root" && !isEntry) {
      return false;
    }
    const top = this.#rows.findRun(rootRunKey);
    if (top === undefined) {
      return true;
    }
    const rootSpan = this.#rows.findByRun(rootRunKey);
    if (rootSpan === undefined) {
      return !top.posted && !this.#rows.hasCompetitor(tenantId, span, top);
    }
    if (span.kind === "entry" && rootSpan.span.kind === "root") {
      return false;
    }
    this.#replaceTop(tenantId, rootSpan);
    return span.kind !== rootSpan.span.kind;
  }

  #placeBelow(tenantId: string, record: SpanRunRecord, rootRunKey: string): RunRecord {
    const { span, columns } = record;
    const startMicros = readStart(record);
    const parent =
      this.#findParent(tenantId, span) ?? this.#ensureTop(tenantId, record, rootRunKey);
    const endMicros = columns.endMicros ?? startMicros;
    const isWithin = parent.startMicros <= startMicros && endMicros <= (parent.endMicros ?? 0);
    if (parent.id === rootRunKey && !parent.posted && !isWithin) {
      this.#rows.extendTimes(parent, { startMicros, endMicros });
    }
    const key = this.#findOrAssignKey(tenantId, record.id);
    const { traceId, dottedOrder, parentRunId } = createChildPosition(parent, {
      id: key,
      startMicros,
    });
    const projectId = namesProject(columns) ? columns.projectId : parent.projectId;
    return {
      ...record,
      id: key,
      traceId,
      dottedOrder,
      columns: { ...columns, parentRunId, ...(projectId === undefined ? {} : { projectId }) },
    };
  }

  #findParent(tenantId: string, { traceId, parentId }: SpanRecord): RunRow | undefined {
    return parentId === null ? undefined : this.#rows.find(tenantId, traceId, parentId)?.run;
  }

  /**
   * Returns the top run of a trace. If it is missing, inserts a placeholder with the name of the span that is placed
   * below it.
   */
  #ensureTop(tenantId: string, record: SpanRunRecord, rootRunKey: string): RunRow {
    const top = this.#rows.findRun(rootRunKey);
    if (top !== undefined) {
      return top;
    }
    const { columns } = record;
    const resolvedProjectId = this.#projects.resolve(tenantId, columns);
    return this.#insertPlaceholder({
      ...createRootPosition(rootRunKey, readStart(record)),
      projectId:
        typeof resolvedProjectId === "string"
          ? resolvedProjectId
          : this.#projects.resolveDefault(tenantId, {
              ...columns,
              projectId: null,
              projectName: null,
            }),
      name: columns.name ?? "unnamed",
      startMicros: readStart(record),
      endMicros: columns.endMicros ?? null,
    });
  }

  #insertPlaceholder(
    run: Pick<
      RunRow,
      "id" | "traceId" | "dottedOrder" | "projectId" | "name" | "startMicros" | "endMicros"
    >,
  ): RunRow {
    const placeholder: RunRow = {
      ...run,
      runType: "chain",
      hasError: false,
      parentRunId: null,
      referenceExampleId: null,
      posted: false,
      patchBits: 0,
      measureState: "none",
    };
    this.#rows.insertRun(placeholder);
    this.#facets.add(placeholder, noPayloadFacets);
    return placeholder;
  }

  /**
   * Replaces the top run by a placeholder. The replaced run gets an id of its own and moves below the placeholder.
   */
  #replaceTop(tenantId: string, top: SpanRow): void {
    const { run, span } = top;
    const key = this.#findOrAssignKey(tenantId, span.id);
    this.#rows.changeRunId(run, key);
    const placeholder = this.#insertPlaceholder(run);
    const replacedSpan = { ...top, run: { ...run, id: key } };
    this.#moveBelow(tenantId, replacedSpan, placeholder);
    for (const child of this.#rows.listChildren(tenantId, span)) {
      const parent = this.#rows.findRun(key);
      if (parent !== undefined) {
        this.#moveBelow(tenantId, child, parent);
      }
    }
  }

  /** Moves a run and its descendants below another run. Runs whose position does not change are not written. */
  #moveBelow(tenantId: string, row: SpanRow, parent: RunRow): void {
    const pendingMoves: [SpanRow, RunRow][] = [[row, parent]];
    for (let nextMove = pendingMoves.pop(); nextMove !== undefined; nextMove = pendingMoves.pop()) {
      const [{ run, hasProject, span }, newParent] = nextMove;
      const position = createChildPosition(newParent, run);
      const movedRun = {
        ...run,
        ...position,
        projectId: hasProject ? run.projectId : newParent.projectId,
      };
      // If spans name each other as parents in a cycle, they are not moved.
      if (!newParent.dottedOrder.includes(idOf(run.id)) && hasMoved(run, movedRun)) {
        this.#rows.placeRun(run, movedRun);
        for (const child of this.#rows.listChildren(tenantId, span)) {
          pendingMoves.push([child, movedRun]);
        }
      }
    }
  }

  /**
   * Returns the database key of a run of the tenant, whether the run exists or not. If the id belongs to another
   * tenant's run, assigns a key that contains the tenant id, too.
   */
  #findOrAssignKey(tenantId: string, id: string): string {
    const key = this.#keys.keyOf("run", tenantId, id);
    const run = this.#rows.findRun(key);
    return run === undefined || this.#projects.belongsTo(tenantId, run.projectId)
      ? key
      : this.#keys.assignQualifiedKey("run", tenantId, id);
  }
}

const noPayloadFacets: readonly string[] = [];

type SpanTracePosition = Pick<RunRow, "traceId" | "dottedOrder" | "parentRunId">;

const hasMoved = (previous: RunRow, next: RunRow): boolean =>
  previous.dottedOrder !== next.dottedOrder ||
  previous.parentRunId !== next.parentRunId ||
  previous.projectId !== next.projectId;

const namesProject = ({ projectName, projectId }: RunColumns): boolean =>
  typeof (projectName ?? projectId) === "string";

const readStart = ({ columns }: RunRecord): number => columns.startMicros ?? Date.now() * 1_000;

const createRootPosition = (key: string, startMicros: number) => ({
  id: key,
  traceId: idOf(key),
  dottedOrder: microsToStamp(startMicros) + idOf(key),
});

const segmentLength = 58;

/** Returns the position below a parent, or below one of the parent's ancestors if the trace would become too deep. */
function createChildPosition(
  parent: RunRow,
  { id, startMicros }: Pick<RunRow, "id" | "startMicros">,
): SpanTracePosition {
  const maxParentOrderLength = serverLimits.spanDepth * (segmentLength + 1) - 1;
  const newParentOrder = parent.dottedOrder.slice(0, maxParentOrderLength);
  return {
    traceId: parent.traceId,
    dottedOrder: `${newParentOrder}.${microsToStamp(startMicros)}${idOf(id)}`,
    parentRunId: newParentOrder.slice(-36),
  };
}
