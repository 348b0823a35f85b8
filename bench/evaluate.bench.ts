// How many rows per second can be evaluated, with a target that returns at once, and what does that cost the evaluating
// process, compared with langsmith's `evaluate`?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { EvaluateCost, EvaluateRequest, Evaluator } from "./evaluate-child.ts";
import { runChild } from "./processes.ts";
import { formatNumber, publish, table } from "./results.ts";

const numberFlag = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  return at === -1 ? fallback : Number(process.argv[at + 1]);
};

const rows = numberFlag("--rows", 10_000);
const concurrency = numberFlag("--concurrency", 100);
/** Number of rounds. In each, every evaluator is measured once. */
const rounds = numberFlag("--rounds", 1);
/** With Node's default heap, langsmith's process runs out of memory at 10,000 rows. */
const heapMb = 12_000;
const goal = 10;
const datasetName = "bench";
const evaluators: readonly Evaluator[] = process.argv.includes("--alone")
  ? ["millrace"]
  : ["millrace", "langsmith"];

const formatCount = (value: number): string => value.toLocaleString("en-US");

const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const results = new Map<Evaluator, EvaluateCost[]>(evaluators.map((name) => [name, []]));
try {
  for (let round = 0; round < rounds; round += 1) {
    for (const evaluator of evaluators) {
      try {
        const cost = await measure(evaluator);
        results.get(evaluator)?.push(cost);
        console.error(`${evaluator}: ${formatNumber(rows / cost.seconds)} rows/s`);
      } catch (error) {
        if (evaluator === "millrace") {
          throw error;
        }
        // Even with a larger heap, langsmith's process may run out of memory.
        console.error(`${evaluator}: its process ended early. Pass fewer --rows`, error);
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;

const medianOf = (evaluator: Evaluator, figure: (cost: EvaluateCost) => number): number =>
  median((results.get(evaluator) ?? []).map(figure));

const rateOf = (evaluator: Evaluator): number =>
  medianOf(evaluator, ({ seconds }) => rows / seconds);

const ratio = rateOf("millrace") / rateOf("langsmith");
const verdict = Number.isNaN(ratio)
  ? "not measured, because its process did not reach the end"
  : `${formatNumber(ratio)} times, ${ratio >= goal ? "met" : "missed"}`;
publish({
  script: "evaluate",
  question: `How many rows can be evaluated per second, with an immediate target: ${formatCount(rows)} rows, ${concurrency} at a time?`,
  body: `${table(
    [
      "",
      "rows/s",
      "main thread: CPU µs per row",
      "all threads: CPU µs per row",
      "peak MB",
      "heap MB after a tenth",
      "heap MB at the end",
    ],
    evaluators.map((evaluator) => [
      evaluator,
      formatNumber(rateOf(evaluator)),
      formatNumber(medianOf(evaluator, ({ mainMicros }) => mainMicros)),
      formatNumber(medianOf(evaluator, ({ cpuMicros }) => cpuMicros)),
      formatNumber(medianOf(evaluator, ({ peakMb }) => peakMb)),
      formatNumber(medianOf(evaluator, ({ memory }) => memory[0]?.heapMb ?? Number.NaN)),
      formatNumber(medianOf(evaluator, ({ memory }) => memory.at(-1)?.heapMb ?? Number.NaN)),
    ]),
  )}

Goal: ${goal} times the rate of langsmith's \`evaluate\`: ${verdict}. Each row is a run, a run of the evaluator and a score, which the server has acknowledged at the end. Server and evaluation are separate processes on one machine, so the rate includes what the server needs.`,
});

/** Runs one evaluation in a separate process, against a new server with a new data folder. */
async function measure(evaluator: Evaluator): Promise<EvaluateCost> {
  const data = mkdtempSync(join(folder, "data-"));
  const command = join(import.meta.dirname, "../cli/dist/millrace.js");
  const server = spawn(process.execPath, [command, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const endpoint = /http:\/\/\S+/.exec(line.toString())?.[0] ?? "";
    const client = new Client({ endpoint });
    await client.examples.upload(
      Array.from({ length: rows }, (_, number) => ({
        inputs: { number },
        outputs: { half: number / 2 },
      })),
      { datasetName, createDataset: true },
    );
    await client.close();
    const request: EvaluateRequest = { evaluator, rows, concurrency, datasetName, endpoint };
    return await runChild<EvaluateCost>("evaluate-child", request, { heapMb });
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
    rmSync(data, { recursive: true, force: true });
  }
}
