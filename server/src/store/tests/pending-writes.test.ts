import { beforeEach, expect, test } from "vitest";
import { serverLimits } from "../../model/options.ts";
import { PendingWrites } from "../pending-writes.ts";

/** Two batches of this size exceed the limit. */
const batchBytes = serverLimits.pendingBytes * 0.6;

let writes: PendingWrites;
/** The sequence numbers that were sent to the thread. */
let sent: number[];

beforeEach(() => {
  writes = new PendingWrites("too fast");
  sent = [];
});

const add = (bytes: number): Promise<unknown> =>
  writes.add(bytes, (sequence) => sent.push(sequence));

test("each promise is settled by the reply with its number", async () => {
  const first = add(0);
  const second = add(0);
  writes.settle({ sequence: 2, kind: "result", value: "second" });
  writes.settle({ sequence: 1, kind: "failed", reason: "no such run" });
  await expect(first).rejects.toThrow("no such run");
  await expect(second).resolves.toBe("second");
  expect(sent).toEqual([1, 2]);
});

test("a batch beyond the limit is refused, until others are settled", async () => {
  const first = add(batchBytes);
  await expect(add(batchBytes)).rejects.toMatchObject({ status: 429, message: "too fast" });
  // A request without a batch is never refused for its size.
  const small = add(0);
  expect(sent).toEqual([1, 2]);
  writes.settle({ sequence: 1, kind: "result", value: "stored" });
  const next = add(batchBytes);
  expect(sent).toEqual([1, 2, 3]);
  writes.settle({ sequence: 2, kind: "result", value: "done" });
  writes.settle({ sequence: 3, kind: "result", value: "stored, too" });
  await expect(Promise.all([first, small, next])).resolves.toEqual([
    "stored",
    "done",
    "stored, too",
  ]);
});

test("after closing, requests are refused, and those before are still settled", async () => {
  const before = add(batchBytes);
  writes.close();
  expect(writes.isOpen).toBe(false);
  await expect(add(0)).rejects.toMatchObject({ status: 503, message: "the server is closing" });
  writes.settle({ sequence: 1, kind: "result", value: "stored" });
  await expect(before).resolves.toBe("stored");
});

test("when the thread has ended, all requests fail and say why", async () => {
  const before = add(batchBytes);
  writes.rejectAll();
  const ended = { status: 503, message: expect.stringContaining("ended unexpectedly") as string };
  await expect(before).rejects.toMatchObject(ended);
  await expect(add(0)).rejects.toMatchObject(ended);
  expect(sent).toEqual([1]);
});
