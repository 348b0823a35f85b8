// What does a client cost a short program: import it, record one run, deliver it, end?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeExceeded, guardedGoalTable } from "./guarded-goals.ts";
import type { GuardedGoal } from "./guarded-goals.ts";
import { querySink } from "./process-figures.ts";
import { cleanEnvironment, nodePath, withSink } from "./processes.ts";
import { formatSpread, median, publish, table } from "./results.ts";

interface StartFigures {
  /** Milliseconds from the start of the process until its parent learns of its end. */
  readonly wallMs: number;
  /** Milliseconds of CPU time of all threads, measured by the kernel. */
  readonly cpuMs: number;
  readonly importMs: number;
  readonly importCpuMs: number;
  /** Milliseconds from the delivery of the run to the end of the process. */
  readonly endMs: number;
  readonly peakRssMb: number;
}

const empty = "empty";
const own = "millrace";
/** In CI a ratio may exceed its goal by this factor. */
const guardMargin = 1.25;

const titles: Readonly<Record<keyof StartFigures, string>> = {
  wallMs: "start to end, ms",
  cpuMs: "CPU ms",
  importMs: "import ms",
  importCpuMs: "import CPU ms",
  endMs: "delivered to end, ms",
  peakRssMb: "peak RSS MB",
};
const figureNames = Object.keys(titles) as readonly (keyof StartFigures)[];

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    programs: { type: "string", default: `${empty},opentelemetry,millrace,langsmith` },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const programs = flags.programs.split(",");
const rounds = Number(flags.rounds);
const measured = new Map<string, StartFigures[]>(programs.map((program) => [program, []]));

await withSink(async (endpoint) => {
  // The first round is not counted: it warms up the server and the file system's cache.
  for (let round = 0; round <= rounds; round++) {
    for (const program of programs) {
      const figures = await measure(program, endpoint);
      if (round > 0) {
        measured.get(program)?.push(figures);
      }
    }
  }
});
report();

/** Runs one program. Bash measures its CPU time, because that of the program itself does not include its end. */
async function measure(program: string, endpoint: string): Promise<StartFigures> {
  const file = fileURLToPath(new URL(`start/${program}.mjs`, import.meta.url));
  const { runs: runsBefore } = await querySink(endpoint, []);
  const startedAt = performance.now();
  const child = spawn(
    "bash",
    ["-c", 'TIMEFORMAT="%3U %3S"; time "$@"', "bash", nodePath(flags.node), file, endpoint],
    { stdio: ["ignore", "pipe", "pipe"], env: cleanEnvironment() },
  );
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  const endedAt = performance.timeOrigin + performance.now();
  const wallMs = endedAt - performance.timeOrigin - startedAt;
  const cpuSeconds = /(\d+\.\d+) (\d+\.\d+)\s*$/.exec(stderr)?.slice(1).map(Number) ?? [];
  if (child.exitCode !== 0 || cpuSeconds.length !== 2) {
    throw new Error(`The program ${program} failed: ${stderr}`);
  }
  const { runs } = await querySink(endpoint, []);
  if (runs - runsBefore !== (program === empty ? 0 : 1)) {
    throw new Error(`The program ${program} delivered ${runs - runsBefore} runs, not one.`);
  }
  const { deliveredAt, ...figures } = JSON.parse(stdout) as Omit<StartFigures, "endMs"> & {
    readonly deliveredAt: number;
  };
  return {
    ...figures,
    wallMs,
    cpuMs: cpuSeconds.reduce((sum, seconds) => sum + seconds * 1_000, 0),
    endMs: endedAt - deliveredAt,
  };
}

function each(program: string, figure: keyof StartFigures): readonly number[] {
  return (measured.get(program) ?? []).map((figures) => figures[figure]);
}

/**
 * Ratio of Millrace's median to another client's. Medians are compared, because a single slow start says nothing about
 * a client.
 */
function ratio(other: string, figure: keyof StartFigures): number {
  return median(each(own, figure)) / median(each(other, figure));
}

function listGoals(): readonly GuardedGoal[] {
  const ofOpenTelemetry = flags.node === "24" ? 0.8 : 1;
  const ratios = [
    { title: "start to end", other: "opentelemetry", figure: "wallMs", limit: ofOpenTelemetry },
    { title: "CPU", other: "opentelemetry", figure: "cpuMs", limit: ofOpenTelemetry },
    { title: "start to end", other: "langsmith", figure: "wallMs", limit: 1 },
    { title: "CPU", other: "langsmith", figure: "cpuMs", limit: 1 },
    { title: "import CPU", other: "langsmith", figure: "importCpuMs", limit: 0.7 },
    { title: "peak RSS", other: "langsmith", figure: "peakRssMb", limit: 1 },
  ] as const;
  const ofOthers = ratios
    .filter(({ other }) => programs.includes(other))
    .map(({ title, other, figure, limit }) => ({
      title: `${title}, relative to ${other}`,
      value: ratio(other, figure),
      limit,
      guardLimit: limit * guardMargin,
    }));
  const addedEndMs = median(each(own, "endMs")) - median(each(empty, "endMs"));
  return [
    ...ofOthers,
    {
      title: "delivered to end, ms more than the empty program",
      value: addedEndMs,
      limit: 30,
      guardLimit: 30 * guardMargin,
    },
  ];
}

function report(): void {
  const goals = listGoals();
  const failures = flags.guard ? describeExceeded(goals) : [];
  const rows = programs.map((program) => [
    program,
    ...figureNames.map((figure) => {
      const values = each(program, figure);
      return values.every(Number.isFinite) ? formatSpread(values) : "";
    }),
  ]);
  publish({
    script: "start",
    section: flags.node === undefined ? "start" : `start-node${flags.node}`,
    question: "What does a client cost a program that records one run and ends?",
    node: flags.node,
    body: [
      table(["program", ...figureNames.map((figure) => titles[figure])], rows),
      guardedGoalTable(goals),
      [
        `Median (lowest–highest) of ${rounds} interleaved rounds. Each program imports a client, records one run, waits until it is delivered to a server on the same machine, and ends; \`empty\` only ends.`,
        ...failures.map((failure) => `**Failed:** ${failure}`),
      ].join("\n"),
    ].join("\n\n"),
  });
  process.exitCode = failures.length > 0 ? 1 : 0;
}
