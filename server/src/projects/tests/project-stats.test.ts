import { expect, test } from "vitest";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import type { RunStatistics } from "../../runs/run-query.ts";
import { usageNames } from "../../runs/usage/usage-sources.ts";
import { addStats } from "../project-stats.ts";
import type { StatsStore } from "../project-stats.ts";
import type { Project } from "../project.ts";

const none = { count: 0, sum: 0, p50: null, p99: null };
const someStatistics = {
  runCount: 3,
  errorCount: 0,
  lastStartMicros: null,
  latency: none,
  firstToken: none,
  ...Object.fromEntries(usageNames.map((name) => [name, none])),
} as unknown as RunStatistics;

const createProject = (id: string, referenceDatasetId: string | null = null): Project => ({
  id,
  tenantId: "t",
  name: id,
  description: null,
  startMicros: 0,
  endMicros: null,
  extra: null,
  referenceDatasetId,
});

/** A store that notes what is read of which project, where reading takes a time or fails. */
class FakeStore implements StatsStore {
  readonly calls: string[] = [];
  nowMs = 0;
  readonly #readMs: number;
  readonly #failing: ReadonlyMap<string, number>;
  #running = 0;
  mostRunning = 0;

  constructor(readMs = 0, failing: Readonly<Record<string, number>> = {}) {
    this.#readMs = readMs;
    this.#failing = new Map(Object.entries(failing));
  }

  readonly read: StatsStore["read"] = {
    runs: {
      readProjectStatistics: (_tenantId, { projectId, hasResults }) =>
        this.#note(`${hasResults ? "results" : "runs"} of ${projectId}`, async () => {
          this.nowMs += this.#readMs;
          const status = this.#failing.get(projectId);
          if (status !== undefined) {
            throw new RequestError(status, "some reason");
          }
          return someStatistics;
        }),
    },
    feedback: {
      statsOfProjectRuns: (_tenantId, ids) =>
        this.#note(`feedback of ${ids.join()}`, async () => new Map()),
      statsOfProjects: (_tenantId, ids) =>
        this.#note(`feedback on ${ids.join()}`, async () => new Map()),
    },
  };

  async #note<Result>(call: string, perform: () => Promise<Result>): Promise<Result> {
    this.calls.push(call);
    this.#running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.#running);
    await Promise.resolve();
    this.#running -= 1;
    return perform();
  }
}

const add = (store: FakeStore, projects: readonly Project[]) =>
  addStats({ store, tenantId: "t" }, projects, () => store.nowMs);

test("each project is read once, one after the other", async () => {
  const store = new FakeStore();
  const projects = [createProject("a"), createProject("b", "d"), createProject("c", "d")];
  const results = await add(store, projects);
  expect(store.calls).toEqual([
    "feedback on a,b,c",
    "runs of a",
    "feedback of a",
    "results of b",
    "feedback of b",
    "results of c",
    "feedback of c",
  ]);
  expect(store.mostRunning).toBe(2);
  expect(results).toMatchObject(projects.map(({ id }) => ({ id, run_count: 3 })));
  expect(results.some((result) => "stats_complete" in result)).toBe(false);
});

test("when the time is over, the other projects say that their statistics are missing", async () => {
  const store = new FakeStore(serverLimits.projectStatsMs / 2);
  const results = await add(
    store,
    ["a", "b", "c", "d"].map((id) => createProject(id)),
  );
  expect(results).toMatchObject([
    { id: "a", run_count: 3 },
    { id: "b", run_count: 3 },
    { id: "c", stats_complete: false },
    { id: "d", stats_complete: false },
  ]);
  expect(results[2]).not.toHaveProperty("run_count");
  expect(store.calls).not.toContain("runs of c");
});

test("a project that is too slow does not fail the others, unless it is the first", async () => {
  const projects = ["a", "b", "c"].map((id) => createProject(id));
  expect(await add(new FakeStore(0, { b: 408 }), projects)).toMatchObject([
    { id: "a", run_count: 3 },
    { id: "b", stats_complete: false },
    { id: "c", run_count: 3 },
  ]);
  await expect(add(new FakeStore(0, { a: 408 }), projects)).rejects.toMatchObject({ status: 408 });
  await expect(add(new FakeStore(0, { b: 503 }), projects)).rejects.toMatchObject({ status: 503 });
});
