// How long does the local server take for the queries of the UI and of clients with 1,000,000 runs in its store?
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { fillServer, projectName, traceRuns } from "./server-fill.ts";
import { publish, formatNumber, formatSpread, table } from "./results.ts";

const readCount = (flag: string, fallback: number): number => {
  const index = process.argv.indexOf(flag);
  return index === -1 ? fallback : Number(process.argv[index + 1]);
};
const folderIndex = process.argv.indexOf("--data");
const runCount = readCount("--runs", 1_000_000);
const givenFolder = folderIndex === -1 ? undefined : process.argv[folderIndex + 1];
const dataDir = givenFolder ?? mkdtempSync(join(tmpdir(), "millrace-queries-"));
const isFilled = existsSync(join(dataDir, "millrace.db"));
const rounds = 7;

const require = createRequire(new URL("../package.json", import.meta.url));
const { startServer } = (await import(pathToFileURL(require.resolve("@millrace/server")).href)) as {
  startServer: (options: object) => Promise<{ url: string; close(): Promise<void> }>;
};
const server = await startServer({ port: 0, dataDir });
const call = async (path: string, body?: unknown): Promise<Record<string, unknown>> => {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
  return (await response.json()) as Record<string, unknown>;
};

if (!isFilled) {
  await fillServer(server.url, runCount);
}
await waitUntilIdle();
const [project] = (await call(`/sessions?name=${projectName}`)) as unknown as [{ id: string }];
const session = [project.id];
const select = ["name", "run_type", "status", "start_time", "end_time", "error", "tags"];
const trace = await findLargeTrace();

const search = (body: object) => () =>
  call("/ui/runs/search", { session, select, limit: 50, ...body });
const filter = (text: string) => search({ filter: text });
const hourStart = Date.parse("2026-11-01T12:00:00Z");
const queries: readonly (readonly [string, number, () => Promise<unknown>])[] = [
  ["latest 50 traces", 50, search({ is_root: true })],
  ["latest 50 runs", 50, search({})],
  [
    "latest 50 traces, as clients request them",
    50,
    () => call("/runs/query", { session, is_root: true, limit: 50, select }),
  ],
  ["one trace of 10,000 runs, as the UI requests it", 300, readTraceForUi],
  ["one trace of 10,000 runs with tags and errors, as clients request it", 300, readTraceForClient],
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
  ["counts over time", 200, () => call(`/ui/runs/counts?session=${project.id}&is_root=true`)],
  [
    "names with a prefix",
    200,
    () => call(`/ui/runs/words?session=${project.id}&kind=name&prefix=a`),
  ],
  [
    "metadata values with a prefix",
    200,
    () => call(`/ui/runs/words?session=${project.id}&kind=metadata_value&key=user&prefix=user-1`),
  ],
];

const rows: (string | number)[][] = [];
for (const [title, goal, runQuery] of queries) {
  const times: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const startedAt = performance.now();
    await runQuery();
    if (round >= 0) {
      times.push(performance.now() - startedAt);
    }
  }
  const result = (await runQuery()) as { runs?: readonly unknown[]; is_short?: boolean } | number;
  const foundCount = typeof result === "number" ? result : result.runs?.length;
  const cutNote = typeof result === "object" && result.is_short === true ? ", cut" : "";
  rows.push([
    title,
    foundCount === undefined ? "" : `${foundCount}${cutNote}`,
    formatSpread(times),
    goal,
  ]);
}
publish({
  script: "queries",
  question: `How long does the local server take with ${runCount.toLocaleString("en")} runs in its store?`,
  body: `${table(["", "runs found", "ms", "goal, ms"], rows)}\n\nMedian (lowest–highest) of ${rounds} requests over HTTP after one to warm up.`,
});
await server.close();
if (givenFolder === undefined) {
  rmSync(dataDir, { recursive: true, force: true });
}

/**
 * Waits until nothing works in the background. The server fills its text index for a minute or more after it was filled,
 * on a thread that takes time from the queries, and a search finds more the more of the index there is.
 */
async function waitUntilIdle(): Promise<void> {
  let idleSeconds = 0;
  while (idleSeconds < 5) {
    const before = process.cpuUsage();
    await setTimeout(1_000);
    const { user, system } = process.cpuUsage(before);
    idleSeconds = user + system < 50_000 ? idleSeconds + 1 : 0;
  }
}

async function findLargeTrace(): Promise<string> {
  const { runs } = await call("/ui/runs/search", {
    session,
    filter: 'eq(name, "large trace")',
    select: ["id"],
    limit: 1,
  });
  return (runs as readonly { id: string }[])[0]?.id ?? formatNumber(0);
}

async function readTraceForClient(): Promise<number> {
  let cursor: unknown;
  let count = 0;
  do {
    const page = await call("/runs/query", { trace, order: "asc", limit: 1_000, cursor, select });
    count += (page["runs"] as readonly unknown[]).length;
    cursor = (page["cursors"] as { next: unknown }).next;
  } while (cursor !== null);
  if (count !== traceRuns) {
    throw new Error(`the trace has ${count} runs, not ${traceRuns}`);
  }
  return count;
}

async function readTraceForUi(): Promise<number> {
  let after = "";
  let count = 0;
  do {
    const page = await call(`/ui/traces/${trace}?${after}`);
    count += Number(page["count"]);
    after =
      page["next"] === undefined || page["next"] === null ? "" : `after=${toText(page["next"])}`;
  } while (after !== "");
  if (count !== traceRuns) {
    throw new Error(`the trace has ${count} runs, not ${traceRuns}`);
  }
  return count;
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
