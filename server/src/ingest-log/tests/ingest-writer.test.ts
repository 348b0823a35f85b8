import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { RequestError } from "../../model/errors.ts";
import { parseBatch } from "../../runs/ingest/parse-batch.ts";
import type { IngestResult } from "../../runs/run-record.ts";
import { IngestWriter } from "../ingest-writer.ts";
import type { LogConnection } from "../log-connection.ts";
import { encodeBatch } from "../message-format.ts";

const tenantId = randomUUID();

interface FakeDelivery {
  readonly subject: string;
  readonly reply?: string;
  readonly data?: Uint8Array;
  readonly headers?: { readonly code: number };
}

/** A log that delivers its messages once. While it is away, no server answers a request. */
class FakeLog {
  readonly waiting: Uint8Array[] = [];
  isAway = false;
  refusedRequests = 0;
  acknowledged = 0;
  #inboxes = 0;
  readonly #callbacks = new Map<string, (error: null, message: FakeDelivery) => void>();
  readonly connection = {
    isClosed: () => false,
    subscribe: (
      subject: string,
      { callback }: { readonly callback: (error: null, message: FakeDelivery) => void },
    ) => {
      const inbox = subject.replace(/\.\*$/, "");
      this.#callbacks.set(inbox, callback);
      return { unsubscribe: () => this.#callbacks.delete(inbox) };
    },
    publish: (subject: string, text: string, options?: { readonly reply: string }) => {
      if (options === undefined) {
        this.acknowledged += text === "+ACK" ? 1 : 0;
      } else if (subject.includes(".MSG.NEXT.")) {
        setImmediate(() => this.#answer(options.reply));
      }
    },
  };

  createInbox(): string {
    this.#inboxes += 1;
    return `inbox${this.#inboxes}`;
  }

  #answer(reply: string): void {
    const deliver = this.#callbacks.get(reply.slice(0, reply.lastIndexOf(".")));
    const data = this.isAway ? undefined : this.waiting.shift();
    if (data !== undefined) {
      const tokens = "$JS.ACK.stream.consumer.1.1.1.1.0";
      deliver?.(null, { subject: "runs", reply: tokens, data });
      return;
    }
    this.refusedRequests += this.isAway ? 1 : 0;
    deliver?.(null, { subject: reply, headers: { code: this.isAway ? 503 : 404 } });
  }
}

test("while neither the store nor the log answers, each is reported once, and so is its recovery", async () => {
  const log = new FakeLog();
  let isStoreAway = true;
  let attempts = 0;
  const ingest = (): Promise<IngestResult> => {
    attempts += 1;
    return isStoreAway
      ? Promise.reject(new RequestError(503, "the database can't be reached"))
      : Promise.resolve({ accepted: 1, duplicates: 0, rejected: [] });
  };
  const { batch } = parseBatch(Buffer.from(JSON.stringify({ post: [wireRun()] })));
  log.waiting.push(encodeBatch(tenantId, batch));
  const warnings: string[] = [];
  const writer = new IngestWriter(
    log as unknown as LogConnection,
    { readOnlyReason: undefined, ingest },
    { warn: (text) => warnings.push(text) },
  );
  onTestFinished(() => writer.close());

  await expect.poll(() => warnings).toHaveLength(1);
  log.isAway = true;
  const attemptsBefore = attempts;
  await expect.poll(() => log.refusedRequests).toBeGreaterThan(1);
  await expect.poll(() => attempts).toBeGreaterThan(attemptsBefore + 2);
  expect(warnings).toEqual([
    "the store accepts no writes, so runs wait in the ingest log: the database can't be reached",
    "the ingest log can't be read; the writer keeps trying: no server of the log answers",
  ]);

  isStoreAway = false;
  log.isAway = false;
  await expect.poll(() => log.acknowledged).toBe(1);
  await expect.poll(() => warnings).toHaveLength(4);
  expect(warnings.slice(2).toSorted()).toEqual([
    "the store accepts runs of the ingest log again",
    "the writer reads the ingest log again",
  ]);
});
