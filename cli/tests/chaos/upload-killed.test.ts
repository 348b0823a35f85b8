import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, test } from "vitest";
import { ended, start } from "../support/command.ts";
import { moments, startKillingProxy } from "../support/killing-proxy.ts";
import { useRowFixture } from "../support/rows.ts";

const fixture = useRowFixture();
const many = 20_000;
const kills = 10;
const numbers = Array.from({ length: many }, (_, n) => n);
const program = fileURLToPath(new URL("../support/pipeline-program.mjs", import.meta.url));

/** A generator of random numbers that yields the same sequence in every test run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Starts the uploader repeatedly: it is killed ten times, and then allowed to finish. */
async function uploadKilled(
  seed: number,
  folder: string,
  begin: (endpoint: string) => ChildProcessWithoutNullStreams,
): Promise<string> {
  const proxy = await startKillingProxy(fixture.endpoint);
  const random = seeded(seed);
  for (let round = 0; round < kills; round++) {
    const child = begin(proxy.url);
    proxy.arm({
      // There are 80 requests: 30 and nine times at most five don't complete the upload. The first 30 are
      // enough for some of them to be acknowledged and recorded in the checkpoint, even on a busy machine.
      request: round === 0 ? 30 : 1 + random(5),
      moment: moments[random(moments.length)] ?? "before its response",
      kill: () => void child.kill("SIGKILL"),
    });
    const [, signal] = (await once(child, "close")) as [number | null, string | null];
    expect(signal).toBe("SIGKILL");
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  }
  proxy.arm(undefined);
  const { code, output, errors } = await ended(begin(proxy.url));
  // On a busy machine the upload takes long enough to print progress lines.
  const faults = errors.replaceAll(/^.* rows\/s.*\n/gm, "");
  expect({ code, faults }).toEqual({ code: 0, faults: "" });
  return output;
}

async function expectEachOnce(): Promise<void> {
  const found: unknown[] = [];
  for await (const { inputs } of fixture.client.examples.list({ datasetName: fixture.dataset })) {
    found.push(inputs["n"]);
  }
  expect(found).toHaveLength(many);
  expect(new Set(found)).toEqual(new Set(numbers));
}

test("the command, killed ten times, uploads every row once", { timeout: 240_000 }, async () => {
  const file = fixture.path("rows.jsonl");
  writeFileSync(file, numbers.map((n) => `{"n":${n},"text":"row ${n}"}\n`).join(""));
  const args = ["upload", file, "--dataset", fixture.dataset, "--create", "--chunk-count", "250"];
  const output = await uploadKilled(7, dirname(file), (endpoint) =>
    start([...args, "--json"], { MILLRACE_ENDPOINT: endpoint }),
  );
  const result = JSON.parse(output) as { readonly files: readonly { firstRow: number }[] };
  expect(result).toMatchObject({ read: many, rejected: 0 });
  expect(result.files[0]?.firstRow).toBeGreaterThan(1);
  await expectEachOnce();
  expect(existsSync(`${file}.millrace-checkpoint.json`)).toBe(false);
});

test(
  "a pipeline that reads a Parquet file, killed ten times, uploads every row once",
  { timeout: 240_000 },
  async () => {
    const [file, checkpoint] = [fixture.path("rows.parquet"), fixture.path("checkpoint.json")];
    const columnData = [
      { name: "n", data: numbers, type: "DOUBLE" as const },
      { name: "text", data: numbers.map((n) => `row ${n}`) },
    ];
    writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 1_500 })));
    const output = await uploadKilled(11, dirname(file), (endpoint) =>
      spawn(process.execPath, [program, file, fixture.dataset, checkpoint], {
        env: { ...process.env, MILLRACE_ENDPOINT: endpoint },
      }),
    );
    expect(JSON.parse(output)).toMatchObject({ read: many, rejected: 0 });
    expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toMatchObject({ rows: many });
    await expectEachOnce();
  },
);
