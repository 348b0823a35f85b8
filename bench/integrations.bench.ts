// What does recording a streamed answer cost with a wrapped client, and how much later is the first token?
import { parseArgs } from "node:util";
import { describeExceeded, guardedGoalTable } from "./guarded-goals.ts";
import type { GuardedGoal } from "./guarded-goals.ts";
import type {
  CpuFigures,
  EndFigures,
  IntegrationsRequest,
  WrapperName,
} from "./integrations-child.ts";
import { withChild, withServer, withSink } from "./processes.ts";
import { formatNumber, formatSpread, median, publish, table } from "./results.ts";

const wrapperNames = ["none", "millrace", "langsmith"] as const satisfies readonly WrapperName[];
interface Answer {
  /** Bytes of a stream. */
  readonly bytes: number;
  /** Minimum number of calls in a block whose CPU time is measured. */
  readonly calls: number;
  /** Calls a second while the time to the first token is measured: about a quarter of what one core can take. */
  readonly callsPerSecond: number;
}

/** By the names of the flag `--sizes`. */
const answers: Readonly<Record<string, Answer>> = {
  "2kB": { bytes: 2_000, calls: 200, callsPerSecond: 200 },
  "50kB": { bytes: 50_000, calls: 40, callsPerSecond: 50 },
  "1MB": { bytes: 1_000_000, calls: 8, callsPerSecond: 5 },
};

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    sizes: { type: "string", default: Object.keys(answers).join(",") },
    blocks: { type: "string", default: "6" },
    "warmup-seconds": { type: "string", default: "5" },
    node: { type: "string" },
    guard: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds);
const blocks = Number(flags.blocks);
const warmupMs = Number(flags["warmup-seconds"]) * 1_000;
/** How long a wrapper is measured before the next one is, milliseconds. */
const cpuBlockMs = 2_000;
const latencyBlockMs = 2_000;
const sizes = flags.sizes.split(",").filter((size) => Object.hasOwn(answers, size));

/** The figures of a wrapper in a round. */
interface WrapperFigures extends EndFigures {
  /** CPU time of a call, microseconds. */
  readonly mainMicros: number;
  readonly allMicros: number;
  readonly calls: number;
  /** Time to the first token, microseconds. */
  readonly firstTokenMicrosP50: number;
  readonly firstTokenMicrosP99: number;
  readonly latencyCalls: number;
}

const measured = new Map<string, WrapperFigures[]>();
const figuresOf = (size: string, wrapper: WrapperName): readonly WrapperFigures[] =>
  measured.get(`${size} ${wrapper}`) ?? [];

const each = (
  size: string,
  wrapper: WrapperName,
  figure: keyof WrapperFigures,
): readonly number[] => figuresOf(size, wrapper).map((figures) => figures[figure]);

/** A figure of each round above that of the client without a wrapper, in the same round. */
function added(
  size: string,
  wrapper: WrapperName,
  figure: keyof WrapperFigures,
): readonly number[] {
  const bare = each(size, "none", figure);
  return each(size, wrapper, figure).map((value, round) => value - (bare[round] ?? Number.NaN));
}

await withServer("model-api", async (baseURL) => {
  for (let round = 1; round <= rounds; round++) {
    for (const size of sizes) {
      await measureRound(round, size, baseURL);
    }
  }
});
report();

/** A running program with one of the wrappers. */
interface Participant {
  readonly wrapper: WrapperName;
  readonly ask: (request: IntegrationsRequest) => Promise<unknown>;
  readonly cpu: CpuFigures[];
  readonly latencies: number[];
}

/** Measures the wrappers by turns, in short blocks, so that other programs on the machine slow all of them alike. */
async function measureRound(round: number, size: string, baseURL: string): Promise<void> {
  const answer = answers[size];
  if (answer === undefined) {
    throw new RangeError(`There is no size ${size}`);
  }
  await withParticipants(answer, baseURL, async (participants) => {
    for (const { ask } of participants) {
      await ask({ kind: "cpu", minCalls: answer.calls, minMs: warmupMs });
    }
    for (let block = 0; block < blocks; block++) {
      for (const { ask, cpu, latencies } of rotate(participants, block)) {
        const cpuRequest = { kind: "cpu", minCalls: answer.calls, minMs: cpuBlockMs } as const;
        cpu.push((await ask(cpuRequest)) as CpuFigures);
        const { callsPerSecond } = answer;
        const times = await ask({ kind: "latency", callsPerSecond, durationMs: latencyBlockMs });
        latencies.push(...(times as readonly number[]));
      }
    }
    for (const participant of participants) {
      const figures = await summarize(participant);
      const key = `${size} ${participant.wrapper}`;
      measured.set(key, [...(measured.get(key) ?? []), figures]);
      console.error(
        `round ${round}: ${key}, ${formatNumber(figures.mainMicros)} µs of the main thread, first token p99 ${formatNumber(figures.firstTokenMicrosP99)} µs, ${figures.calls} and ${figures.latencyCalls} calls, ${figures.received} of ${figures.expected} runs`,
      );
    }
  });
}

/** The same elements, beginning with another one in each block. */
function rotate<Item>(items: readonly Item[], block: number): readonly Item[] {
  const first = block % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

/** Starts a program for each wrapper, with a server of its own that receives its runs, and calls `measure`. */
async function withParticipants(
  { bytes: answerBytes }: Answer,
  baseURL: string,
  measure: (participants: readonly Participant[]) => Promise<void>,
): Promise<void> {
  const participants: Participant[] = [];
  const startFrom = async (index: number): Promise<void> => {
    const wrapper = wrapperNames[index];
    if (wrapper === undefined) {
      await measure(participants);
      return;
    }
    await withSink((endpoint) =>
      withChild("integrations-child", { node: flags.node }, async (ask) => {
        await ask({ kind: "start", wrapper, baseURL, endpoint, answerBytes });
        participants.push({ wrapper, ask, cpu: [], latencies: [] });
        await startFrom(index + 1);
      }),
    );
  };
  await startFrom(0);
}

async function summarize({ ask, cpu, latencies }: Participant): Promise<WrapperFigures> {
  const total = (figure: keyof CpuFigures): number =>
    cpu.reduce((sum, figures) => sum + figures[figure], 0);
  const sorted = latencies.toSorted((left, right) => left - right);
  const percentile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return {
    ...((await ask({ kind: "end" })) as EndFigures),
    mainMicros: total("mainMicros") / total("calls"),
    allMicros: total("allMicros") / total("calls"),
    calls: total("calls"),
    firstTokenMicrosP50: percentile(0.5),
    firstTokenMicrosP99: percentile(0.99),
    latencyCalls: sorted.length,
  };
}

function goalsOf(size: string): readonly GuardedGoal[] {
  return [
    {
      title: `${size}: added main CPU, relative to langsmith`,
      value:
        median(added(size, "millrace", "mainMicros")) /
        median(added(size, "langsmith", "mainMicros")),
      limit: 0.1,
      guardLimit: 0.3,
    },
    {
      title: `${size}: added to the first token at p99, ms`,
      value: median(added(size, "millrace", "firstTokenMicrosP99")) / 1_000,
      limit: 1,
      guardLimit: 5,
    },
  ];
}

function report(): void {
  const columns = [
    "mainMicros",
    "allMicros",
    "firstTokenMicrosP50",
    "firstTokenMicrosP99",
  ] as const;
  const rows = sizes.flatMap((size) =>
    wrapperNames.map((wrapper) => [
      size,
      wrapper === "none" ? "the client alone" : wrapper,
      ...columns.map((figure) =>
        formatSpread(
          wrapper === "none" ? each(size, wrapper, figure) : added(size, wrapper, figure),
        ),
      ),
      formatNumber(median(each(size, wrapper, "peakRssMb"))),
    ]),
  );
  const goals = sizes.flatMap(goalsOf);
  const problems = [
    ...sizes.flatMap((size) =>
      figuresOf(size, "millrace").some(({ received, expected }) => received < expected)
        ? [`Millrace lost runs at ${size}.`]
        : [],
    ),
    ...(flags.guard ? describeExceeded(goals) : []),
  ];
  publish({
    script: "integrations",
    question: "What does recording a streamed answer cost with a wrapped OpenAI client?",
    node: flags.node,
    body: [
      table(
        [
          "stream",
          "wrapper",
          "main thread µs",
          "all threads µs",
          "first token p50 µs",
          "first token p99 µs",
          "memory MB",
        ],
        rows,
      ),
      guardedGoalTable(goals),
      [
        `Median (lowest–highest) of ${rounds} rounds, each of ${blocks} blocks in which the wrappers are measured by turns, after ${flags["warmup-seconds"]} s of warm-up each. A call streams an answer, one event a write, and the program reads each chunk. CPU: one call after the other, with the cost of sending the runs. First token: ${sizes.map((size) => `${answers[size]?.callsPerSecond} calls a second at ${size}`).join(", ")}. Wrappers: what they add to the client alone, in the same round.`,
        ...problems.map((problem) => `**Failed:** ${problem}`),
      ].join("\n"),
    ].join("\n\n"),
  });
  process.exitCode = problems.length > 0 ? 1 : 0;
}
