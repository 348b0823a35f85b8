import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  describeRepositories,
  otherId,
  strangeText,
  tenantId,
} from "../../../tests/support/repository-fixture.ts";
import type { RepositoryFixture } from "../../../tests/support/repository-fixture.ts";
import { exportJobKind, jobLimits } from "../job.ts";
import { jobQueries } from "../job-queries.ts";
import { JobReader, JobWriter } from "../job-repository.ts";

const draft = { kind: "test", title: "Test", parameters: { text: strangeText }, total: 3 };
const attachedDraft = { ...draft, kind: exportJobKind };
const leaseMicros = 1_000;

/** Repositories whose clock a test sets. */
function createRepositories(fixture: RepositoryFixture) {
  const clock = { nowMicros: 1 };
  const writer = new JobWriter(fixture.db, () => (clock.nowMicros += 1));
  const claim = async (owner: string, nowMicros = clock.nowMicros) =>
    writer.claim({ owner, nowMicros, leaseMicros });
  return { clock, writer, reader: new JobReader(fixture.db), claim };
}

const progressOf = (done: number) => ({ done, total: 3, figures: { cost_usd: 0.25 } });
const noFailures = { count: 0, messages: [] };

describeRepositories({ jobQueries }, (fixture) => {
  test("a job is queued, claimed once, recorded step by step, and ends", async () => {
    const { writer, reader, claim } = createRepositories(fixture);
    expect(await reader.hasActive()).toBe(false);
    const { id } = await writer.create(tenantId, draft);
    expect(await reader.hasActive()).toBe(true);
    expect(await reader.find(tenantId, id)).toMatchObject({
      title: draft.title,
      parameters: draft.parameters,
      state: "queued",
      progress: { done: 0, total: 3, figures: {} },
    });
    expect(await claim("a")).toMatchObject({ tenantId, cursor: null, claims: 1 });
    expect(await claim("b")).toBeUndefined();
    const lease = { tenantId, id, owner: "a" };
    const completed = { cursor: { at: 2 }, progress: progressOf(2), failures: noFailures };
    expect(await writer.record(lease, { nowMicros: 2, leaseMicros, completed })).toBe("running");
    expect(await writer.record({ ...lease, owner: "b" }, { nowMicros: 2, leaseMicros })).toBe(
      undefined,
    );
    const end = { state: "succeeded", result: { summary: strangeText } } as const;
    expect(await writer.record(lease, { nowMicros: 3, leaseMicros, completed, end })).toBe(
      "succeeded",
    );
    expect(await reader.find(tenantId, id)).toMatchObject({
      state: "succeeded",
      progress: progressOf(2),
      result: { summary: strangeText },
      endedMicros: 3,
    });
    expect(await reader.hasActive()).toBe(false);
  });

  test("a runner of some kinds claims the oldest job of these, and leaves the others", async () => {
    const { clock, writer, claim } = createRepositories(fixture);
    const [first, second, third] = [
      await writer.create(tenantId, { ...draft, kind: "one" }),
      await writer.create(tenantId, { ...draft, kind: "two" }),
      await writer.create(tenantId, { ...draft, kind: "three" }),
    ];
    const claimOf = async (...kinds: readonly string[]) =>
      (await writer.claim({ owner: "a", nowMicros: clock.nowMicros, leaseMicros, kinds }))?.job.id;
    expect(await claimOf("two", "three")).toBe(second.id);
    expect(await claimOf("two")).toBeUndefined();
    expect(await claimOf()).toBeUndefined();
    expect(await claimOf("two", "three")).toBe(third.id);
    expect((await claim("b"))?.job.id).toBe(first.id);
  });

  test("an expired lease can be claimed again, with the last cursor, and the first owner loses it", async () => {
    const { writer, claim } = createRepositories(fixture);
    const { id } = await writer.create(tenantId, draft);
    await claim("a", 10);
    const completed = { cursor: 7, progress: progressOf(1), failures: noFailures };
    await writer.record({ tenantId, id, owner: "a" }, { nowMicros: 10, leaseMicros, completed });
    expect(await claim("b", 10 + leaseMicros - 1)).toBeUndefined();
    expect(await claim("b", 10 + leaseMicros)).toMatchObject({ cursor: 7, claims: 2 });
    const late = { nowMicros: 20, leaseMicros, completed };
    expect(await writer.record({ tenantId, id, owner: "a" }, late)).toBeUndefined();
    const renewal = { owner: "a", nowMicros: 20, leaseMicros, ids: [id] };
    expect(await writer.renew(renewal)).toEqual([id]);
    expect(await writer.renew({ ...renewal, owner: "b" })).toEqual([]);
  });

  test("when all leases are released, jobs can be claimed at once", async () => {
    const { writer, claim } = createRepositories(fixture);
    await writer.create(tenantId, draft);
    await claim("a", 10);
    await writer.releaseAll("a");
    expect(await claim("b", 11)).toBeUndefined();
    await writer.releaseAll("c");
    expect(await claim("b", 11)).toMatchObject({ claims: 2 });
  });

  test("only the leases of the named jobs are renewed", async () => {
    const { writer, claim } = createRepositories(fixture);
    const kept = await writer.create(tenantId, draft);
    const lost = await writer.create(tenantId, draft);
    await claim("a", 10);
    await claim("a", 10);
    await writer.renew({ owner: "a", nowMicros: 500, leaseMicros, ids: [kept.id] });
    expect((await claim("b", 10 + leaseMicros))?.job.id).toBe(lost.id);
    expect(await claim("b", 10 + leaseMicros)).toBeUndefined();
  });

  test("a job that is attached to a request runs at once, and no runner claims it", async () => {
    const { writer, reader, claim } = createRepositories(fixture);
    const attachedTo = { owner: "a", nowMicros: 10, leaseMicros };
    const { id } = await writer.create(tenantId, attachedDraft, attachedTo);
    expect(await reader.find(tenantId, id)).toMatchObject({ state: "running", startedMicros: 10 });
    for (const kinds of [undefined, [exportJobKind]]) {
      const request = { owner: "b", nowMicros: 11, leaseMicros };
      expect(
        await writer.claim(kinds === undefined ? request : { ...request, kinds }),
      ).toBeUndefined();
    }
    const lease = { tenantId, id, owner: "a" };
    const completed = { cursor: null, progress: progressOf(2), failures: noFailures };
    expect(await writer.record(lease, { nowMicros: 12, leaseMicros, completed })).toBe("running");
    const end = { state: "canceled", error: "the client has left" } as const;
    expect(await writer.record(lease, { nowMicros: 13, leaseMicros, end })).toBe("canceled");
    expect(await reader.find(tenantId, id)).toMatchObject({
      state: "canceled",
      error: "the client has left",
      progress: progressOf(2),
      endedMicros: 13,
    });
    await expect(writer.retry(tenantId, id)).rejects.toMatchObject({ status: 409 });
    expect(await claim("b", 10 + 2 * leaseMicros)).toBeUndefined();
  });

  test("an attached job whose server has ended fails with a reason, or is canceled if that was requested", async () => {
    const { writer, reader, claim } = createRepositories(fixture);
    const attachedTo = { owner: "a", nowMicros: 10, leaseMicros };
    const { id } = await writer.create(tenantId, attachedDraft, attachedTo);
    const canceled = await writer.create(otherId, attachedDraft, attachedTo);
    await writer.cancel(otherId, canceled.id);
    expect(await claim("b", 10 + leaseMicros - 1)).toBeUndefined();
    expect((await reader.find(tenantId, id)).state).toBe("running");
    expect(await claim("b", 10 + leaseMicros)).toBeUndefined();
    expect(await reader.find(tenantId, id)).toMatchObject({
      state: "failed",
      error:
        "the server that performed the job has ended, or could not reach the database; start a new job",
      endedMicros: 10 + leaseMicros,
    });
    expect(await reader.find(otherId, canceled.id)).toMatchObject({
      state: "canceled",
      error: null,
    });
    const late = { nowMicros: 2_000, leaseMicros };
    expect(await writer.record({ tenantId, id, owner: "a" }, late)).toBeUndefined();
  });

  test("attached jobs delay no other job of their tenant", async () => {
    const { writer, claim } = createRepositories(fixture);
    const attachedTo = { owner: "a", nowMicros: 10, leaseMicros };
    for (let count = 0; count < jobLimits.runningPerTenant; count += 1) {
      await writer.create(tenantId, attachedDraft, attachedTo);
    }
    const { id } = await writer.create(tenantId, draft);
    expect((await claim("b", 11))?.job.id).toBe(id);
  });

  test("a queued job is canceled at once, a running one after its step, an ended one not at all", async () => {
    const { writer, reader, claim } = createRepositories(fixture);
    const queued = await writer.create(tenantId, draft);
    expect(await writer.cancel(tenantId, queued.id)).toMatchObject({ state: "canceled" });
    const { id } = await writer.create(tenantId, draft);
    await claim("a", 10);
    expect(await writer.cancel(tenantId, id)).toMatchObject({
      state: "running",
      isCancelRequested: true,
    });
    expect(await writer.renew({ owner: "a", nowMicros: 10, leaseMicros, ids: [id] })).toEqual([id]);
    const completed = { cursor: 1, progress: progressOf(1), failures: noFailures };
    const lease = { tenantId, id, owner: "a" };
    expect(await writer.record(lease, { nowMicros: 11, leaseMicros, completed })).toBe("canceled");
    expect((await reader.find(tenantId, id)).progress.done).toBe(1);
    await expect(writer.cancel(tenantId, id)).rejects.toMatchObject({ status: 409 });
  });

  test("a failed job keeps its reason and cursor, and continues when it is retried", async () => {
    const { writer, claim } = createRepositories(fixture);
    const { id } = await writer.create(tenantId, draft);
    await claim("a", 10);
    const lease = { tenantId, id, owner: "a" };
    const completed = { cursor: 5, progress: progressOf(1), failures: noFailures };
    await writer.record(lease, { nowMicros: 10, leaseMicros, completed });
    await expect(writer.retry(tenantId, id)).rejects.toMatchObject({ status: 409 });
    const end = { state: "failed", error: "no luck" } as const;
    expect(await writer.record(lease, { nowMicros: 11, leaseMicros, end })).toBe("failed");
    expect(await writer.retry(tenantId, id)).toMatchObject({ state: "queued", error: null });
    expect(await claim("a", 12)).toMatchObject({ cursor: 5, claims: 1 });
  });

  test("failures are counted, and only the first messages are kept", async () => {
    const { writer, reader, claim } = createRepositories(fixture);
    const { id } = await writer.create(tenantId, draft);
    await claim("a", 10);
    const messages = Array.from({ length: jobLimits.failureMessages - 1 }, (_, at) => `m${at}`);
    const completed = { cursor: 5, progress: progressOf(1), failures: { count: 40, messages } };
    for (const nowMicros of [11, 12]) {
      await writer.record({ tenantId, id, owner: "a" }, { nowMicros, leaseMicros, completed });
    }
    expect((await reader.find(tenantId, id)).failures).toEqual({
      count: 80,
      messages: [...messages, "m0"],
    });
  });

  test("a tenant that runs as many jobs as it may does not delay another one", async () => {
    const { writer, claim } = createRepositories(fixture);
    for (let count = 0; count <= jobLimits.runningPerTenant; count += 1) {
      await writer.create(tenantId, draft);
    }
    await writer.create(otherId, draft);
    for (let count = 0; count < jobLimits.runningPerTenant; count += 1) {
      expect(await claim("a", 10)).toMatchObject({ tenantId });
    }
    expect(await claim("a", 10)).toMatchObject({ tenantId: otherId });
    expect(await claim("a", 10)).toBeUndefined();
  });

  test("a tenant can't queue more jobs than the limit, and reads only its own", async () => {
    const { writer, reader } = createRepositories(fixture);
    for (let count = 0; count < jobLimits.activePerTenant; count += 1) {
      await writer.create(tenantId, draft);
    }
    await expect(writer.create(tenantId, draft)).rejects.toMatchObject({ status: 429 });
    const { id } = await writer.create(otherId, draft);
    await expect(reader.find(tenantId, id)).rejects.toMatchObject({ status: 404 });
    await expect(writer.cancel(tenantId, id)).rejects.toMatchObject({ status: 404 });
    await expect(writer.retry(tenantId, randomUUID())).rejects.toMatchObject({ status: 404 });
    const page = { limit: 10, offset: 0, isActive: false };
    expect(await reader.list(otherId, page)).toMatchObject([{ id }]);
    expect(await reader.list(otherId, { ...page, isActive: true })).toMatchObject([{ id }]);
  });

  test("the jobs of a kind are listed without the others, the newest first", async () => {
    const { writer, reader } = createRepositories(fixture);
    const list = async (limit: number, isActive = false) => {
      const page = { limit, offset: 0, isActive, kind: draft.kind };
      return (await reader.list(tenantId, page)).map(({ id }) => id);
    };
    const { id: older } = await writer.create(tenantId, draft);
    const { id: newer } = await writer.create(tenantId, draft);
    await writer.create(tenantId, { ...draft, kind: "other" });
    await writer.create(otherId, draft);
    expect(await list(10)).toEqual([newer, older]);
    expect(await list(1)).toEqual([newer]);
    await writer.cancel(tenantId, newer);
    expect(await list(10, true)).toEqual([older]);
  });

  test("jobs that ended long ago are removed, and of many only the latest are kept", async () => {
    const { clock, writer, reader } = createRepositories(fixture);
    const page = { limit: 100, offset: 0, isActive: false };
    const old = await writer.create(tenantId, draft);
    await writer.cancel(tenantId, old.id);
    const kept = await writer.create(tenantId, draft);
    await writer.removeEnded(clock.nowMicros);
    expect(await reader.list(tenantId, page)).toMatchObject([{ id: kept.id }]);
    for (let count = 0; count < jobLimits.keptPerTenant + 2; count += 1) {
      await writer.cancel(tenantId, (await writer.create(tenantId, draft)).id);
    }
    const beyond = { ...page, offset: jobLimits.keptPerTenant + 1 };
    expect(await reader.list(tenantId, beyond)).toMatchObject([{ id: kept.id }]);
  });
});
