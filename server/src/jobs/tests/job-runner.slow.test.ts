import { Type } from "typebox";
import { expect, onTestFinished, test } from "vitest";
import { RequestError } from "../../model/errors.ts";
import type { Store } from "../../store/store.ts";
import { openSqliteStore, openTemporaryStore } from "../../../dist/store/sqlite-store.js";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import type { Job, JsonValue } from "../job.ts";
import { defineJobKind } from "../job-kind.ts";
import type { AnyJobKind, JobContext, JobStep } from "../job-kind.ts";
import { JobRunner } from "../job-runner.ts";
import type { RunnerOptions } from "../job-runner.ts";

/** A step that never ends. */
const hang = async (): Promise<JobStep> =>
  new Promise(() => {
    // It neither resolves nor rejects.
  });

type Step = (context: JobContext<unknown>, cursor: JsonValue) => Promise<JobStep>;

const createKind = (step: Step): AnyJobKind =>
  defineJobKind({
    name: "test",
    parameters: Type.Object({}),
    prepare: async () => ({ title: "Test" }),
    step,
  });

const quick: Partial<RunnerOptions> = { startMs: 0, firstRetryMs: 1 };

async function openStore(): Promise<Store> {
  const store = await openTemporaryStore();
  onTestFinished(() => store.close());
  return store;
}

/** Starts a runner whose jobs perform `step`. */
function startRunner(store: Store, step: Step, options: Partial<RunnerOptions> = {}): JobRunner {
  const runner = new JobRunner(store, new Map([["test", createKind(step)]]), {
    ...quick,
    ...options,
  });
  runner.start();
  onTestFinished(() => runner.close());
  return runner;
}

const createJob = async (store: Store, kind = "test"): Promise<Job> =>
  store.write.jobs.create(store.defaultTenantId, {
    kind,
    title: "Test",
    parameters: {},
    total: null,
  });

/** Waits until the job has a state. */
async function waitFor(store: Store, id: string, state: Job["state"]): Promise<Job> {
  await expect
    .poll(async () => (await store.read.jobs.find(store.defaultTenantId, id)).state, {
      timeout: 5_000,
    })
    .toBe(state);
  return store.read.jobs.find(store.defaultTenantId, id);
}

/** Ten items, three a step. */
const countToTen: Step = async (_context, cursor) => {
  const done = Math.min(Number(cursor) + 3, 10);
  return done < 10 ? { cursor: done, done, total: 10 } : { done, result: { summary: "all" } };
};

test("a job's steps run one after the other, each from the cursor of the one before", async () => {
  const store = await openStore();
  const cursors: JsonValue[] = [];
  const runner = startRunner(store, async (context, cursor) => {
    cursors.push(cursor);
    const step = await countToTen(context, cursor);
    return { ...step, figures: { cost: (context.progress.figures["cost"] ?? 0) + 0.5 } };
  });
  const { id } = await createJob(store);
  runner.wake();
  expect(await waitFor(store, id, "succeeded")).toMatchObject({
    progress: { done: 10, total: 10, figures: { cost: 2 } },
    result: { summary: "all" },
  });
  expect(cursors).toEqual([null, 3, 6, 9]);
});

test("a step that fails is tried again, and the job succeeds", async () => {
  const store = await openStore();
  let failuresLeft = 2;
  const runner = startRunner(store, async () => {
    failuresLeft -= 1;
    if (failuresLeft >= 0) {
      throw new Error("not yet");
    }
    return { done: 1 };
  });
  const { id } = await createJob(store);
  runner.wake();
  await waitFor(store, id, "succeeded");
  expect(failuresLeft).toBe(-1);
});

test("a step that keeps failing fails the job with the reason, and a retry continues after the last complete step", async () => {
  const store = await openStore();
  let isBroken = true;
  const cursors: JsonValue[] = [];
  const runner = startRunner(store, async (context, cursor) => {
    cursors.push(cursor);
    if (cursor === 6 && isBroken) {
      throw new Error("the model does not answer");
    }
    return countToTen(context, cursor);
  });
  const { id } = await createJob(store);
  runner.wake();
  expect(await waitFor(store, id, "failed")).toMatchObject({
    error: "the model does not answer",
    progress: { done: 6 },
  });
  expect(cursors).toEqual([null, 3, 6, 6, 6, 6]);
  isBroken = false;
  await store.write.jobs.retry(store.defaultTenantId, id);
  runner.wake();
  await waitFor(store, id, "succeeded");
  expect(cursors.slice(6)).toEqual([6, 9]);
});

test.for([
  { retryAfterSeconds: 3_600, attempts: 1 },
  { retryAfterSeconds: 1, attempts: 4 },
])(
  "a step whose limit applies for another $retryAfterSeconds s is attempted $attempts times",
  async ({ retryAfterSeconds, attempts }) => {
    const store = await openStore();
    let calls = 0;
    const runner = startRunner(store, async () => {
      calls += 1;
      throw new RequestError(429, "the budget is spent", retryAfterSeconds);
    });
    const { id } = await createJob(store);
    runner.wake();
    expect(await waitFor(store, id, "failed")).toMatchObject({ error: "the budget is spent" });
    expect(calls).toBe(attempts);
  },
);

test("a refused step fails the job at once", async () => {
  const store = await openStore();
  let calls = 0;
  const runner = startRunner(store, async () => {
    calls += 1;
    throw new RequestError(404, "Dataset not found");
  });
  const { id } = await createJob(store);
  runner.wake();
  expect(await waitFor(store, id, "failed")).toMatchObject({ error: "Dataset not found" });
  expect(calls).toBe(1);
});

test("a canceled job ends after its step, whose progress counts", async () => {
  const store = await openStore();
  let finishStep: () => void = () => undefined;
  const stepped = new Promise<void>((resolve) => {
    finishStep = resolve;
  });
  const runner = startRunner(store, async (context, cursor) => {
    await stepped;
    return countToTen(context, cursor);
  });
  const { id } = await createJob(store);
  runner.wake();
  await waitFor(store, id, "running");
  await store.write.jobs.cancel(store.defaultTenantId, id);
  runner.cancel(id);
  finishStep();
  expect(await waitFor(store, id, "canceled")).toMatchObject({ progress: { done: 3 } });
});

test("a canceled job does not wait for a step that watches its signal", async () => {
  const store = await openStore();
  const runner = startRunner(
    store,
    async ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      }),
  );
  const { id } = await createJob(store);
  runner.wake();
  await waitFor(store, id, "running");
  await store.write.jobs.cancel(store.defaultTenantId, id);
  runner.cancel(id);
  expect(await waitFor(store, id, "canceled")).toMatchObject({ error: null });
});

test("a step that never ends fails its job at the deadline", async () => {
  const store = await openStore();
  const runner = startRunner(store, hang, { stepMs: 20 });
  const { id } = await createJob(store);
  runner.wake();
  expect(await waitFor(store, id, "failed")).toMatchObject({
    error: "a step took longer than 0.02 s",
  });
});

test("a job of an unknown kind fails and says why", async () => {
  const store = await openStore();
  const runner = startRunner(store, countToTen);
  const { id } = await createJob(store, "later.kind");
  runner.wake();
  expect((await waitFor(store, id, "failed")).error).toMatch(/no jobs of the kind later\.kind/);
});

test("after the server ended, a job continues with the step that was not recorded, and does no other step again", async () => {
  const folder = await temporaryFolder();
  const store: Store = await openSqliteStore(folder);
  const cursors: JsonValue[] = [];
  const blocked: Step = async (context, cursor) => {
    cursors.push(cursor);
    return cursor === 6 ? hang() : countToTen(context, cursor);
  };
  const first = new JobRunner(store, new Map([["test", createKind(blocked)]]), {
    ...quick,
    closeMs: 1,
  });
  first.start();
  const { id } = await createJob(store);
  first.wake();
  await expect.poll(() => cursors.length).toBe(3);
  await first.close();
  await store.close();

  const reopened: Store = await openSqliteStore(folder);
  onTestFinished(() => reopened.close());
  startRunner(reopened, async (context, cursor) => {
    cursors.push(cursor);
    return countToTen(context, cursor);
  });
  expect(await waitFor(reopened, id, "succeeded")).toMatchObject({ progress: { done: 10 } });
  expect(cursors).toEqual([null, 3, 6, 6, 9]);
});

test("a step that ends the server each time is not tried forever", async () => {
  const store = await openStore();
  const { id } = await createJob(store);
  for (let crash = 0; crash < 3; crash += 1) {
    const claim = { owner: `crashed${crash}`, nowMicros: 10, leaseMicros: 1 };
    await store.write.jobs.claim(claim);
    await store.write.jobs.releaseAll("another server");
  }
  startRunner(store, countToTen);
  expect((await waitFor(store, id, "failed")).error).toMatch(/the server ended 3 times/);
});

test("items that fail are counted with their reasons, and the job goes on", async () => {
  const store = await openStore();
  const runner = startRunner(store, async (context, cursor) => ({
    ...(await countToTen(context, cursor)),
    failures: [`item ${JSON.stringify(cursor)}: ${"x".repeat(1_000)}`],
  }));
  const { id } = await createJob(store);
  runner.wake();
  const { failures } = await waitFor(store, id, "succeeded");
  expect(failures.count).toBe(4);
  expect(failures.messages.map((message) => message.length)).toEqual([500, 500, 500, 500]);
});

test("a runner of given kinds leaves jobs of other kinds to others", async () => {
  const store = await openStore();
  const other = await createJob(store, "other");
  const own = await createJob(store);
  startRunner(store, countToTen, { kinds: "given" }).wake();
  await waitFor(store, own.id, "succeeded");
  expect(await store.read.jobs.find(store.defaultTenantId, other.id)).toMatchObject({
    state: "queued",
    error: null,
  });
});
