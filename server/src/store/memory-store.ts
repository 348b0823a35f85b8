import { randomUUID } from "node:crypto";
import { defaultProjectName, mergeRecord, placeRecord } from "./merge.ts";
import type { IngestResult, Rejection, RunBatch, RunRecord } from "./run-record.ts";
import type { RunRow, StoredRun } from "./run-row.ts";
import { MemoryProjects } from "./memory-projects.ts";
import type {
  Project,
  ProjectChanges,
  ProjectDraft,
  ProjectFate,
  ProjectQuery,
} from "./project.ts";
import type { RunFilter, RunPage, RunQuery, RunStatistics, Store } from "./run-store.ts";
import { matchesFilter } from "./run-filter.ts";

interface Kept {
  row: RunRow;
  /** By digest; the post's is empty. */
  readonly bodies: Map<string, Buffer>;
}

/** Keeps everything in memory: for tests, and for `dataDir: ":memory:"`. */
export class MemoryStore implements Store {
  readonly tenantId = randomUUID();
  readonly tenantMicros = Date.now() * 1_000;
  readonly #runs = new Map<string, Kept>();
  readonly #projects = new MemoryProjects(this.tenantId);
  readonly #tokens = new Map<string, string>();

  async ingest({ records, attachments, bodies }: RunBatch): Promise<IngestResult> {
    let accepted = 0;
    let duplicates = 0;
    const rejected: Rejection[] = [];
    for (const record of records) {
      const fate = this.#apply(record, bodies);
      accepted += fate === "accepted" ? 1 : 0;
      duplicates += fate === "duplicate" ? 1 : 0;
      if (typeof fate === "object") {
        rejected.push({ id: record.id, operation: record.operation, ...fate });
      }
    }
    for (const { runId, name } of attachments) {
      if (!this.#runs.has(runId)) {
        const reason = `attachment ${name}: run ${runId} was not received`;
        rejected.push({ id: runId, operation: null, reason });
      }
    }
    return { accepted, duplicates, rejected };
  }

  async findRun(id: string): Promise<StoredRun | undefined> {
    const kept = this.#runs.get(id);
    return kept === undefined ? undefined : this.#toRun(kept, "withChildren");
  }

  async queryRuns({ filter, order, limit, after, withChildren }: RunQuery): Promise<RunPage> {
    const sign = order === "asc" ? 1 : -1;
    const found = this.#select(filter)
      .filter(({ row }) => after === undefined || sign * compare(row, after) > 0)
      .toSorted((left, right) => sign * compare(left.row, right.row));
    const children = withChildren ? "withChildren" : "alone";
    const runs = found.slice(0, limit).map((kept) => this.#toRun(kept, children));
    const last = found.length > limit ? runs.at(-1)?.row : undefined;
    return last === undefined
      ? { runs }
      : { runs, next: { startMicros: last.startMicros, id: last.id } };
  }

  async runStatistics(filter: RunFilter): Promise<RunStatistics> {
    const rows = this.#select(filter).map(({ row }) => row);
    const latencies = rows
      .flatMap(({ startMicros, endMicros }) =>
        endMicros === null ? [] : [endMicros - startMicros],
      )
      .toSorted((left, right) => left - right);
    const quantile = (share: number): number | null => {
      const micros = latencies[Math.max(0, Math.ceil(latencies.length * share) - 1)];
      return micros === undefined ? null : micros / 1_000_000;
    };
    return {
      runCount: rows.length,
      errorCount: rows.filter(({ hasError }) => hasError).length,
      latencyP50: quantile(0.5),
      latencyP99: quantile(0.99),
      lastStartMicros: rows.reduce<number | null>(
        (latest, { startMicros }) => Math.max(latest ?? startMicros, startMicros),
        null,
      ),
    };
  }

  async shareRun(id: string): Promise<string | undefined> {
    if (!this.#runs.has(id)) {
      return undefined;
    }
    const token = this.#tokens.get(id) ?? randomUUID();
    this.#tokens.set(id, token);
    return token;
  }

  async unshareRun(id: string): Promise<void> {
    this.#tokens.delete(id);
  }

  async findSharedRun(token: string): Promise<StoredRun | undefined> {
    const entry = [...this.#tokens].find(([, known]) => known === token);
    return entry === undefined ? undefined : this.findRun(entry[0]);
  }

  async listProjects(query: ProjectQuery): Promise<readonly Project[]> {
    return this.#projects.list(query);
  }

  async findProject(id: string): Promise<Project | undefined> {
    return this.#projects.find(id);
  }

  async createProject(draft: ProjectDraft): Promise<ProjectFate> {
    return this.#projects.create(draft);
  }

  async updateProject(id: string, changes: ProjectChanges): Promise<ProjectFate> {
    return this.#projects.update(id, changes);
  }

  async deleteProject(id: string): Promise<boolean> {
    for (const [runId, { row }] of this.#runs) {
      if (row.projectId === id) {
        this.#runs.delete(runId);
        this.#tokens.delete(runId);
      }
    }
    return this.#projects.delete(id);
  }

  async close(): Promise<void> {
    this.#runs.clear();
  }

  #apply(
    record: RunRecord,
    bodies: Uint8Array,
  ): "accepted" | "duplicate" | { readonly reason: string } {
    const known = this.#runs.get(record.id);
    const place = placeRecord(record, known?.row, (id) => this.#runs.get(id)?.row);
    if ("reason" in place) {
      return place;
    }
    if (known?.bodies.has(record.digest) === true) {
      return "duplicate";
    }
    const { projectId, projectName } = record.columns;
    if (typeof projectId === "string" && this.#projects.find(projectId) === undefined) {
      return { reason: `session_id: there is no project ${projectId}` };
    }
    const named =
      projectId ?? (typeof projectName === "string" ? this.#projects.idOf(projectName) : undefined);
    const row = mergeRecord(known?.row, record, {
      place,
      ...(named === undefined ? {} : { projectId: named }),
      defaultProjectId: known?.row.projectId ?? named ?? this.#projects.idOf(defaultProjectName),
      nowMicros: Date.now() * 1_000,
    });
    const body = Buffer.from(bodies.subarray(record.bodyStart, record.bodyEnd));
    const kept = known ?? { row, bodies: new Map<string, Buffer>() };
    kept.row = row;
    kept.bodies.set(record.digest, body);
    this.#runs.set(record.id, kept);
    return "accepted";
  }

  #select(filter: RunFilter): Kept[] {
    return [...this.#runs.values()].filter(({ row, bodies }) =>
      matchesFilter(filter, row, bodies.values()),
    );
  }

  #toRun({ row, bodies }: Kept, children: "withChildren" | "alone"): StoredRun {
    const post = bodies.get("");
    const patches = [...bodies].filter(([digest]) => digest !== "").map(([, body]) => body);
    const below = this.#descendants(row);
    const direct = below.filter(({ parentRunId }) => parentRunId === row.id);
    const isAlone = children === "alone";
    return {
      row,
      projectName: this.#projects.find(row.projectId)?.name ?? "",
      bodies: post === undefined ? patches : [post, ...patches],
      shareToken: this.#tokens.get(row.id) ?? null,
      childRunIds: isAlone ? null : below.map(({ id }) => id),
      directChildRunIds: isAlone ? null : direct.map(({ id }) => id),
    };
  }

  #descendants({ dottedOrder }: RunRow): RunRow[] {
    return [...this.#runs.values()]
      .map(({ row }) => row)
      .filter((row) => dottedOrder !== "" && row.dottedOrder.startsWith(`${dottedOrder}.`))
      .toSorted((left, right) => (left.dottedOrder < right.dottedOrder ? -1 : 1));
  }
}

function compare(
  left: { startMicros: number; id: string },
  right: { startMicros: number; id: string },
): number {
  if (left.startMicros !== right.startMicros) {
    return left.startMicros - right.startMicros;
  }
  if (left.id === right.id) {
    return 0;
  }
  return left.id < right.id ? -1 : 1;
}
