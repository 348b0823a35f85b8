import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DeadLetters, parseDeadLetter } from "../../src/workers/spool/dead-letters.ts";
import { readSegment, parseSalt } from "../../src/workers/spool/spool-format.ts";
import { testSpool, useSpoolFolders } from "../support/spooling.ts";

useSpoolFolders();

const note = {
  at: 1_795_000_000_000,
  refused: [{ runId: "r", records: 2, code: "HTTP" as const, status: 422, message: "bad" }],
};

function openDeadLetters(quotaBytes = 10_000_000) {
  const troubles: string[] = [];
  const deadLetters = new DeadLetters({
    folder: testSpool.folder,
    quotaBytes,
    onFault: (kind, message) => troubles.push(`${kind}: ${message}`),
  });
  return { deadLetters, troubles };
}

const deadFolder = (): string => join(testSpool.folder, "dead");
const files = (): readonly string[] => readdirSync(deadFolder()).toSorted();

test("refused records are kept with the server's reasons, readable only by the owner", () => {
  const { deadLetters } = openDeadLetters();
  deadLetters.write(Buffer.from("records"), 2, note);
  deadLetters.close();
  const [name = ""] = files();
  const path = join(deadFolder(), name);
  expect(statSync(deadFolder()).mode & 0o777).toBe(0o700);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const [part] = readSegment(readFileSync(path), parseSalt(name) ?? 0);
  expect(part).toMatchObject({ is: "frame", records: 2 });
  const letter = parseDeadLetter(part?.is === "frame" ? part.body : Buffer.alloc(0));
  expect(letter.note).toEqual(note);
  expect(letter.records.toString()).toBe("records");
});

test("beyond the quota the oldest files are removed", () => {
  const { deadLetters } = openDeadLetters(3_000_000);
  for (let i = 0; i < 8; i++) {
    deadLetters.write(Buffer.alloc(1_048_576, i), 1, note);
  }
  // Two files within the quota, plus the one that is being written.
  expect(files().length).toBeLessThanOrEqual(3);
});

test("a removed folder is created again; one that can't be created causes a warning, and nothing throws", () => {
  const { deadLetters, troubles } = openDeadLetters();
  deadLetters.write(Buffer.from("one"), 1, note);
  rmSync(deadFolder(), { recursive: true });
  deadLetters.write(Buffer.from("two"), 1, note);
  expect(files()).toHaveLength(1);
  rmSync(deadFolder(), { recursive: true });
  writeFileSync(deadFolder(), "");
  deadLetters.write(Buffer.from("three"), 1, note);
  expect(troubles).toEqual([expect.stringMatching(/^spoolUnwritable: E/)]);
});
