import type { SpanRecord } from "millrace/spans";
import type { RunRow } from "../run-row.ts";
import type { SpanRow, SpanRows } from "../spans/span-writer.ts";
import type { BatchMerger } from "./batch-merger.ts";

export interface StoredSpan {
  readonly span: SpanRecord;
  readonly hasProject: boolean;
  readonly runId: string;
}

/**
 * The spans of the traces of a batch, and their runs, in memory. `SpanWriter` reads one row at a time, and a query for
 * each row would take too long. The caller holds the locks of the traces.
 */
export class BatchSpans implements SpanRows {
  readonly #merger: BatchMerger;
  readonly #spans = new Map<string, StoredSpan>();
  readonly #children = new Map<string, Set<string>>();
  readonly #keysByRun = new Map<string, string>();
  readonly #changed = new Set<string>();

  constructor(merger: BatchMerger, stored: readonly StoredSpan[]) {
    this.#merger = merger;
    stored.forEach((span) => this.#set(span));
  }

  /** The spans that must be stored. */
  listChanged(): readonly StoredSpan[] {
    return [...this.#changed].flatMap((key) => this.#spans.get(key) ?? []);
  }

  find(_tenantId: string, traceId: string, id: string): SpanRow | undefined {
    return this.#toRow(toKey(traceId, id));
  }

  findByRun(runId: string): SpanRow | undefined {
    const key = this.#keysByRun.get(runId);
    return key === undefined ? undefined : this.#toRow(key);
  }

  listChildren(_tenantId: string, { traceId, id }: SpanRecord): readonly SpanRow[] {
    const keys = this.#children.get(toKey(traceId, id)) ?? [];
    return [...keys].flatMap((key) => this.#toRow(key) ?? []);
  }

  listChildrenOfRun(_tenantId: string, traceId: string, run: RunRow): readonly SpanRow[] {
    return this.#listOfTrace(traceId).filter(
      (row) => row.run.traceId === run.traceId && row.run.parentRunId === run.id,
    );
  }

  hasCompetitor(_tenantId: string, { traceId, id, kind }: SpanRecord, top: RunRow): boolean {
    return this.#listOfTrace(traceId).some(
      ({ run, span }) =>
        run.parentRunId === top.id &&
        (span.kind === "root" ||
          (span.kind === "entry" && kind === "entry" && span.parentId !== id)),
    );
  }

  insert(_tenantId: string, { span, hasProject, run }: SpanRow): void {
    this.#set({ span, hasProject, runId: run.id });
    this.#changed.add(toKey(span.traceId, span.id));
  }

  findRun(id: string): RunRow | undefined {
    return this.#merger.findRow(id);
  }

  insertRun(run: RunRow): void {
    this.#merger.insertRow(run);
  }

  placeRun(_previous: RunRow, run: RunRow): void {
    const { traceId, dottedOrder, parentRunId, projectId } = run;
    this.#merger.updateRow(run.id, { traceId, dottedOrder, parentRunId, projectId });
  }

  changeRunId({ id }: RunRow, newId: string): void {
    this.#merger.renameRow(id, newId);
    const key = this.#keysByRun.get(id);
    const span = key === undefined ? undefined : this.#spans.get(key);
    if (key !== undefined && span !== undefined) {
      this.#keysByRun.delete(id);
      this.#set({ ...span, runId: newId });
      this.#changed.add(key);
    }
  }

  extendTimes(
    { id }: RunRow,
    { startMicros, endMicros }: { readonly startMicros: number; readonly endMicros: number },
  ): void {
    const row = this.#merger.findRow(id);
    if (row !== undefined && !row.posted) {
      this.#merger.updateRow(id, {
        startMicros: Math.min(row.startMicros, startMicros),
        endMicros: Math.max(row.endMicros ?? 0, endMicros),
      });
    }
  }

  deleteIfEmpty(_tenantId: string, id: string): void {
    const row = this.#merger.findRow(id);
    if (row !== undefined && !row.posted && row.patchBits === 0) {
      this.#merger.removeRowIfEmpty(row);
    }
  }

  #listOfTrace(traceId: string): readonly SpanRow[] {
    return [...this.#spans].flatMap(([key, { span }]) =>
      span.traceId === traceId ? (this.#toRow(key) ?? []) : [],
    );
  }

  #set(stored: StoredSpan): void {
    const { traceId, id, parentId } = stored.span;
    const key = toKey(traceId, id);
    this.#spans.set(key, stored);
    this.#keysByRun.set(stored.runId, key);
    if (parentId !== null) {
      const parentKey = toKey(traceId, parentId);
      const children = this.#children.get(parentKey) ?? new Set<string>();
      this.#children.set(parentKey, children.add(key));
    }
  }

  /** Returns `undefined` if the run of the span was deleted. */
  #toRow(key: string): SpanRow | undefined {
    const stored = this.#spans.get(key);
    const run = stored && this.#merger.findRow(stored.runId);
    return stored && run && { span: stored.span, hasProject: stored.hasProject, run };
  }
}

const toKey = (traceId: string, id: string): string => `${traceId} ${id}`;
