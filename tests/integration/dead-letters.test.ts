import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { Client } from "millrace";
import { inspectSpool, replaySpool } from "millrace/spool";
import type { ReplayResult } from "millrace/spool";
import { afterEach, beforeEach, expect, test } from "vitest";
import { frameHeadBytes, parseSalt, readSegment } from "../../src/workers/spool/spool-format.ts";
import type { SegmentPart } from "../../src/workers/spool/spool-format.ts";
import { startStatusServer } from "../support/status-server.ts";
import type { StatusServer } from "../support/status-server.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-dead-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Records runs that the server refuses, each with a request of its own, and returns their ids. */
async function recordRefused(server: StatusServer, count: number): Promise<readonly string[]> {
  server.status = 422;
  const client = new Client({
    endpoint: server.url,
    spoolDir: folder,
    logger: { warn: () => undefined },
  });
  const ids: string[] = [];
  for (let number = 1; number <= count; number++) {
    const run = client.startRun({ name: `run ${number}` });
    run.end({});
    ids.push(run.id);
    await client.flush();
  }
  await client.close();
  server.status = 202;
  return ids;
}

const replay = (server: StatusServer): Promise<ReplayResult> =>
  replaySpool({ endpoint: server.url, spoolDir: folder, limitMs: 10_000 });

/** Path of the only file of dead letters, relative to the spool's folder. */
function deadLetterPath(): string {
  const names = readdirSync(join(folder, "dead"));
  expect(names).toHaveLength(1);
  return join("dead", names[0] ?? "");
}

/** Changes the bytes of a file of dead letters. */
function change(path: string, edit: (bytes: Buffer, parts: readonly SegmentPart[]) => void): void {
  const bytes = readFileSync(join(folder, path));
  edit(bytes, [...readSegment(bytes, readSalt(path))]);
  writeFileSync(join(folder, path), bytes);
}

const readSalt = (path: string): number => parseSalt(path.slice("dead/".length)) ?? 0;

test("damaged dead letters and those of a newer version stay in their file, and the others are sent once", async () => {
  const server = await startStatusServer(422);
  const ids = await recordRefused(server, 4);
  const path = deadLetterPath();
  change(path, (bytes, [damaged, , newer]) => {
    bytes.fill(0, (damaged?.at ?? 0) + frameHeadBytes, (damaged?.at ?? 0) + frameHeadBytes + 8);
    const head = bytes.subarray(newer?.at, (newer?.at ?? 0) + frameHeadBytes);
    head[4] = 99;
    head.writeUInt32LE(crc32(head.subarray(0, 20), readSalt(path)), 20);
  });
  expect(await replay(server)).toMatchObject({ delivered: 4, left: 0, unreadable: [path] });
  expect(server.ended).toEqual(new Set([ids[1], ids[3]]));
  const faults = [{ is: "damaged", at: 0 }, { is: "newer" }];
  expect(await inspectSpool(folder)).toMatchObject([{ path, state: "dead", records: 0, faults }]);
  expect(statSync(join(folder, path)).mode & 0o777).toBe(0o600);
  const kept = readFileSync(join(folder, path));
  expect(await replay(server)).toMatchObject({ delivered: 0, left: 0, unreadable: [path] });
  expect(readFileSync(join(folder, path))).toEqual(kept);
});

test("a malformed dead letter is a fault of its file, and the others are sent", async () => {
  const server = await startStatusServer(422);
  const ids = await recordRefused(server, 2);
  const path = deadLetterPath();
  change(path, (bytes, [malformed]) => {
    if (malformed?.is !== "frame") {
      throw new RangeError("no frame");
    }
    // The length of the reason is wrong, and the checksums are right.
    malformed.body.writeUInt32LE(7, 0);
    const head = bytes.subarray(malformed.at, malformed.at + frameHeadBytes);
    head.writeUInt32LE(crc32(malformed.body, readSalt(path)), 16);
    head.writeUInt32LE(crc32(head.subarray(0, 20), readSalt(path)), 20);
  });
  const expected = { path, state: "dead", faults: [{ is: "damaged", at: 0 }] };
  expect(await inspectSpool(folder)).toMatchObject([{ ...expected, records: 2 }]);
  expect(await replay(server)).toMatchObject({ delivered: 2, unreadable: [path] });
  expect(server.ended).toEqual(new Set([ids[1]]));
  expect(await inspectSpool(folder)).toMatchObject([{ ...expected, records: 0 }]);
});

test("a file that can't be read is listed with the reason, and does not affect others", async () => {
  const server = await startStatusServer(422);
  const ids = await recordRefused(server, 1);
  const readable = deadLetterPath();
  const unreadable = join("dead", "99999999-00000001.seg");
  // A folder can't be read as a file, whoever the user is.
  mkdirSync(join(folder, unreadable));
  const listed = await inspectSpool(folder);
  expect(listed).toMatchObject([
    { path: readable, state: "dead", records: 2, faults: [] },
    {
      path: unreadable,
      state: "dead",
      records: 0,
      faults: [{ is: "unreadable", at: 0, reason: expect.stringContaining("EISDIR") as string }],
    },
  ]);
  expect(await replay(server)).toMatchObject({ delivered: 2, unreadable: [unreadable] });
  expect(server.ended).toEqual(new Set(ids));
  expect(existsSync(join(folder, readable))).toBe(false);
});

test("a folder whose files can't be listed is listed with the reason", async () => {
  writeFileSync(join(folder, "dead"), "a file");
  const reason = expect.stringContaining("ENOTDIR") as string;
  expect(await inspectSpool(folder)).toEqual([
    {
      path: "dead",
      state: "dead",
      bytes: 0,
      records: 0,
      faults: [{ is: "unreadable", at: 0, reason }],
      notes: [],
    },
  ]);
});
