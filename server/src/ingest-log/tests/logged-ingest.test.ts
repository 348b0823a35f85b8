import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../../runs/run-record.ts";
import type { LogConnection } from "../log-connection.ts";
import type { ObservedLog } from "../log-state.ts";
import { LoggedIngest } from "../logged-ingest.ts";

const tenantId = randomUUID();
const lateMs = 20;
const recent = { keepMs: 200, checkMs: 5, quietMs: 30, bytes: 10_000_000 };
const away = new RequestError(503, "the ingest log can't be reached", 2);
const full = new RequestError(429, "the ingest log is full", 5);

/** A log whose acknowledgements the test decides. */
class FakeLog {
  readonly isConnected: boolean = true;
  readonly messageBytes = 1_000_000;
  disturbances = 0;
  readonly signals: AbortSignal[] = [];
  answer: () => Promise<void> = () => Promise.resolve();

  async append(_message: Uint8Array, signal: AbortSignal): Promise<number> {
    this.signals.push(signal);
    await this.answer();
    return this.signals.length;
  }
}

/** A database that keeps the ids of the runs that it receives. */
class FakeDatabase {
  readonly readOnlyReason = undefined;
  readonly ids: string[] = [];
  answer: () => Promise<Partial<IngestResult>> = () => Promise.resolve({});

  async ingest(tenant: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    const result = await this.answer();
    if (tenant === tenantId && "records" in batch) {
      this.ids.push(...batch.records.map(({ id }) => id));
    }
    return { accepted: 1, duplicates: 0, rejected: [], ...result };
  }
}

describe("runs that are received into the log", () => {
  let log: FakeLog;
  let database: FakeDatabase;
  let warnings: string[];
  beforeEach(() => {
    [log, database, warnings] = [new FakeLog(), new FakeDatabase(), []];
    vi.spyOn(process, "emitWarning").mockImplementation((text) => warnings.push(String(text)));
  });
  const ingests: LoggedIngest[] = [];
  afterEach(() => Promise.all(ingests.splice(0).map((ingest) => ingest.close())));

  function createIngest(
    options: {
      readonly shared?: FakeDatabase | undefined;
      readonly lateMs?: number;
      readonly observed?: ObservedLog;
    } = {},
  ): LoggedIngest {
    const { shared, lateMs: late = lateMs, observed } = { shared: database, ...options };
    const ingest = new LoggedIngest(log as unknown as LogConnection, shared, {
      lateMs: late,
      recent,
      ...(observed && { observed }),
    });
    ingests.push(ingest);
    return ingest;
  }

  const run = wireRun();
  const send = (ingest: LoggedIngest): Promise<IngestResult> =>
    ingest.ingest(tenantId, parseBatch(Buffer.from(JSON.stringify({ post: [run] }))).batch);
  const received = { accepted: 1, duplicates: 0, rejected: [] };
  const never = (): Promise<void> =>
    new Promise(() => {
      // It never ends.
    });

  test("are left to the log if it acknowledges them in time", async () => {
    const ingest = createIngest();
    expect(await send(ingest)).toEqual(received);
    await sleep(2 * lateMs);
    expect(database.ids).toEqual([]);
    expect(ingest).toMatchObject({ appended: 1, storedDirectly: 0 });
  });

  test("are stored in the database if the log is late, and not appended again", async () => {
    const ingest = createIngest();
    log.answer = never;
    expect(await send(ingest)).toEqual(received);
    expect(database.ids).toEqual([run.id]);
    expect(log.signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(ingest).toMatchObject({ appended: 0, storedDirectly: 1 });
    await send(ingest);
    log.answer = () => Promise.resolve();
    await send(ingest);
    expect(warnings).toEqual([
      expect.stringContaining("acknowledges nothing in time"),
      "the ingest log acknowledges runs again",
    ]);
  });

  test("are stored in the database at once if the log can't be reached", async () => {
    Object.assign(log, { isConnected: false });
    log.answer = never;
    const ingest = createIngest({ lateMs: 1_000_000 });
    expect(await send(ingest)).toEqual(received);
    log.answer = () => Promise.reject(away);
    expect(await send(ingest)).toEqual(received);
    expect(database.ids).toEqual([run.id, run.id]);
  });

  test("are refused if the log is full, so that clients slow down", async () => {
    log.answer = () => Promise.reject(full);
    await expect(send(createIngest())).rejects.toBe(full);
    expect(database.ids).toEqual([]);
  });

  test("are refused before NATS would refuse them, because then its servers could become different", async () => {
    const maxBytes = 40_000;
    let waiting: ObservedLog["waiting"];
    const ingest = createIngest({
      observed: {
        oldestPosition: 1,
        get waiting() {
          return waiting;
        },
      },
    });
    // Nothing is known yet.
    await send(ingest);
    waiting = { bytes: 0.75 * maxBytes - 100, maxBytes, reading: 1 };
    await send(ingest);
    // This server has appended more than was free since the log was read.
    await expect(send(ingest)).rejects.toMatchObject({
      status: 429,
      message: expect.stringContaining("the ingest log is full") as string,
    });
    waiting = { bytes: 0, maxBytes, reading: 2 };
    await send(ingest);
    expect(log.signals).toHaveLength(3);
    expect(database.ids).toEqual([]);
  });

  test.each([
    ["is away", () => Promise.reject(new Error("the connection was lost"))],
    [
      "refuses a run",
      () => Promise.resolve({ rejected: [{ id: run.id, operation: "post", reason: "no" }] }),
    ],
  ] as const)("wait for the log if the database %s", async (_, answer) => {
    database.answer = answer as FakeDatabase["answer"];
    log.answer = () => sleep(5 * lateMs);
    const ingest = createIngest();
    expect(await send(ingest)).toEqual(received);
    expect(ingest).toMatchObject({ appended: 1, storedDirectly: 0 });
    log.answer = async () => {
      await sleep(5 * lateMs);
      throw away;
    };
    await expect(send(ingest)).rejects.toBe(away);
  });

  test("that the log acknowledged are stored in the database once more if the log is disturbed", async () => {
    const ingest = createIngest();
    await send(ingest);
    await sleep(10);
    expect(database.ids).toEqual([]);
    log.disturbances += 1;
    await vi.waitFor(() => expect(database.ids).toEqual([run.id]));
    expect(ingest.storedAgain).toBe(1);
    expect(warnings).toEqual([expect.stringContaining("1 messages that it had acknowledged")]);
    await sleep(2 * recent.quietMs);
    expect(database.ids).toHaveLength(1);
  });

  test("that the log acknowledged are appended once more if there is no database", async () => {
    const ingest = createIngest({ shared: undefined });
    await send(ingest);
    log.disturbances += 1;
    await vi.waitFor(() => expect(ingest).toMatchObject({ appended: 2, storedAgain: 1 }));
  });

  test("that were appended once more are kept for the next disturbance", async () => {
    const ingest = createIngest();
    await send(ingest);
    database.answer = () => Promise.reject(new Error("the database is away"));
    log.disturbances += 1;
    await vi.waitFor(() => expect(ingest).toMatchObject({ appended: 2, storedAgain: 1 }));
    log.disturbances += 1;
    await vi.waitFor(() => expect(ingest).toMatchObject({ appended: 3, storedAgain: 2 }));
  });

  test("fail without a database if the log can't be reached", async () => {
    log.answer = () => Promise.reject(away);
    await expect(send(createIngest({ shared: undefined }))).rejects.toBe(away);
  });

  test("count as pending until the attempt to append them ends", async () => {
    const ingest = createIngest();
    let endAppend: () => void = () => undefined;
    log.answer = () =>
      new Promise((resolve) => {
        endAppend = resolve;
      });
    const { batch } = parseBatch(Buffer.from(JSON.stringify({ post: [run] })));
    const bodies = new Uint8Array(0.6 * serverLimits.pendingBytes);
    bodies.set(batch.bodies);
    const sendLarge = (): Promise<IngestResult> => ingest.ingest(tenantId, { ...batch, bodies });
    await sendLarge();
    await expect(sendLarge()).rejects.toMatchObject({ status: 429 });
    endAppend();
    await sleep(1);
    await sendLarge();
    endAppend();
    expect(database.ids).toHaveLength(2);
  });
});
