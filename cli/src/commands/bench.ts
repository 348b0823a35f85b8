import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import type { Command } from "commander";
import type { ClientOptions } from "millrace";
import { version } from "millrace/model";
import { addExamples } from "../examples.ts";
import { addServerFlags, endSignal, withClient } from "../local-server/server-flags.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";
import { Meter } from "../bench/meter.ts";
import { recordLoad } from "../bench/record-load.ts";
import type { LoadPlan } from "../bench/record-load.ts";
import { describe, showFigures } from "../bench/show-figures.ts";
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

const usualRuns = 10_000;
/** Of a flag: far beyond what a machine does, and still exact. */
const most = { runs: 1_000_000_000, rate: 1_000_000, duration: 86_400, workers: 64 } as const;

/** Adds `millrace bench`. `onLoss` hears that not all that was recorded was acknowledged. */
export function addBench(program: Command, onLoss: () => void): void {
  const command = program
    .command("bench")
    .description("Record runs against a server, as a program would, and report what that costs.")
    .option(
      "--runs <count>",
      `runs to record (default: ${usualRuns.toLocaleString("en")}, or what --duration has time for)`,
    )
    .option("--size <size>", "size of a run: S, M, L or XL (1.3, 5.5, 42, 411 kB of JSON)", "M")
    .option("--rate <runs>", "runs a second (default: as fast as the server takes them)")
    .option("--duration <seconds>", "longest time to record")
    .option("--workers <count>", "threads that send (default: the client's)")
    .option("--project <name>", "project of the runs", "bench")
    .option("--json <file>", "file for the report as JSON");
  addExamples(command, [
    "millrace bench",
    "millrace bench --rate 500 --duration 600 --size L --json report.json",
  ]);
  addServerFlags(command).action(async (flags: BenchFlags) => {
    if (!(await bench(flags))) {
      onLoss();
    }
  });
}

/** @returns whether all that was recorded was acknowledged. */
async function bench(flags: BenchFlags): Promise<boolean> {
  const plan = toPlan(flags);
  const { size, rate, workers } = plan;
  const signal = endSignal();
  const file = flags.json === undefined ? undefined : await openReport(flags.json);
  try {
    return await withClient(flags, settingsOf(flags, plan), async (client) => {
      // Refused here, once, rather than with each run.
      await client.projects.list({ limit: 1, signal }).toArray();
      const meter = new Meter(client);
      const display = showFigures(process.stderr, () => meter.figures);
      try {
        await recordLoad(client, { ...plan, signal, meter });
      } finally {
        display.stop();
        meter.stop();
      }
      // What is not acknowledged by now is given up, and counted.
      await client.close({ timeoutMs: 0 });
      const { figures } = meter;
      process.stdout.write(describe(figures, plan));
      const about = { sdk: version, node: process.version, platform: process.platform };
      const said = { size, rate: rate ?? null, workers: workers ?? null, ...figures, ...about };
      const ended = signal.aborted ? { interrupted: true } : {};
      await file?.writeFile(`${JSON.stringify({ ...said, ...ended }, undefined, 2)}\n`);
      return figures.acknowledged === figures.recorded;
    });
  } finally {
    await file?.close();
  }
}

/** What a run of the load needs of a client; the rest is as the environment has it. */
const settingsOf = ({ project }: BenchFlags, { rate, workers }: LoadPlan): ClientOptions => ({
  projectName: project,
  enabled: true,
  samplingRate: 1,
  // Without a rate the server's pace is the program's; with one, what is too much is dropped, as it would be.
  ...(rate === undefined ? { overflow: "block" } : {}),
  workers,
});

function toPlan(flags: BenchFlags): LoadPlan {
  const size = sizeNames.find((name) => name === flags.size);
  if (size === undefined) {
    throw new UsageError(
      `--size is one of ${sizeNames.join(", ")}, not ${JSON.stringify(flags.size)}`,
    );
  }
  const duration = whole(flags.duration, "duration", 1);
  const runs = whole(flags.runs, "runs", 1) ?? (duration === undefined ? usualRuns : most.runs);
  return {
    size,
    runs,
    durationMs: duration === undefined ? Number.POSITIVE_INFINITY : duration * 1_000,
    rate: whole(flags.rate, "rate", 1),
    workers: whole(flags.workers, "workers", 0),
  };
}

function whole(
  text: string | undefined,
  flag: keyof typeof most,
  least: number,
): number | undefined {
  const value = /^\d{1,10}$/.test(text ?? "") ? Number(text) : Number.NaN;
  if (text !== undefined && !(value >= least && value <= most[flag])) {
    throw new UsageError(
      `--${flag} is a whole number from ${least} to ${most[flag]}, not ${JSON.stringify(text)}`,
    );
  }
  return text === undefined ? undefined : value;
}

/** Before anything is recorded: a report that can't be written is no news for the end. */
async function openReport(path: string): Promise<FileHandle> {
  try {
    return await open(path, "w", 0o600);
  } catch (cause) {
    throw new UsageError(`--json: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
