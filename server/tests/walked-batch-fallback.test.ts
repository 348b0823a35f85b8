import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { wireRun } from "./support/wire-runs.ts";

const distUrl = pathToFileURL(`${import.meta.dirname}/../dist/`).href;

/** Parses the same body twice; prints whether its posts were parsed by the WebAssembly module, and the result. */
const script = `
  const { takeBatch } = await import("${distUrl}runs/ingest/parse-batch.js");
  const { getBatchWalk } = await import("${distUrl}runs/ingest/batch-walk.js");
  const { packPosts } = await import("${distUrl}runs/sqlite/post-rows.js");
  const body = Buffer.concat(await process.stdin.toArray());
  const seen = () => {
    const { batch, rejected } = takeBatch([Buffer.from(body)]);
    const { posts, records } = packPosts(batch);
    return { isWalked: batch.posts !== undefined, rows: (batch.posts ?? posts).values, records, rejected };
  };
  console.log(JSON.stringify({ hasWalk: getBatchWalk() !== undefined, first: seen(), second: seen() }));
`;

interface Seen {
  readonly isWalked: boolean;
  readonly rows: readonly unknown[];
  readonly records: readonly unknown[];
  readonly rejected: readonly unknown[];
}

/** Runs the script in a process with the given flags. */
function seenBy(flags: readonly string[], input: string) {
  const args = [...flags, "--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { input, encoding: "utf8", stdio: "pipe" });
  return JSON.parse(output) as { hasWalk: boolean; first: Seen; second: Seen };
}

const body = JSON.stringify({
  post: [
    ...Array.from({ length: 40 }, (_, at) => wireRun({ inputs: { text: `${at}`.repeat(5_000) } })),
    wireRun({ id: "no id" }),
  ],
});

describe("a batch has the same result in a process", () => {
  // The module itself needs 32 pages of memory; the body takes seven more.
  test.each([
    { title: "that has no WebAssembly", flags: ["--jitless"], hasWalk: false },
    {
      title: "that has no memory for the module",
      flags: ["--wasm-max-mem-pages=8"],
      hasWalk: false,
    },
    { title: "whose module can't grow", flags: ["--wasm-max-mem-pages=34"], hasWalk: true },
  ])("$title", ({ flags, hasWalk }) => {
    const usual = seenBy([], body);
    expect(usual).toMatchObject({ hasWalk: true, first: { isWalked: true } });
    const seen = seenBy(flags, body);
    const other = { ...usual.first, isWalked: false };
    expect(seen).toEqual({ hasWalk, first: other, second: other });
    expect(other.rows.length).toBeGreaterThan(40);
    expect(other.rejected).toHaveLength(1);
  });
});
