// Which bridge should client.sync use to block: synckit, or a small one of our own?
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Client } from "../dist/main/index.js";
import { publish, formatNumber, formatSpread, table } from "./results.ts";
import { bridges } from "./sync/bridges.mjs";

const names = ["synckit", "own"] as const;
type Name = (typeof names)[number];

const rounds = 7;
const callsPerRound = 200;
const largeList = { projectName: "bytes-10000000" };

const server = new Worker(new URL("../tests/support/scripted-server.mjs", import.meta.url), {
  execArgv: [],
});
const [{ port }] = (await once(server, "message")) as [{ port: number }];
const endpoint = `http://127.0.0.1:${port}`;

publish({
  script: "sync",
  question: "Which bridge should client.sync use to block: synckit, or a small one of our own?",
  body: `${await timeCalls()}\n\n${measureStarts()}\n\n${await compareBehaviour()}`,
});
await server.terminate();

/** Measures the microseconds for one call, in interleaved rounds. */
async function timeCalls(): Promise<string> {
  const client = new Client({ endpoint, enabled: false });
  const calls = names.map((name) => bridges[name](endpoint, 60_000));
  const variants: readonly (readonly [string, number, () => unknown])[] = [
    [
      "awaited: a small response",
      callsPerRound,
      () => client.projects.list({ projectName: "p" }).toArray(),
    ],
    ...forEachBridge("a small response", callsPerRound, { projectName: "p" }),
    ...forEachBridge("an invalid argument, nothing sent", callsPerRound, { limit: -1 }),
    ["awaited: 10 MB", 3, () => client.projects.list(largeList).toArray()],
    ...forEachBridge("10 MB", 3, largeList),
  ];
  function forEachBridge(title: string, times: number, options: object) {
    return calls.map((call, index) => {
      const work = (): unknown => resultOrError(() => call("projects", "list", options));
      return [`${names[index]}: ${title}`, times, work] as const;
    });
  }
  const micros = variants.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [index, [, times, work]] of variants.entries()) {
      const startedAt = performance.now();
      for (let call = 0; call < times; call++) {
        await work();
      }
      if (round >= 0) {
        micros[index]?.push(((performance.now() - startedAt) * 1_000) / times);
      }
    }
  }
  await client.close();
  const rows = variants.map(([title], index) => [title, formatSpread(micros[index] ?? [])]);
  return `${table(["one call", "µs"], rows)}\n\nMedian (lowest–highest) of ${rounds} interleaved rounds.`;
}

/** Measures the start and the end of a process, with the bridges in turn. */
function measureStarts(): string {
  const facts = { synckit: [] as StartFigures[], own: [] as StartFigures[] };
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const { result, durationMs } = runChild(name, "start");
      facts[name].push({ ...(result as Omit<StartFigures, "durationMs">), durationMs });
    }
  }
  const rows = [
    ["from the first use to the first result, ms", "startMs"],
    ["the whole process, to its natural end, ms", "durationMs"],
    ["memory that the worker takes, MiB", "mebibytes"],
  ].map(([title = "", key]) => [
    title,
    ...names.map((name) =>
      formatSpread(facts[name].map((figures) => figures[key as keyof StartFigures])),
    ),
  ]);
  return table(["", ...names], rows);
}

interface StartFigures {
  readonly startMs: number;
  readonly mebibytes: number;
  readonly durationMs: number;
}

/** Compares the behavior of the bridges at errors, timeouts and crashes. */
async function compareBehaviour(): Promise<string> {
  const facts: Record<string, Record<Name, string>> = {};
  const addFact = (name: Name, title: string, value: unknown): void => {
    facts[title] = { ...facts[title], [name]: formatFact(value) } as Record<Name, string>;
  };
  for (const name of names) {
    for (const [title, value] of Object.entries(runChild(name, "errors").result)) {
      addFact(name, `an error keeps ${title}`, value);
    }
    const before = await fetchCounts();
    const { correctResults, ...limits } = runChild(name, "timeouts").result;
    const after = await fetchCounts();
    addFact(
      name,
      "correct results of 20 calls, each made after a call that timed out",
      correctResults,
    );
    addFact(
      name,
      "timed-out calls (of 21) that were aborted at the server",
      after.aborted - before.aborted,
    );
    Object.entries(limits).forEach(([title, value]) => addFact(name, title, value));
    const exit = runChild(name, "workerExit").result as { message: string; noticedAfterMs: number };
    addFact(
      name,
      "time until a worker that ends during a call is noticed, ms",
      exit.noticedAfterMs,
    );
    addFact(name, "its error", exit.message);
    // Use `writeSync`: console output of a thread may be lost when the process ends.
    const source = "import%20{writeSync}from'fs';writeSync(2,'preload')";
    const preload = `--import=data:text/javascript,${source}`;
    const { errors } = runChild(name, "preload", { NODE_OPTIONS: preload });
    addFact(name, "how often a preload of NODE_OPTIONS runs", errors.split("preload").length - 1);
  }
  return table(
    ["", ...names],
    Object.entries(facts).map(([title, values]) => [title, ...names.map((name) => values[name])]),
  );
}

function formatFact(value: unknown): string {
  if (typeof value === "boolean") {
    return value ? "yes" : "no";
  }
  return typeof value === "number" ? formatNumber(value) : (JSON.stringify(value) ?? "none");
}

interface ChildResult {
  readonly result: Readonly<Record<string, unknown>>;
  readonly errors: string;
  readonly durationMs: number;
}

function runChild(
  name: Name,
  check: string,
  env: Readonly<Record<string, string>> = {},
): ChildResult {
  const child = fileURLToPath(new URL("sync/child.mjs", import.meta.url));
  const startedAt = performance.now();
  const { stdout, stderr } = spawnSync(process.execPath, [child, name, check, endpoint], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...env },
    timeout: 60_000,
  });
  const durationMs = performance.now() - startedAt;
  return { result: JSON.parse(stdout) as ChildResult["result"], errors: stderr, durationMs };
}

async function fetchCounts(): Promise<{ readonly aborted: number }> {
  // Do not keep the connection alive: running children blocks this thread for so long that the server closes it.
  const headers = { connection: "close" };
  return (await (await fetch(`${endpoint}/seen`, { headers })).json()) as {
    readonly aborted: number;
  };
}

async function resultOrError(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}
