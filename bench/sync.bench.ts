// What should client.sync block with: synckit, or a small bridge of our own?
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Client } from "../dist/main/index.js";
import { publish, show, spread, table } from "./results.ts";
import { bridges } from "./sync/bridges.mjs";

const names = ["synckit", "own"] as const;
type Name = (typeof names)[number];

const rounds = 7;
const callsPerRound = 200;
const big = { projectName: "bytes-10000000" };

const server = new Worker(new URL("../tests/support/scripted-server.mjs", import.meta.url), {
  execArgv: [],
});
const [{ port }] = (await once(server, "message")) as [{ port: number }];
const endpoint = `http://127.0.0.1:${port}`;

publish({
  script: "sync",
  question: "What should client.sync block with: synckit, or a small bridge of our own?",
  body: `${await timesOfCalls()}\n\n${startsOf()}\n\n${await behaviour()}`,
});
await server.terminate();

/** Microseconds for one call, in interleaved rounds. */
async function timesOfCalls(): Promise<string> {
  const client = new Client({ endpoint, enabled: false });
  const calls = names.map((name) => bridges[name](endpoint, 60_000));
  const ways: readonly (readonly [string, number, () => unknown])[] = [
    [
      "awaited: a small answer",
      callsPerRound,
      () => client.projects.list({ projectName: "p" }).toArray(),
    ],
    ...ofEach("a small answer", callsPerRound, { projectName: "p" }),
    ...ofEach("an argument refused, nothing sent", callsPerRound, { limit: -1 }),
    ["awaited: 10 MB", 3, () => client.projects.list(big).toArray()],
    ...ofEach("10 MB", 3, big),
  ];
  function ofEach(title: string, times: number, options: object) {
    return calls.map((call, index) => {
      const work = (): unknown => attempt(() => call("projects", "list", options));
      return [`${names[index]}: ${title}`, times, work] as const;
    });
  }
  const micros = ways.map((): number[] => []);
  for (let round = -1; round < rounds; round++) {
    for (const [index, [, times, work]] of ways.entries()) {
      const began = performance.now();
      for (let call = 0; call < times; call++) {
        await work();
      }
      if (round >= 0) {
        micros[index]?.push(((performance.now() - began) * 1_000) / times);
      }
    }
  }
  await client.close();
  const rows = ways.map(([title], index) => [title, spread(micros[index] ?? [])]);
  return `${table(["one call", "µs"], rows)}\n\nMedian (lowest–highest) of ${rounds} interleaved rounds.`;
}

/** Starts and ends of processes, in turn. */
function startsOf(): string {
  const facts = { synckit: [] as Started[], own: [] as Started[] };
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const { answer, durationMs } = ask(name, "start");
      facts[name].push({ ...(answer as Omit<Started, "durationMs">), durationMs });
    }
  }
  const rows = [
    ["from its first need to the first answer, ms", "startMs"],
    ["the whole process, to its natural end, ms", "durationMs"],
    ["memory that the worker takes, MiB", "mebibytes"],
  ].map(([title = "", key]) => [
    title,
    ...names.map((name) => spread(facts[name].map((one) => one[key as keyof Started]))),
  ]);
  return table(["", ...names], rows);
}

interface Started {
  readonly startMs: number;
  readonly mebibytes: number;
  readonly durationMs: number;
}

/** What each does where it matters. */
async function behaviour(): Promise<string> {
  const facts: Record<string, Record<Name, string>> = {};
  const note = (name: Name, title: string, value: unknown): void => {
    facts[title] = { ...facts[title], [name]: shown(value) } as Record<Name, string>;
  };
  for (const name of names) {
    for (const [title, value] of Object.entries(ask(name, "errors").answer)) {
      note(name, `an error keeps ${title}`, value);
    }
    const before = await seen();
    const { own, ...limits } = ask(name, "timeouts").answer;
    const after = await seen();
    note(name, "own answers of 20 calls, each after one that ran into its limit", own);
    note(name, "of 21 such calls, broken off at the server", after.brokenOff - before.brokenOff);
    Object.entries(limits).forEach(([title, value]) => note(name, title, value));
    const death = ask(name, "death").answer as { message: string; noticedAfterMs: number };
    note(name, "a worker that ends during a call is noticed after, ms", death.noticedAfterMs);
    note(name, "its error", death.message);
    // Not by the console: what a thread writes there may be lost at the end.
    const source = "import%20{writeSync}from'fs';writeSync(2,'preload')";
    const preload = `--import=data:text/javascript,${source}`;
    const { errors } = ask(name, "preload", { NODE_OPTIONS: preload });
    note(name, "a preload of NODE_OPTIONS runs, times", errors.split("preload").length - 1);
  }
  return table(
    ["", ...names],
    Object.entries(facts).map(([title, values]) => [title, ...names.map((name) => values[name])]),
  );
}

function shown(value: unknown): string {
  if (typeof value === "boolean") {
    return value ? "yes" : "no";
  }
  return typeof value === "number" ? show(value) : (JSON.stringify(value) ?? "none");
}

interface ChildEnd {
  readonly answer: Readonly<Record<string, unknown>>;
  readonly errors: string;
  readonly durationMs: number;
}

function ask(name: Name, question: string, env: Readonly<Record<string, string>> = {}): ChildEnd {
  const child = fileURLToPath(new URL("sync/child.mjs", import.meta.url));
  const began = performance.now();
  const { stdout, stderr } = spawnSync(process.execPath, [child, name, question, endpoint], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...env },
    timeout: 60_000,
  });
  const durationMs = performance.now() - began;
  return { answer: JSON.parse(stdout) as ChildEnd["answer"], errors: stderr, durationMs };
}

async function seen(): Promise<{ readonly brokenOff: number }> {
  // Children block this thread meanwhile: a connection that is kept would be gone.
  const headers = { connection: "close" };
  return (await (await fetch(`${endpoint}/seen`, { headers })).json()) as {
    readonly brokenOff: number;
  };
}

async function attempt(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}
