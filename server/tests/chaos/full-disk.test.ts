import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/running-server.ts";

const run = promisify(execFile);
const script = fileURLToPath(new URL("../support/fill-disk.mjs", import.meta.url));

/**
 * A shell command that runs another one with a small disk mounted at a folder, visible only to it. Needs no
 * privileges where the system allows user namespaces.
 */
const withDisk = (folder: string, megabytes: number, command: string): readonly string[] => [
  "-rm",
  "sh",
  "-c",
  `mount -t tmpfs -o size=${megabytes}m tmpfs ${folder} && ${command}`,
];

/** Why a small disk can't be mounted here; `undefined` if it can. */
function whyNoDisk(folder: string): string | undefined {
  const { error, status, stderr } = spawnSync("unshare", withDisk(folder, 1, "true"), {
    encoding: "utf8",
    timeout: 10_000,
  });
  if (error !== undefined) {
    return `there is no command to mount a disk for one process with: ${error.message}`;
  }
  return status === 0 ? undefined : `this system lets nobody mount a disk: ${stderr.trim()}`;
}

test("a server on a completely full disk starts, reads, deletes, and writes again", async ({
  skip,
}) => {
  const folder = await temporaryFolder();
  const reason = whyNoDisk(folder);
  skip(reason !== undefined, reason);
  const command = `exec "${process.execPath}" "${script}" "${folder}" 16000000`;
  const { stdout } = await run("unshare", withDisk(folder, 64, command), { timeout: 100_000 });
  const facts = JSON.parse(stdout) as Record<string, unknown>;
  const detail: unknown = expect.stringMatching(
    /^the disk of the server's data folder is full \([\d.]+ MiB are free, and 4\.0 MiB reserved for deletions\): only deletions are accepted\. Delete projects/,
  );
  const full: unknown = expect.stringContaining(
    "data: the disk of the server's data folder is full",
  );
  const room: unknown = expect.stringContaining("data: there is space on the disk again");
  const some: unknown = expect.any(Number);
  const delivered: unknown = expect.objectContaining({ delivered: 100, pending: 0, lost: 0 });
  const files: unknown = expect.arrayContaining(["millrace.db", "millrace.reserve"]);
  expect(facts).toEqual({
    refused: { status: 503, retryAfter: "10", detail, request_id: expect.any(String) as unknown },
    info: "the disk is full: only deletions are accepted",
    acknowledged: some,
    // What the client recorded meanwhile waits, and all of it is delivered.
    client: { lost: 0, isPending: true },
    clientAfter: delivered,
    // The disk was really full: while the server ran, after it was killed, and after it had ended.
    freeBytes: [0, 0, 0, 0],
    writeAfterStart: 503,
    create: 503,
    search: 200,
    missingAfterKill: 0,
    missing: 0,
    deletions: [200, 200, 200],
    writtenAgainMs: some,
    swept: facts["sweepable"],
    sweepable: some,
    writtenWithRoomMs: some,
    reserveBytes: 4_194_304,
    files,
    // One line per change: three servers started; the first two became full and then had space, the third was killed
    // while the disk was full.
    log: [full, full, room, full, room],
  });
  expect(facts["acknowledged"]).toBeGreaterThan(1_000);
}, 110_000);

test("if there is no space for the log, a deletion changes nothing", async ({ skip }) => {
  const folder = await temporaryFolder();
  const reason = whyNoDisk(folder);
  skip(reason !== undefined, reason);
  const program = join(import.meta.dirname, "..", "support", "fail-deletion.mjs");
  const command = `exec "${process.execPath}" "${program}" "${folder}"`;
  const { stdout } = await run("unshare", withDisk(folder, 48, command), { timeout: 60_000 });
  expect(JSON.parse(stdout)).toEqual({
    refusal: { status: 503, retryAfterSeconds: 10 },
    before: 1,
    after: 1,
    sizes: [6_000_000, 6_000_000],
    deletedWithRoom: 0,
  });
}, 70_000);
