import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import { replaySpool } from "millrace/spool";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useServer } from "../../server/tests/support/running-server.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { runProgram } from "../support/run-program.ts";

const unreachable = "http://127.0.0.1:9";
const bytes = Buffer.from([0, 13, 10, 45, 45, 255]);
let folder: string;
const server = useServer();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-kept-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const quiet = { logger: { warn: () => undefined } };

/** The stored bytes of each attachment of a run, by name. */
async function readAttachments(runId: string): Promise<Readonly<Record<string, string>>> {
  await using client = {
    apiClient: new Client({ endpoint: server.url, ...quiet }),
    [Symbol.asyncDispose]: async (): Promise<void> => void (await client.apiClient.close()),
  };
  const { runs } = client.apiClient;
  const files = Object.entries(await runs.readAttachments(runId));
  const read = files.map(async ([name, file]) => [
    name,
    Buffer.from(await runs.readAttachment(file)).toString("latin1"),
  ]);
  return Object.fromEntries(await Promise.all(read)) as Record<string, string>;
}

test("a run that is refused keeps its attachments among the dead letters, and a replay sends them", async () => {
  const spoolDir = join(folder, "refused");
  await using refusing = await loopbackServer({ runs: [{ status: 422, body: "{}" }] });
  const client = new Client({ endpoint: refusing.endpoint, spoolDir, ...quiet });
  const run = client.startRun({ attachments: { start: ["image/png", bytes] } });
  run.addAttachment("end", { mimeType: "text/plain", data: "a note" });
  run.end();
  await client.flush();
  expect(client.stats()).toMatchObject({ rejected: 2, delivered: 0 });
  await client.close();
  const replayed = await replaySpool({
    spoolDir,
    endpoint: server.url,
    limitMs: 12_000,
    ...quiet,
  });
  expect(replayed).toMatchObject({ delivered: 2, left: 0 });
  expect(await readAttachments(run.id)).toEqual({ start: bytes.toString("latin1"), end: "a note" });
});

test("records left by process.exit() have their attachments, and the next client sends them", async () => {
  const spoolDir = join(folder, "exited");
  const { code, output } = await runProgram(
    `const client = new Client({ endpoint: ${JSON.stringify(unreachable)}, spoolDir: ${JSON.stringify(spoolDir)},
       exitTimeoutMs: 50, logger: { warn() {} } });
     const run = client.startRun({ attachments: { start: ["image/png", Buffer.from([0, 13, 10, 45, 45, 255])] } });
     run.end();
     process.stdout.write(run.id);
     process.exit(7);`,
  );
  expect(code).toBe(7);
  const client = new Client({ endpoint: server.url, spoolDir, ...quiet });
  await expect.poll(() => client.stats().delivered, { timeout: 12_000 }).toBe(2);
  await client.close();
  expect(await readAttachments(output)).toEqual({ start: bytes.toString("latin1") });
});

test("a recorded path is only read by a client that is allowed to read files", async () => {
  const spoolDir = join(folder, "paths");
  const path = join(folder, "secret.txt");
  writeFileSync(path, "not for everybody");
  const recording = new Client({
    endpoint: unreachable,
    spoolDir,
    dangerouslyAllowFilesystem: true,
    ...quiet,
  });
  const run = recording.startRun({ attachments: { file: { mimeType: "text/plain", path } } });
  run.end();
  await recording.close({ timeoutMs: 0 });
  const next = new Client({ endpoint: server.url, spoolDir, ...quiet });
  await expect.poll(() => next.stats().delivered, { timeout: 12_000 }).toBe(2);
  await next.close();
  const { file } = await readAttachments(run.id);
  expect(file).toMatch(/^\[left out: /);
});
