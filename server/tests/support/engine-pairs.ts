import { expect, vi } from "vitest";
import type { FeedbackDraft } from "../../src/runs/run-feedback.ts";
import { parseBatch, parseOneRun } from "../../src/runs/ingest/parse-batch.ts";
import type { IngestResult, RunBatch } from "../../src/runs/run-record.ts";
import type { RunSearch } from "../../src/runs/run-list.ts";
import type { RunFilter, RunQuery } from "../../src/runs/run-query.ts";
import type { StoredRun } from "../../src/runs/run-row.ts";
import { toRunJson } from "../../src/runs/serializers/run-json.ts";
import { createFeedbackDraft } from "./feedback-draft.ts";
import { FilterFixture } from "./filter-fixture.ts";
import { openPglite, openRunStore } from "./postgres-run-store.ts";
import type { PostgresRunStore } from "./postgres-run-store.ts";
import type { PgliteClient } from "./repository-engines.ts";
import type { WireObject } from "./store-fixture.ts";
import { someMicros } from "./wire-runs.ts";

/** SQLite and PostgreSQL, each with a database in memory. */
export class EnginePairs {
  readonly sqlite: FilterFixture;
  readonly postgres: PostgresRunStore;
  readonly #client: PgliteClient;

  private constructor(client: PgliteClient) {
    this.#client = client;
    this.postgres = openRunStore(client);
    this.sqlite = new FilterFixture();
  }

  static async open(): Promise<EnginePairs> {
    // Runs without a start begin when they arrive, which must be at the same time.
    vi.useFakeTimers({ toFake: ["Date"], now: someMicros / 1_000 + 60_000 });
    return new EnginePairs(await openPglite());
  }

  async create(): Promise<EnginePair> {
    const { id } = await this.sqlite.writers.tenants.create({ handle: null, displayName: "pair" });
    return new EnginePair(this, id);
  }

  async close(): Promise<void> {
    vi.useRealTimers();
    await this.#client.close();
  }
}

/** The two stores of a tenant, which receive the same requests. */
export class EnginePair {
  readonly tenantId: string;
  readonly #engines: EnginePairs;

  constructor(engines: EnginePairs, tenantId: string) {
    this.#engines = engines;
    this.tenantId = tenantId;
  }

  /** Stores a batch on both engines, and returns the result, which must be the same. */
  async store(parse: () => RunBatch): Promise<IngestResult> {
    const result = await this.#engines.postgres.ingest(this.tenantId, parse());
    expectSame(result, this.#engines.sqlite.writers.runs.apply(this.tenantId, parse()));
    return result;
  }

  send(batch: { readonly post?: readonly unknown[]; readonly patch?: readonly unknown[] }) {
    return this.store(() => parseBatch(Buffer.from(JSON.stringify(batch))).batch);
  }

  sendOne(operation: "post" | "patch", run: WireObject, pathId?: string) {
    const rules = { position: "optional", ...(pathId === undefined ? {} : { pathId }) } as const;
    return this.store(() => parseOneRun(Buffer.from(JSON.stringify(run)), operation, rules).batch);
  }

  /** Stores a batch on PostgreSQL alone. */
  sendPostgres(batch: { readonly post: readonly unknown[] }): Promise<IngestResult> {
    const { batch: parsed } = parseBatch(Buffer.from(JSON.stringify(batch)));
    return this.#engines.postgres.ingest(this.tenantId, parsed);
  }

  /** Stores feedback on both engines. */
  sendFeedback(...drafts: readonly Partial<FeedbackDraft>[]): Promise<IngestResult> {
    const feedback = drafts.map((members) =>
      createFeedbackDraft({ runId: null, key: "quality", ...members }),
    );
    return this.store(() => ({ records: [], attachments: [], feedback, bodies: new Uint8Array() }));
  }

  /** The ids of a project on both engines. */
  async findProject(name: string): Promise<{ readonly sqlite: string; readonly postgres: string }> {
    const query = { name, limit: 1, offset: 0 };
    const [[one], [other]] = await Promise.all([
      this.#engines.sqlite.readers.projects.list(this.tenantId, query),
      this.#engines.postgres.read.projects.list(this.tenantId, query),
    ]);
    return { sqlite: one?.id ?? "", postgres: other?.id ?? "" };
  }

  /** Runs a query of the UI's list in a project, and expects the same result. */
  async searchSame(
    project: { readonly sqlite: string; readonly postgres: string },
    search: Omit<RunSearch, "projectId">,
  ): Promise<readonly string[]> {
    const one = this.#engines.sqlite.readers.runLists.search(this.tenantId, {
      ...search,
      projectId: project.sqlite,
    });
    const other = await this.#engines.postgres.read.runLists.search(this.tenantId, {
      ...search,
      projectId: project.postgres,
    });
    expectSame(other.runs.map(describeRun), one.runs.map(describeRun));
    return other.runs.map(({ row }) => row.name);
  }

  async querySame(filter: RunFilter, rest: Partial<RunQuery> = {}): Promise<readonly StoredRun[]> {
    const query = { filter, order: "asc", limit: 100, withChildren: true, ...rest } as const;
    const one = this.#engines.sqlite.readers.runs.query(this.tenantId, query);
    const other = await this.#engines.postgres.read.runs.query(this.tenantId, query);
    expectSame(other.runs.map(describeRun), one.runs.map(describeRun));
    expectSame(other.nextPosition, one.nextPosition);
    return other.runs;
  }
}

const expectSame = (postgres: unknown, sqlite: unknown): void => {
  expect(postgres).toEqual(sqlite);
};

/** Everything that is stored of a run, except for the id of its project. */
function describeRun(run: StoredRun): unknown {
  const { projectId: _project, name, ...row } = run.row;
  const {
    session_id: _session,
    app_path: _path,
    ...json
  } = JSON.parse(toRunJson(run).toString()) as WireObject;
  return {
    row,
    // SQLite reads a text without lone surrogates, and up to a NUL; what was received is in the JSON.
    name: name.toWellFormed().split("\0")[0],
    json,
    project: run.projectName,
    cost: run.cost,
    attachments: run.attachments,
    children: [run.childRunIds, run.directChildRunIds],
  };
}
