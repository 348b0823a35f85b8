import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import type { Command } from "commander";
import type { ClientOptions } from "millrace";
import { version } from "millrace/model";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags, createInterruptSignal, withClient } from "../local-server/server-flags.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";
import { Meter } from "../bench/meter.ts";
import { recordLoad } from "../bench/record-load.ts";
import type { LoadPlan } from "../bench/record-load.ts";
import { formatReport, showFigures } from "../bench/show-figures.ts";
import { sizeNames } from "../bench/workload.ts";

interface BenchFlags extends ServerFlags {
  readonly runs?: string;
  readonly size: string;
  readonly rate?: string;
  readonly duration?: string;
  readonly workers?: string;
  readonly project: string;
  readonly json?: string;
}

const defaultRunCount = 10_000;
/** Largest accepted values of the flags. They exceed what any machine can do, but are exact as JavaScript numbers. */
const flagLimits = { runs: 1_000_000_000, rate: 1_000_000, duration: 86_400, workers: 64 } as const;

/** Adds `millrace bench`. `onLoss` is called if the server did not acknowledge every recorded run. */
export function addBench(program: Command, onLoss: () => void): void {
  const command = program
    .command("bench")
    .description(
      "Record runs as a program does, send them to a server, and report throughput, CPU time and memory.",
    )
    .option(
      "--runs <count>",
      `runs to record (default: ${defaultRunCount.toLocaleString("en")}, or as many as --duration allows)`,
    )
    .option("--size <size>", "size of a run: S, M, L or XL (1.3, 5.5, 42, 411 kB of JSON)", "M")
    .option("--rate <runs>", "runs per second (default: as fast as the server accepts them)")
    .option("--duration <seconds>", "maximum recording time")
    .option("--workers <count>", "worker threads that send (default: the client's default)")
    .option("--project <name>", "project of the runs", "bench")
    .option("--json <file>", "file to write the report to, as JSON");
  addHelpExamples(command, [
    "millrace bench",
    "millrace bench --rate 500 --duration 600 --size L --json report.json",
  ]);
  addServerFlags(command).action(async (flags: BenchFlags) => {
    if (!(await runBench(flags))) {
      onLoss();
    }
  });
}

/**
 * Records the load and prints the report.
 *
 * @returns whether the server acknowledged every recorded run.
 */
async function runBench(flags: BenchFlags): Promise<boolean> {
  const plan = parsePlan(flags);
  const { size, rate, workerCount } = plan;
  const signal = createInterruptSignal();
  const reportFile = flags.json === undefined ? undefined : await openReport(flags.json);
  try {
    return await withClient(flags, toClientOptions(flags, plan), async (client) => {
      // If the server refuses the API key, this request fails before anything is recorded, so the error is reported
      // only once.
      await client.projects.list({ limit: 1, signal }).toArray();
      const meter = new Meter(client);
      const display = showFigures(process.stderr, () => meter.figures);
      try {
        await recordLoad(client, { ...plan, signal, meter });
      } finally {
        display.stop();
        meter.stop();
      }
      // Runs that are not acknowledged by now are dropped and counted.
      await client.close({ timeoutMs: 0 });
      const { figures } = meter;
      process.stdout.write(formatReport(figures, plan));
      const environment = { sdk: version, node: process.version, platform: process.platform };
      const report = {
        size,
        rate: rate ?? null,
        workers: workerCount ?? null,
        ...figures,
        ...environment,
      };
      const interruption = signal.aborted ? { interrupted: true } : {};
      await reportFile?.writeFile(
        `${JSON.stringify({ ...report, ...interruption }, undefined, 2)}\n`,
      );
      return figures.acknowledged === figures.recorded;
    });
  } finally {
    await reportFile?.close();
  }
}

/** Client options that the benchmark requires; all others come from the environment. */
const toClientOptions = (
  { project }: BenchFlags,
  { rate, workerCount }: LoadPlan,
): ClientOptions => ({
  projectName: project,
  enabled: true,
  samplingRate: 1,
  // Without a rate, recording blocks until the server catches up. With a rate, runs beyond the queue's capacity
  // are dropped, as in a real program.
  ...(rate === undefined ? { overflow: "block" } : {}),
  workers: workerCount,
});

function parsePlan(flags: BenchFlags): LoadPlan {
  const size = sizeNames.find((name) => name === flags.size);
  if (size === undefined) {
    throw new UsageError(
      `--size must be one of ${sizeNames.join(", ")}, not ${JSON.stringify(flags.size)}`,
    );
  }
  const duration = parseWholeNumber(flags.duration, "duration", 1);
  const runs =
    parseWholeNumber(flags.runs, "runs", 1) ??
    (duration === undefined ? defaultRunCount : flagLimits.runs);
  return {
    size,
    runCount: runs,
    durationMs: duration === undefined ? Number.POSITIVE_INFINITY : duration * 1_000,
    rate: parseWholeNumber(flags.rate, "rate", 1),
    workerCount: parseWholeNumber(flags.workers, "workers", 0),
  };
}

function parseWholeNumber(
  text: string | undefined,
  flag: keyof typeof flagLimits,
  min: number,
): number | undefined {
  const value = /^\d{1,10}$/.test(text ?? "") ? Number(text) : Number.NaN;
  if (text !== undefined && !(value >= min && value <= flagLimits[flag])) {
    throw new UsageError(
      `--${flag} must be a whole number from ${min} to ${flagLimits[flag]}, not ${JSON.stringify(text)}`,
    );
  }
  return text === undefined ? undefined : value;
}

/** Opens the report file before anything is recorded, so that a path that can't be written is reported immediately. */
async function openReport(path: string): Promise<FileHandle> {
  try {
    return await open(path, "w", 0o600);
  } catch (cause) {
    throw new UsageError(`--json: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
