import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { wireRun } from "../../../../tests/support/wire-runs.ts";

const distUrl = pathToFileURL(`${import.meta.dirname}/../../../../dist/`).href;

/** Parses the same body twice; prints whether the WebAssembly module indexed it, and the result. */
const script = `
  const { decodeBatch, walkBatch } = await import("${distUrl}runs/ingest/parse-batch.js");
  const { getBatchWalk } = await import("${distUrl}runs/ingest/batch-walk.js");
  const body = Buffer.concat(await process.stdin.toArray());
  const parse = () => {
    const isWalked = walkBatch([Buffer.from(body)]) !== undefined;
    const { batch, rejected } = decodeBatch([Buffer.from(body)]);
    const payloads = Buffer.from(batch.bodies).toString();
    return { isWalked, records: batch.records, payloads, rejected };
  };
  console.log(JSON.stringify({ hasWalk: getBatchWalk() !== undefined, first: parse(), second: parse() }));
`;

interface ParsedOutput {
  readonly isWalked: boolean;
  readonly records: readonly unknown[];
  readonly payloads: string;
  readonly rejected: readonly unknown[];
}

/** Runs the script in a process with the given flags. */
function parseIn(flags: readonly string[], input: string) {
  const args = [...flags, "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { input, encoding: "utf8", stdio: "pipe" });
  return JSON.parse(output) as { hasWalk: boolean; first: ParsedOutput; second: ParsedOutput };
}

const body = JSON.stringify({
  post: [
    ...Array.from({ length: 40 }, (_, at) => wireRun({ inputs: { text: `${at}`.repeat(5_000) } })),
    wireRun({ id: "no id" }),
  ],
});

describe("a batch has the same result in a process", () => {
  // The module itself needs 11 pages of memory; the body takes six more.
  test.each([
    { title: "that has no WebAssembly", flags: ["--jitless"], hasWalk: false },
    {
      title: "that has no memory for the module",
      flags: ["--wasm-max-mem-pages=8"],
      hasWalk: false,
    },
    { title: "whose module can't grow", flags: ["--wasm-max-mem-pages=13"], hasWalk: true },
  ])("$title", ({ flags, hasWalk }) => {
    const usual = parseIn([], body);
    expect(usual).toMatchObject({ hasWalk: true, first: { isWalked: true } });
    const parsed = parseIn(flags, body);
    const other = { ...usual.first, isWalked: false };
    expect(parsed).toEqual({ hasWalk, first: other, second: other });
    expect(other.records).toHaveLength(40);
    expect(other.rejected).toHaveLength(1);
  });
});
