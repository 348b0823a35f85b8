// How long does the local server take for the queries of the UI and of clients with 1,000,000 runs in its store?
// With `--against CHECKOUT --against-data FOLDER`, the server of another built checkout takes each request in turn.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { readCpuMicros } from "./process-figures.ts";
import { fillServer, projectName, traceRuns } from "./server-fill.ts";
import { formatNumber, formatSpread, median, publish, table } from "./results.ts";

const readOption = (flag: string): string | undefined => {
  const index = process.argv.indexOf(flag);
  return index === -1 ? undefined : process.argv[index + 1];
};
const runCount = Number(readOption("--runs") ?? 1_000_000);
const rounds = Number(readOption("--rounds") ?? 7);
const otherCheckout = readOption("--against");
const select = ["name", "run_type", "status", "start_time", "end_time", "error", "tags"];
const hourStart = Date.parse("2026-11-01T12:00:00Z");

const comparisonHead = [
  "",
  "runs found",
  "ms",
  "other, ms",
  "ratio",
  "lowest, ms",
  "other, ms",
  "ratio",
  "CPU, ms",
  "other, ms",
  "ratio",
];

/** A server that is measured. */
interface Target {
  readonly process: ChildProcess;
  readonly call: (path: string, body?: unknown) => Promise<Record<string, unknown>>;
  readonly projectId: string;
  /** Id of the trace of 10,000 runs. */
  readonly trace: string;
  readonly remove: () => void;
}

/** The measured times of one server for one query. */
interface Measurement {
  /** Milliseconds of each request. */
  readonly times: number[];
  /** CPU time per request of all threads of the server, milliseconds. */
  readonly cpuMs: number;
  readonly found: string;
}

/** Title, goal in milliseconds, and a function that sends the request. */
type Query = readonly [string, number, () => Promise<unknown>];

const targets = [await openTarget(join(import.meta.dirname, ".."), readOption("--data"))];
if (otherCheckout !== undefined) {
  targets.push(await openTarget(otherCheckout, readOption("--against-data")));
}
try {
  publish({
    script: "queries",
    question: `How long does the local server take with ${runCount.toLocaleString("en")} runs in its store?`,
    body: await measureAll(),
  });
} finally {
  for (const target of targets) {
    target.process.kill("SIGTERM");
    await once(target.process, "exit");
    target.remove();
  }
}

/** Starts the server of a checkout, and fills its data folder if that is new. */
async function openTarget(checkout: string, givenFolder: string | undefined): Promise<Target> {
  const folder = givenFolder ?? mkdtempSync(join(tmpdir(), "millrace-queries-"));
  const isFilled = existsSync(join(folder, "millrace.db"));
  const command = join(checkout, "cli/dist/millrace.js");
  const server = spawn(process.execPath, [command, "serve", "--port", "0", "--data", folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const url = /http:\/\/\S+/.exec(line.toString())?.[0] ?? "";
  const call: Target["call"] = async (path, body) => {
    const response = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) {
      throw new Error(`${path}: ${response.status} ${await response.text()}`);
    }
    return (await response.json()) as Record<string, unknown>;
  };
  if (!isFilled) {
    await fillServer(url, runCount);
  }
  await waitUntilIdle(server.pid ?? 0);
  const [project] = (await call(`/sessions?name=${projectName}`)) as unknown as [{ id: string }];
  const { runs } = await call("/ui/runs/search", {
    session: [project.id],
    filter: 'eq(name, "large trace")',
    select: ["id"],
    limit: 1,
  });
  return {
    process: server,
    call,
    projectId: project.id,
    trace: (runs as readonly { id: string }[])[0]?.id ?? "",
    remove: () => {
      if (givenFolder === undefined) {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

function createQueries(target: Target): readonly Query[] {
  const { call, projectId } = target;
  const session = [projectId];
  const search = (body: object) => () =>
    call("/ui/runs/search", { session, select, limit: 50, ...body });
  const filter = (text: string) => search({ filter: text });
  return [
    ["latest 50 traces", 50, search({ is_root: true })],
    ["latest 50 runs", 50, search({})],
    [
      "latest 50 traces, as clients request them",
      50,
      () => call("/runs/query", { session, is_root: true, limit: 50, select }),
    ],
    ["one trace of 10,000 runs, as the UI requests it", 300, readTraceForUi(target)],
    [
      "one trace of 10,000 runs with tags and errors, as clients request it",
      300,
      readTraceForClient(target),
    ],
    ["filter: status", 200, filter('eq(status, "error")')],
    ["filter: status, traces", 200, search({ is_root: true, filter: 'eq(status, "error")' })],
    ["filter: pending", 200, filter('eq(status, "pending")')],
    ["filter: type", 200, filter('eq(run_type, "retriever")')],
    ["filter: name", 200, filter('eq(name, "rare step")')],
    ["filter: latency", 200, filter('gt(latency, "50s")')],
    ["filter: tag", 200, filter('has(tags, "needle")')],
    ["filter: metadata", 200, filter('eq(metadata.user, "user-777")')],
    ["filter: feedback", 200, filter('and(eq(feedback_key, "helpful"), lt(feedback_score, 0.2))')],
    [
      "filter: type and status and latency",
      200,
      filter('and(eq(run_type, "llm"), eq(status, "error"), gt(latency, "2s"))'),
    ],
    ["filter: full text, common", 200, filter('search("refund")')],
    [
      "filter: full text, no match (the search may end early)",
      200,
      filter('search("no such words")'),
    ],
    [
      "filter: time",
      200,
      search({
        start_time: new Date(hourStart).toISOString(),
        end_time: new Date(hourStart + 60_000).toISOString(),
      }),
    ],
    ["slowest 50", 200, search({ sort: "latency" })],
    ["counts over time", 200, () => call(`/ui/runs/counts?session=${projectId}&is_root=true`)],
    [
      "names with a prefix",
      200,
      () => call(`/ui/runs/words?session=${projectId}&kind=name&prefix=a`),
    ],
    [
      "metadata values with a prefix",
      200,
      () => call(`/ui/runs/words?session=${projectId}&kind=metadata_value&key=user&prefix=user-1`),
    ],
  ];
}

async function measureAll(): Promise<string> {
  const queriesOfTargets = targets.map(createQueries);
  const rows: (string | number)[][] = [];
  for (const [index, [title, goal]] of (queriesOfTargets[0] ?? []).entries()) {
    const results = await measureInTurns(
      queriesOfTargets.map((queries, target) => ({
        pid: targets[target]?.process.pid ?? 0,
        send: queries[index]?.[2] ?? (() => Promise.resolve()),
      })),
    );
    rows.push(
      results.length === 1 ? [title, ...formatOne(results, goal)] : [title, ...formatTwo(results)],
    );
  }
  const requests = `${rounds} requests over HTTP after one to warm up`;
  return otherCheckout === undefined
    ? `${table(["", "runs found", "ms", "goal, ms"], rows)}\n\nMedian (lowest–highest) of ${requests}.`
    : `${table(comparisonHead, rows)}\n\nThe other server is that of another checkout, with a data folder filled the same way; each request was sent to both in turns. Medians and lowest of ${requests}; CPU per request of all threads of the server, which the kernel counts in hundredths of a second.`;
}

/**
 * Sends each request to all servers before the next request. The servers take turns at being the first, because the
 * first request meets colder CPU caches.
 */
async function measureInTurns(
  servers: readonly { readonly pid: number; readonly send: () => Promise<unknown> }[],
): Promise<readonly Measurement[]> {
  const times = servers.map((): number[] => []);
  for (const { send } of servers) {
    await send();
  }
  const cpuBefore = servers.map(({ pid }) => readCpuMicros(pid));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < servers.length; turn += 1) {
      const server = (round + turn) % servers.length;
      const startedAt = performance.now();
      await servers[server]?.send();
      times[server]?.push(performance.now() - startedAt);
    }
  }
  const measurements: Measurement[] = [];
  for (const [index, { pid, send }] of servers.entries()) {
    const cpuMs = (readCpuMicros(pid) - (cpuBefore[index] ?? 0)) / 1_000 / rounds;
    measurements.push({ times: times[index] ?? [], cpuMs, found: describeFound(await send()) });
  }
  return measurements;
}

function describeFound(result: unknown): string {
  if (typeof result === "number") {
    return String(result);
  }
  const { runs, is_short: isShort } = result as {
    readonly runs?: readonly unknown[];
    readonly is_short?: boolean;
  };
  return runs === undefined ? "" : `${runs.length}${isShort === true ? ", cut" : ""}`;
}

function formatOne(results: readonly Measurement[], goal: number): (string | number)[] {
  return results.flatMap(({ found, times }) => [found, formatSpread(times), goal]);
}

function formatTwo([here, other]: readonly Measurement[]): (string | number)[] {
  if (here === undefined || other === undefined) {
    throw new Error("Two servers are needed for a comparison.");
  }
  const compare = (read: (measurement: Measurement) => number): string[] =>
    [read(here), read(other), read(here) / read(other)].map(formatNumber);
  return [
    here.found === other.found ? here.found : `${here.found}; other ${other.found}`,
    ...compare(({ times }) => median(times)),
    ...compare(({ times }) => Math.min(...times)),
    ...compare(({ cpuMs }) => cpuMs),
  ];
}

/**
 * Waits until the server does nothing in the background. After the runs were stored, a thread builds the text index for
 * a minute or more. It takes CPU time from the queries, and a search finds more once the index is complete.
 */
async function waitUntilIdle(pid: number): Promise<void> {
  let idleSeconds = 0;
  while (idleSeconds < 5) {
    const before = readCpuMicros(pid);
    await setTimeout(1_000);
    idleSeconds = readCpuMicros(pid) - before < 50_000 ? idleSeconds + 1 : 0;
  }
}

function readTraceForClient({ call, trace }: Target): () => Promise<number> {
  return async () => {
    let cursor: unknown;
    let count = 0;
    do {
      const page = await call("/runs/query", { trace, order: "asc", limit: 1_000, cursor, select });
      count += (page["runs"] as readonly unknown[]).length;
      cursor = (page["cursors"] as { next: unknown }).next;
    } while (cursor !== null);
    return checkCount(count);
  };
}

function readTraceForUi({ call, trace }: Target): () => Promise<number> {
  return async () => {
    let after = "";
    let count = 0;
    do {
      const page = await call(`/ui/traces/${trace}?${after}`);
      count += Number(page["count"]);
      after = typeof page["next"] === "string" ? `after=${page["next"]}` : "";
    } while (after !== "");
    return checkCount(count);
  };
}

function checkCount(count: number): number {
  if (count !== traceRuns) {
    throw new Error(`the trace has ${count} runs, not ${traceRuns}`);
  }
  return count;
}
