import { expect, test } from "vitest";
import { BoundedWriter } from "../bounded-writer.ts";
import type { WriteBytes } from "../bounded-writer.ts";
import { ServerLog } from "../server-log.ts";

/** A destination that completes a write only when it is told to, and then all at once. */
function createSlowDestination() {
  const written: string[] = [];
  const pending: (() => void)[] = [];
  const write: WriteBytes = (bytes, callback) => {
    pending.push(() => {
      written.push(Buffer.from(bytes).toString());
      callback(null, bytes.length);
    });
  };
  return {
    write,
    text: () => written.join(""),
    complete: () => pending.splice(0).forEach((end) => end()),
  };
}

test("lines that a slow destination can't take are dropped, and their number is written once it can", () => {
  const destination = createSlowDestination();
  const writer = new BoundedWriter(destination.write, (count) => `dropped ${count}\n`);
  const line = `${"x".repeat(99_999)}\n`;
  for (let count = 0; count < 100; count += 1) {
    writer.push(line);
  }
  destination.complete();
  destination.complete();
  // One line was being written, and nine more fit into the mebibyte that may wait.
  expect(destination.text().length).toBeLessThan(1_100_000);
  writer.push("after\n");
  destination.complete();
  destination.complete();
  const lines = destination.text().trim().split("\n");
  expect(lines.filter((text) => text.startsWith("x"))).toHaveLength(10);
  expect(lines.filter((text) => text.startsWith("dropped"))).toEqual(["dropped 90"]);
  expect(lines).toContain("after");
});

test("partial writes and a pipe that is full for a moment lose nothing and keep the order", async () => {
  let text = "";
  let calls = 0;
  const writer = new BoundedWriter(
    (bytes, callback) => {
      calls += 1;
      if (calls % 2 === 1) {
        callback(Object.assign(new Error("full"), { code: "EAGAIN" }), 0);
        return;
      }
      const part = bytes.subarray(0, 3);
      text += Buffer.from(part).toString();
      callback(null, part.length);
    },
    () => "",
  );
  writer.push("first line\n");
  writer.push("second line\n");
  await writer.flush(10_000);
  expect(text).toBe("first line\nsecond line\n");
});

test("a destination that nobody reads any more does not keep the writer waiting", async () => {
  const writer = new BoundedWriter(
    (_bytes, callback) => callback(Object.assign(new Error("closed"), { code: "EPIPE" }), 0),
    () => "",
  );
  writer.push("a\n");
  await expect(writer.flush(10_000)).resolves.toBeUndefined();
});

test.each([
  [
    "json",
    /^\{"time":"[^"]+Z","level":"warn","message":"a \\"b\\"\\nc","thread":"writer","n":1\}\n$/,
  ],
  ["text", /^\S+Z WARN "a \\"b\\"\\nc" thread=writer n=1\n$/],
] as const)("a message with a line break is one line of %s", async (format, expected) => {
  let text = "";
  const log = new ServerLog(format, (bytes, callback) => {
    text += Buffer.from(bytes).toString();
    callback(null, bytes.length);
  });
  log.write({ level: "warn", message: 'a "b"\nc', thread: "writer", n: 1 });
  await log.close();
  expect(text).toMatch(expected);
});
