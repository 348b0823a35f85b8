import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../tests/support/running-server.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { formatMigrations } from "../../store/schema.ts";
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

/** Starts `millrace serve` on a folder. Resolves to its first output, and to its log when it has ended. */
async function serveOnce(
  dataDir: string,
): Promise<{ readonly first: string; readonly log: string }> {
  const args = ["serve", "--port", "0", "--data", dataDir, "--log-format", "text"];
  const child = spawn(process.execPath, [commandPath, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const outputs: string[] = [];
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
    outputs.push(chunk.toString());
  });
  child.stdout.on("data", (chunk: Buffer) => outputs.push(chunk.toString()));
  await once(child.stdout, "data");
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await closed;
  return { first: outputs[0] ?? "", log };
}

const commandPath = fileURLToPath(new URL("../../../../cli/dist/millrace.js", import.meta.url));

test("a server says that it converts a database of an earlier format, before it listens", async () => {
  const dataDir = await temporaryFolder();
  const db = openDatabase(join(dataDir, "millrace.db"));
  db.exec(`${formatMigrations[0] ?? ""}; PRAGMA user_version = 1`);
  db.close();
  expect((await serveOnce(dataDir)).first).toContain(
    `WARN "converting the database from format 1 to format ${formatMigrations.length}: if it is large, this takes minutes`,
  );
  expect(await serveOnce(dataDir)).toMatchObject({
    first: expect.stringContaining("http://127.0.0.1:") as string,
    log: "",
  });
});
