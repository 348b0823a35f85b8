// Measures one evaluation in a separate process. evaluate.bench.ts starts it and receives an EvaluateCost from it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMainNanos, readPeakRssMb } from "./process-figures.ts";

/** The client to measure. */
export type Evaluator = "millrace" | "langsmith";

export interface EvaluateRequest {
  readonly evaluator: Evaluator;
  readonly rows: number;
  readonly concurrency: number;
  readonly datasetName: string;
  readonly endpoint: string;
}

export interface EvaluateCost {
  /** From the call until the server has acknowledged the last row. */
  readonly seconds: number;
  /** CPU time of the main thread per row. */
  readonly mainMicros: number;
  /** CPU time per row, of all threads of the process. */
  readonly cpuMicros: number;
  readonly peakMb: number;
  /** Resident memory and heap of the main thread, first when a tenth of the rows had finished and then at the end. */
  readonly memory: readonly { readonly residentMb: number; readonly heapMb: number }[];
}

interface Inputs {
  readonly number: number;
}

interface Half {
  readonly half: number;
}

const halve = ({ number }: Inputs): Half => ({ half: number / 2 });

const memory: { residentMb: number; heapMb: number }[] = [];

const recordMemory = (): void => {
  const { rss, heapUsed } = process.memoryUsage();
  memory.push({ residentMb: rss / 2 ** 20, heapMb: heapUsed / 2 ** 20 });
};

/** Both evaluate the same target, which returns at once, on the same dataset with one evaluator. */
const evaluators: Readonly<Record<Evaluator, (request: EvaluateRequest) => Promise<number>>> = {
  async millrace({ endpoint, datasetName, rows, concurrency }) {
    const { Client } = await import("millrace");
    const { evaluate } = await import("millrace/evaluation");
    const client = new Client({ endpoint, apiKey: "none" });
    const journalDir = mkdtempSync(join(tmpdir(), "millrace-bench-"));
    let finished = 0;
    const result = await evaluate(halve, {
      data: datasetName,
      evaluators: [
        {
          name: "right",
          evaluate: ({ outputs, referenceOutputs }) => outputs.half === referenceOutputs["half"],
        },
      ],
      onRow: () => {
        finished += 1;
        if (finished === Math.ceil(rows / 10)) {
          recordMemory();
        }
      },
      experiment: `millrace ${process.pid}`,
      concurrency,
      client,
      journalDir,
    });
    await client.close();
    rmSync(journalDir, { recursive: true });
    return result.acknowledged;
  },
  async langsmith({ endpoint, datasetName, rows, concurrency }) {
    process.env["LANGSMITH_TRACING"] = "true";
    const { Client } = await import("langsmith");
    const { evaluate } = await import("langsmith/evaluation");
    const client = new Client({ apiUrl: endpoint, apiKey: "none" });
    let finished = 0;
    const result = await evaluate(
      (inputs: Inputs) => {
        finished += 1;
        if (finished === Math.ceil(rows / 10)) {
          recordMemory();
        }
        return halve(inputs);
      },
      {
        data: datasetName,
        evaluators: [
          ({
            outputs,
            referenceOutputs = {},
          }: {
            outputs: Record<string, unknown>;
            referenceOutputs?: Record<string, unknown>;
          }) => ({
            key: "right",
            score: outputs["half"] === referenceOutputs["half"],
          }),
        ],
        maxConcurrency: concurrency,
        client,
      },
    );
    await client.awaitPendingTraceBatches();
    return result.results.length;
  },
};

process.once("message", (request: EvaluateRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: EvaluateRequest): Promise<void> {
  const cpuBefore = process.cpuUsage();
  const mainBefore = readMainNanos();
  const startedAt = performance.now();
  const rows = await evaluators[request.evaluator](request);
  if (rows !== request.rows) {
    throw new Error(`${request.evaluator}: ${rows} of ${request.rows} rows were evaluated`);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  recordMemory();
  process.send?.({
    seconds,
    mainMicros: (readMainNanos() - mainBefore) / 1_000 / request.rows,
    cpuMicros: (user + system) / request.rows,
    peakMb: readPeakRssMb(),
    memory,
  } satisfies EvaluateCost);
  process.disconnect();
}
