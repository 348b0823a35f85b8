import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { querySql, runSql, testServerUrl } from "../../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../../tests/support/postgres-stores.ts";
import { StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";
import type { ExampleDraft } from "../../../datasets/examples/example.ts";
import type { AuditEntry } from "../../../model/audit-entry.ts";
import { parseStoreUrl } from "../../../model/store-url.ts";
import type { PromptLocation } from "../../../prompts/prompt.ts";
import { openPostgresStore } from "../../../../dist/store/postgres/postgres-store.js";
import { PostgresConnection } from "../../../storage/postgres/postgres-connection.ts";
import type { MeasuredRuns } from "../../../storage/storage-use.ts";
import { DailyIngest } from "../../../tenants/daily-ingest.ts";
import type { Store } from "../../store.ts";
import { draftDataset } from "../../../../tests/support/dataset-draft.ts";

describe.skipIf(testServerUrl === undefined)("two servers on one PostgreSQL database", () => {
  let fixture: PostgresStores;
  let first: Store;
  let second: Store;
  beforeAll(async () => {
    fixture = await PostgresStores.create();
    // Both find an empty database.
    [first, second] = await Promise.all([fixture.open(), fixture.open()]);
  });
  afterAll(() => fixture.close());

  const createTenant = async (handle: string | null = null): Promise<string> =>
    (await first.write.tenants.create({ handle, displayName: "Test" })).id;

  const createProject = (store: Store, tenantId: string, name: string, id = randomUUID()) =>
    store.write.projects.create(tenantId, {
      id,
      name,
      startMicros: 1,
      endMicros: null,
      description: null,
      extra: null,
      referenceDatasetId: null,
      upsert: false,
    });

  const createDataset = async (tenantId: string, id = randomUUID()): Promise<string> => {
    await first.write.datasets.create(tenantId, draftDataset({ id, name: id }));
    return id;
  };

  /** Calls a function with each store in turn, `count` times, all at the same time. */
  const callAll = <Result>(count: number, call: (store: Store, index: number) => Promise<Result>) =>
    Promise.allSettled(
      Array.from({ length: count }, (_, index) => call(index % 2 === 0 ? first : second, index)),
    );

  const valuesOf = <Value>(results: readonly PromiseSettledResult<Value>[]): readonly Value[] =>
    results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));

  test("have the same default tenant, which exists once", async () => {
    const ids = (await second.read.tenants.list()).map(({ id }) => id);
    expect(first.defaultTenantId).toBe(second.defaultTenantId);
    expect(ids.filter((id) => id === first.defaultTenantId)).toHaveLength(1);
  });

  test("create a project of one name once, and refuse the others", async () => {
    const tenantId = await createTenant();
    const results = await callAll(10, (store) => createProject(store, tenantId, "same"));
    expect(valuesOf(results)).toHaveLength(1);
    expect(results.filter(({ status }) => status === "rejected")).toEqual(
      Array.from({ length: 9 }, () => ({
        status: "rejected",
        reason: expect.objectContaining({ status: 409 }) as unknown,
      })),
    );
  });

  test("number the commits of a prompt without gaps and without a number twice", async () => {
    const handle = `h${randomUUID().slice(0, 8)}`;
    const tenantId = await createTenant(handle);
    const location: PromptLocation = { owner: handle, repo: "greeting" };
    await first.write.prompts.create(tenantId, {
      handle: "greeting",
      repoType: "prompt",
      isPublic: false,
      fields: { description: null, readme: null, tags: [], restrictedMode: false, source: null },
    });
    await first.write.prompts.commit(tenantId, location, {
      manifest: '{"n":0}',
      parent: null,
      description: null,
    });
    const results = await callAll(12, (store, index) =>
      store.write.prompts.commit(tenantId, location, {
        manifest: JSON.stringify({ n: index + 1 }),
        parent: "latest",
        description: null,
      }),
    );
    const rows = await querySql(fixture.database.adminUrl, [
      `SELECT array_agg(number ORDER BY number)::text AS numbers, max(p.commits)::int AS commits
       FROM prompt_commits c JOIN prompts p ON p.id = c.prompt_id WHERE c.tenant_id = '${tenantId}'`,
    ]);
    expect(valuesOf(results)).toHaveLength(12);
    const expected = Array.from({ length: 13 }, (_, index) => index + 1);
    expect(rows).toEqual([{ numbers: `{${expected.join()}}`, commits: 13 }]);
  });

  test("count the examples of a dataset right, and give each write a version of its own", async () => {
    const tenantId = await createTenant();
    const datasetId = await createDataset(tenantId);
    const results = await callAll(12, (store) =>
      store.write.examples.create(tenantId, [draftExample(datasetId), draftExample(datasetId)]),
    );
    expect(valuesOf(results)).toHaveLength(12);
    expect(await second.read.datasets.find(tenantId, datasetId)).toMatchObject({
      exampleCount: 24,
    });
    const asOf = { kind: "tag", tag: "latest" } as const;
    expect(await first.read.datasets.findVersion(tenantId, datasetId, asOf)).toBeDefined();
    const versions = valuesOf(results).map(({ datasets }) => datasets[datasetId]?.micros);
    expect(new Set(versions).size).toBe(12);
  });

  test("claim each job once", async () => {
    const tenantId = await createTenant();
    const jobs = await Promise.all(
      Array.from({ length: 3 }, () =>
        first.write.jobs.create(tenantId, {
          kind: "test",
          title: "t",
          parameters: {},
          total: null,
        }),
      ),
    );
    const claims = await callAll(8, (store, index) =>
      store.write.jobs.claim({
        owner: `runner ${index}`,
        nowMicros: Date.now() * 1_000,
        leaseMicros: 60_000_000,
      }),
    );
    const claimed = valuesOf(claims).flatMap((claim) =>
      claim === undefined ? [] : [claim.job.id],
    );
    expect(claims.every(({ status }) => status === "fulfilled")).toBe(true);
    expect(new Set(claimed).size).toBe(claimed.length);
    expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining(claimed));
    // A server that starts must not take the jobs of one that runs.
    await second.write.jobs.releaseAll("new server");
    expect(
      await second.write.jobs.claim({
        owner: "new server",
        nowMicros: Date.now() * 1_000,
        leaseMicros: 1,
      }),
    ).toSatisfy(
      (claim: Awaited<ReturnType<Store["write"]["jobs"]["claim"]>>) =>
        claim === undefined || !claimed.includes(claim.job.id),
    );
  });

  test("reserve no more than the budget of a day", async () => {
    const tenantId = await createTenant();
    const results = await callAll(10, (store) =>
      store.write.modelSpending.reserve(tenantId, { day: "2026-01-01", dollars: 1, budget: 4 }),
    );
    expect(valuesOf(results)).toHaveLength(4);
    expect(await second.read.modelSpending.read(tenantId, "2026-01-01")).toEqual({
      dollars: 4,
      calls: 4,
    });
  });

  test("let tenants use the same ids, and erase only the rows of the tenant that deletes", async () => {
    const [one, other] = [await createTenant(), await createTenant()];
    const id = randomUUID();
    await createProject(first, one, "of one", id);
    await createProject(second, other, "of other", id);
    expect(await second.read.projects.find(one, id)).toMatchObject({ name: "of one" });
    expect(await first.read.projects.find(other, id)).toMatchObject({ name: "of other" });
    const datasetId = randomUUID();
    await createDataset(one, datasetId);
    await createDataset(other, datasetId);
    await first.write.examples.create(one, [draftExample(datasetId)]);
    await second.write.examples.create(other, [draftExample(datasetId)]);
    await first.write.datasets.deleteMany(one, [datasetId]);
    // Other tests may have left datasets that are to be erased as well.
    while (await second.write.datasets.sweep()) {
      // The next call erases more.
    }
    expect(await first.read.datasets.find(one, datasetId)).toBeUndefined();
    expect(await first.read.datasets.find(other, datasetId)).toMatchObject({ exampleCount: 1 });
    const rows = await querySql(fixture.database.adminUrl, [
      `SELECT tenant_id FROM examples WHERE dataset_id = '${datasetId}'`,
    ]);
    expect(rows).toEqual([{ tenant_id: other }]);
  });

  test("find the dataset of a share's token, and none for another token", async () => {
    const tenantId = await createTenant();
    const datasetId = await createDataset(tenantId);
    const token = await first.write.datasets.share(tenantId, datasetId);
    expect(await second.write.datasets.share(tenantId, datasetId)).toBe(token);
    expect(await second.read.datasets.findShared(token)).toMatchObject({ id: datasetId, tenantId });
    expect(await second.read.datasets.findShared(randomUUID())).toBeUndefined();
  });

  test("search the text of examples, and delete examples with their rows", async () => {
    const tenantId = await createTenant();
    const datasetId = await createDataset(tenantId);
    const wanted = draftExample(datasetId, {
      // `jsonb` can't contain NUL or half of a surrogate pair. A backslash that is escaped begins no escape.
      inputs: String.raw`{"question":"Which\u0000 planet \ud800 is \\u0000 red?"}`,
    });
    await first.write.examples.create(tenantId, [wanted, draftExample(datasetId)]);
    const position = await first.write.datasets.beginIndex(tenantId, datasetId, "latest");
    expect(await first.write.datasets.extendIndex(tenantId, datasetId, position)).toBeUndefined();
    const later = draftExample(datasetId, { inputs: '{"question":"a red, red rose"}' });
    await second.write.examples.create(tenantId, [later]);
    const search = (): Promise<readonly string[]> =>
      second.read.examples
        .search(tenantId, { datasetId, terms: ["red"], limit: 10 })
        .then((examples) => examples.map(({ id }) => id));
    expect((await search()).toSorted()).toEqual([wanted.id, later.id].toSorted());
    await first.write.examples.deleteMany(tenantId, [wanted.id], "hard");
    expect(await search()).toEqual([later.id]);
    const rows = await querySql(fixture.database.adminUrl, [
      `SELECT count(*)::int AS n FROM examples WHERE tenant_id = '${tenantId}'`,
    ]);
    expect(rows).toEqual([{ n: 2 }]);
  });

  test("store who wrote a version of a dataset", async () => {
    const tenantId = await createTenant();
    const datasetId = await createDataset(tenantId);
    const readAuthor = () => second.read.datasets.readVersionAuthor(tenantId, datasetId, null);
    await first.forClient("rule").write.examples.create(tenantId, [draftExample(datasetId)]);
    expect(await readAuthor()).toEqual({ name: null, keyName: null, client: "rule" });
    await first.write.examples.create(tenantId, [draftExample(datasetId)]);
    expect(await readAuthor()).toBeNull();
  });

  test("store the entry of the audit log with the write, and none of a write that failed", async () => {
    const [tenantId, name] = [await createTenant(), `project ${randomUUID()}`];
    const stored: string[] = [];
    const createScoped = (id: string): Store => {
      const entry: AuditEntry = {
        id,
        tenantId,
        atMicros: 1,
        actor: { kind: "open", id: null, name: null },
        address: "::1",
        action: "createProject",
        target: "",
        outcome: "succeeded",
        status: null,
        requestId: "r",
      };
      return first.forRequest({
        tenantId,
        raw: { socket: new Socket() },
        audit: { createEntry: () => entry, markStored: () => void stored.push(id) },
      });
    };
    const [one, other, swept] = [randomUUID(), randomUUID(), randomUUID()];
    const { id: projectId } = await createProject(createScoped(one), tenantId, name);
    await expect(createProject(createScoped(other), tenantId, name)).rejects.toMatchObject({
      status: 409,
    });
    // Erasing rows in the background runs for the tenant of a dataset, or for none.
    await createScoped(swept).write.datasets.sweep();
    expect(stored).toEqual([one, swept]);
    const entries = await second.read.audit.list(tenantId, { tenantId, limit: 10 });
    const targets = new Map(entries.map(({ id, target }) => [id, target]));
    expect(targets).toEqual(
      new Map([
        [one, projectId],
        [swept, ""],
      ]),
    );
    const foreign = await second.read.audit.list(tenantId, {
      tenantId: first.defaultTenantId,
      limit: 200,
    });
    expect(foreign.map(({ id }) => id)).not.toContain(one);
    const all = await second.read.audit.list(tenantId, { tenantId: undefined, limit: 200 });
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([one, swept]));
    await expect(
      runSql(fixture.database.url, [
        "SET millrace.tenant = '*'",
        "UPDATE audit_entries SET actor = 'x'",
      ]),
    ).rejects.toThrow("can not be changed");
  });

  test("count the runs of each tenant", async () => {
    const tenantId = await createTenant();
    const runs = new StoreFixture(first, tenantId);
    await runs.send({ post: [wireRun(), wireRun()] });
    const counts = await second.read.storage.countRuns();
    expect(counts.find((count) => count.tenantId === tenantId)).toEqual({ tenantId, runs: 2 });
  });

  test("share the bytes that a tenant has sent today, and each learns of them with its next exchange", async () => {
    const tenantId = await createTenant();
    const other = await createTenant();
    const [one, two] = [first, second].map((store) => new DailyIngest(store, { intervalMs: 1e9 }));
    for (let turn = 0; turn < 5; turn += 1) {
      one?.add(tenantId, 1_000);
      two?.add(tenantId, 10);
      await Promise.all([one?.exchange(), two?.exchange()]);
    }
    await one?.read(tenantId);
    await two?.read(tenantId);
    await Promise.all([one?.close(), two?.close()]);
    expect([await one?.read(tenantId), await two?.read(tenantId)]).toEqual([5_050, 5_050]);
    const started = new DailyIngest(second, { intervalMs: 1e9 });
    expect([await started.read(tenantId), await started.read(other)]).toEqual([5_050, 0]);
    await started.close();
  });

  test("measure the runs of each tenant, in parts that end between tenants or within one", async () => {
    const tenants = [await createTenant(), await createTenant()];
    for (const tenantId of tenants) {
      const runs = [1, 2, 3].map(() => wireRun({ inputs: { text: "x".repeat(5_000) } }));
      await new StoreFixture(first, tenantId).send({ post: runs });
    }
    const measure = async (limit: number): Promise<readonly (number | undefined)[]> => {
      const bytes = new Map<string, number>();
      let after: string | null = null;
      do {
        const part: MeasuredRuns = await second.read.storage.measureRuns({ after, limit });
        for (const tenant of part.tenants) {
          bytes.set(tenant.tenantId, (bytes.get(tenant.tenantId) ?? 0) + tenant.bytes);
        }
        after = part.next;
      } while (after !== null);
      return tenants.map((tenantId) => bytes.get(tenantId));
    };
    const whole = await measure(100_000);
    expect(whole.every((bytes) => bytes !== undefined && bytes > 15_000)).toBe(true);
    expect(await measure(2)).toEqual(whole);
    expect(await measure(1)).toEqual(whole);
  });

  test("let PostgreSQL compile no query to machine code", async () => {
    const connection = await PostgresConnection.connect(parseStoreUrl(fixture.database.url), {
      applicationName: "test",
      statementMs: 1_000,
    });
    const { rows } = await connection.run({ text: "SHOW jit", values: [] });
    await connection.close();
    expect(rows).toEqual([{ jit: "off" }]);
  });

  test("one of them applies rules and sends webhooks, and the other when that one ends", async () => {
    const third = await PostgresStores.create();
    const [leader, follower] = [await third.open(), await third.open()];
    const tenantId = leader.defaultTenantId;
    await leader.write.webhooks.create(tenantId, { name: "hook", url: "https://a.example/" });
    const [webhook] = await leader.read.webhooks.list(tenantId);
    await leader.write.webhooks.enqueue(tenantId, [
      { id: randomUUID(), webhookId: webhook?.id ?? "", event: "test", data: {} },
    ]);
    const countDue = async (store: Store): Promise<number> =>
      (await store.read.webhooks.listDue(Date.now() * 1_000 + 1_000_000)).due.length;
    await expect.poll(() => countDue(leader)).toBe(1);
    expect(await countDue(follower)).toBe(0);
    let isWoken = false;
    follower.onWake(() => {
      isWoken = true;
    });
    await leader.close();
    await expect.poll(() => countDue(follower), { timeout: 20_000 }).toBe(1);
    expect(isWoken).toBe(true);
    await third.close();
  });

  test("continue after the database has ended all of their connections", async () => {
    const tenantId = await createTenant();
    await createProject(first, tenantId, "before");
    await runSql(fixture.database.adminUrl, [
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    ]);
    await createProject(first, tenantId, "after");
    const query = { limit: 10, offset: 0 };
    const projects = await second.read.projects.list(tenantId, query);
    expect(projects.map(({ name }) => name).toSorted()).toEqual(["after", "before"]);
    expect(await second.read.tenants.hasKeys()).toBe(false);
  });

  test("a query that takes too long is canceled, and its connection is used again", async () => {
    const store = await openPostgresStore(fixture.database.url, {
      dataDir: fixture.folder,
      queryTimeoutMs: 200,
    });
    const tenantId = await createTenant();
    const locked = runSql(fixture.database.adminUrl, [
      "BEGIN; LOCK TABLE projects IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2)",
    ]);
    await expect
      .poll(
        () => store.read.projects.find(tenantId, randomUUID()).catch((cause: unknown) => cause),
        {
          interval: 1,
        },
      )
      .toMatchObject({ status: 408 });
    await locked;
    await expect
      .poll(() => store.read.projects.list(tenantId, { limit: 1, offset: 0 }))
      .toEqual([]);
    await store.close();
  });
});

describe.skipIf(testServerUrl === undefined)("opening the store in PostgreSQL", () => {
  let fixture: PostgresStores;
  beforeAll(async () => {
    fixture = await PostgresStores.create();
    await fixture.open();
  });
  afterAll(() => fixture.close());

  test("needs the key of share links that the first server created", async () => {
    const dataDir = join(fixture.folder, "other");
    await mkdir(dataDir);
    await expect(openPostgresStore(fixture.database.url, { dataDir })).rejects.toMatchObject({
      code: "STORE",
      message: expect.stringContaining("copy the file from the data folder") as string,
    });
  });

  test("reports a refused login and an unknown host without the password", async () => {
    const url = new URL(fixture.database.url);
    url.password = "wrong-secret";
    const open = (): Promise<Store> => openPostgresStore(url.href, { dataDir: fixture.folder });
    url.pathname = "/no_such_database";
    await expect(open()).rejects.toMatchObject({
      code: "STORE",
      message: expect.stringMatching(
        /^PostgreSQL at .*no_such_database refused the connection/,
      ) as string,
    });
    await expect(open()).rejects.not.toThrow("wrong-secret");
  });

  test("tries the hosts in their order until one answers", async () => {
    const { host, ...url } = splitHosts(fixture.database.url);
    const store = await fixture.open(`${url.before}127.0.0.1:1,${host}${url.after}`);
    expect(await store.read.tenants.find(store.defaultTenantId)).toBeDefined();
  });

  test("as a superuser gives up the rights that row-level security does not limit", async () => {
    const { database, folder } = await PostgresStores.create();
    const store = await openPostgresStore(database.adminUrl, { dataDir: folder });
    const id = randomUUID();
    const tenants = await Promise.all(
      ["a", "b"].map((displayName) => store.write.tenants.create({ handle: null, displayName })),
    );
    for (const { id: tenantId } of tenants) {
      await store.write.projects.create(tenantId, {
        id,
        name: tenantId,
        startMicros: 1,
        endMicros: null,
        description: null,
        extra: null,
        referenceDatasetId: null,
        upsert: false,
      });
    }
    const rows = await querySql(database.adminUrl, [
      "SET ROLE millrace_server",
      `SET millrace.tenant = '${tenants[0]?.id}'`,
      "SELECT tenant_id FROM projects",
    ]);
    expect(rows).toEqual([{ tenant_id: tenants[0]?.id }]);
    await store.close();
    await database.drop();
  });
});

test.skipIf(testServerUrl === undefined)(
  "a server erases deleted datasets and uploads that another server left behind, except for uploads of the last day",
  async () => {
    const fixture = await PostgresStores.create();
    onTestFinished(() => fixture.close());
    const { adminUrl } = fixture.database;
    const ended = await fixture.open();
    const tenantId = ended.defaultTenantId;
    const [deleted, abandoned, uploading, stored] = [
      randomUUID(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
    ];
    for (const id of [deleted, stored]) {
      await ended.write.datasets.create(tenantId, draftDataset({ id, name: id }));
      await ended.write.examples.create(tenantId, [draftExample(id)]);
    }
    await ended.write.uploads.begin(tenantId, draftDataset({ id: abandoned, name: abandoned }));
    const nowMicros = Date.now() * 1_000;
    await ended.write.uploads.begin(
      tenantId,
      draftDataset({ id: uploading, name: uploading, createdMicros: nowMicros }),
    );
    await ended.write.datasets.deleteMany(tenantId, [deleted]);
    await ended.close();
    await fixture.open();
    const readIds = (sql: string): Promise<unknown> =>
      querySql(adminUrl, [sql]).then((rows) => rows.map(({ id }) => id));
    await expect
      .poll(() => readIds("SELECT id FROM datasets ORDER BY id"))
      .toEqual([uploading, stored].toSorted());
    expect(await readIds("SELECT dataset_id AS id FROM examples")).toEqual([stored]);
  },
);

const draftExample = (datasetId: string, rest: Partial<ExampleDraft> = {}): ExampleDraft => ({
  id: randomUUID(),
  hasGeneratedId: true,
  datasetId,
  sourceRunId: null,
  inputs: '{"question":"why"}',
  outputs: null,
  metadata: "{}",
  ...rest,
});

/** Divides a URL at its host and port. */
function splitHosts(url: string): {
  readonly before: string;
  readonly host: string;
  readonly after: string;
} {
  const { host } = new URL(url);
  const index = url.lastIndexOf(host);
  return { before: url.slice(0, index), host, after: url.slice(index + host.length) };
}
