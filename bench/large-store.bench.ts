// How long do dashboards, filters and searches take with 10,000,000 runs, on SQLite or on PostgreSQL?
//
//   npm --prefix bench run large-store -- --data FOLDER                 a folder that fill-sqlite has filled
//   npm --prefix bench run large-store -- --store postgres://…          a database that fill-postgres has filled
//
// With --store, name with --keys the folder of token.key if a server has used the database before.
// It starts the server of this checkout, and changes nothing in the store but the metrics that are not counted yet.
// `--rounds 7`, `--only TEXT` measures the requests whose title contains the text, and `--save` writes RESULTS.md.
import { dayMicros } from "../server/src/model/durations.ts";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { feedbackKey, rareModel, rareName, rareTag, rareWord, runsPerTrace } from "./fill-shape.ts";
import { findFilledProject, startLargeServer, storeOptions } from "./large-server.ts";
import { readCpuMicros } from "./process-figures.ts";
import { formatNumber, median, publish, table } from "./results.ts";

/** The goal of each request, in milliseconds. */
const goalMs = 300;
/**
 * The server counts and indexes in the background. Measuring begins once it has used less than `idleShare` of a core
 * for `idleSeconds`.
 */
const idleSeconds = 8;
const idleShare = 0.05;
/** Interval of the checks whether metrics are counted, and the time without progress after which the wait ends. */
const pollMs = 10_000;
const countingSeconds = 60;

const { values: options } = parseArgs({
  options: {
    ...storeOptions,
    rounds: { type: "string", default: "7" },
    only: { type: "string", default: "" },
    save: { type: "boolean", default: false },
  },
});
const rounds = Number(options.rounds);
type Json = Readonly<Record<string, unknown>>;

/** Sends a request. Resolves to a description of the result, for the table. */
type Send = () => Promise<string>;

interface Request {
  readonly title: string;
  readonly send: Send;
}

const server = await startLargeServer(options);
try {
  await measure(server.url);
} finally {
  await server.close();
}

async function measure(url: string): Promise<void> {
  const call = async (path: string, body?: Json): Promise<Json> => {
    const response = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) {
      throw new Error(`${response.status} ${(await response.text()).slice(0, 60)}`);
    }
    return (await response.json()) as Json;
  };
  const project = await findFilledProject(url);
  const { runCount, missing } = await waitUntilCounted(call, project.id);
  await waitUntilIdle();
  const requests = [
    ...createDashboards(call, project.id, await findLastMs(call, project.id)),
    ...(await createSearches(call, project.id)),
  ].filter(({ title }) => title.includes(options.only));
  const rows: (string | number)[][] = [];
  let missed = 0;
  for (const { title, send: sendOnce } of requests) {
    // A request that fails, such as one that exceeds the time limit of queries, is a figure, too.
    const send: Send = () =>
      sendOnce().catch((cause: unknown) => `failed: ${describeFailure(cause)}`);
    let found = await send();
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const startMs = performance.now();
      found = await send();
      times.push(performance.now() - startMs);
    }
    const slowest = Math.max(...times);
    const isMet = slowest <= goalMs && !found.startsWith("failed");
    missed += isMet ? 0 : 1;
    rows.push([
      title,
      found,
      formatNumber(median(times)),
      formatNumber(slowest),
      isMet ? "met" : "**missed**",
    ]);
    console.error(
      `${title}: ${found}; ${formatNumber(median(times))}, ${formatNumber(slowest)} ms`,
    );
  }
  publish({
    script: "large-store",
    section: `large-store-${server.engine.toLowerCase()}`,
    question: `How long do queries take with ${runCount.toLocaleString("en")} runs on ${server.engine}?`,
    body: [
      table(["", "found", "p50, ms", "worst, ms", `goal of ${goalMs} ms`], rows),
      "",
      `${rounds} requests over HTTP after one to warm up. ${rows.length - missed} of ${rows.length} requests met the goal each time.`,
      ...(missing === 0 ? [] : [`Metrics of ${missing} ranges were not counted yet.`]),
    ].join("\n"),
  });
}

// These are function declarations and not constants, because they are called before this module is evaluated
// completely.
function describeFailure(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.slice(0, 80).replaceAll(/[|\n]/g, " ");
}

function describePage({ runs, is_short: isShort }: Json): string {
  return `${(runs as readonly unknown[]).length} runs${isShort === true ? ", part of the time" : ""}`;
}

/** Waits until the server has counted all metrics, or does nothing although some are missing. */
async function waitUntilCounted(
  call: (path: string, body?: Json) => Promise<Json>,
  projectId: string,
): Promise<{ readonly runCount: number; readonly missing: number }> {
  const nowMs = Date.now();
  const query = new URLSearchParams({
    session: projectId,
    scope: "all",
    from: new Date(nowMs - 100 * (dayMicros / 1_000)).toISOString(),
    to: new Date(nowMs).toISOString(),
  });
  const startMs = performance.now();
  for (let runCount = 0; ;) {
    const { all, missing } = await call(`/ui/metrics?${query.toString()}`);
    const { runs } = (all as { readonly total: { readonly runs: number } }).total;
    const missingRanges = (missing as readonly unknown[]).length;
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    if (missingRanges === 0 || (seconds > countingSeconds && runs === runCount)) {
      return { runCount: runs, missing: missingRanges };
    }
    console.error(`${runs.toLocaleString("en")} runs are counted after ${seconds} s`);
    runCount = runs;
    await setTimeout(pollMs);
  }
}

/** The time of the last run, at which the ranges of dashboards end. */
async function findLastMs(
  call: (path: string, body?: Json) => Promise<Json>,
  projectId: string,
): Promise<number> {
  const page = await call("/ui/runs/search", { session: [projectId], limit: 1 });
  const [last] = page["runs"] as readonly { readonly start_time: string }[];
  return Date.parse(last?.start_time ?? "");
}

/** The charts of the overview and of dashboards: each range, compared with the period before, by each property. */
function createDashboards(
  call: (path: string, body?: Json) => Promise<Json>,
  projectId: string,
  lastMs: number,
): readonly Request[] {
  const hours = { "1 h": 1, "24 h": 24, "7 d": 168, "30 d": 720, "90 d": 2_160 };
  const groups = ["", "status", "name", "model", "tag", "user"];
  return Object.entries(hours).flatMap(([range, count]) =>
    groups.flatMap((group) =>
      ["traces", "all"].map((scope): Request => {
        const query = new URLSearchParams({
          session: projectId,
          from: new Date(lastMs - count * 3_600_000).toISOString(),
          to: new Date(lastMs).toISOString(),
          scope,
          ...(group !== "" && { group }),
        });
        return {
          title: `dashboard: ${range}${group === "" ? "" : ` by ${group}`}, ${scope}`,
          send: async () => {
            const { all, missing } = await call(`/ui/metrics?${query.toString()}`);
            const { runs } = (all as { readonly total: { readonly runs: number } }).total;
            const missed = (missing as readonly unknown[]).length;
            return `${runs.toLocaleString("en")} runs${missed === 0 ? "" : `, ${missed} ranges missing`}`;
          },
        };
      }),
    ),
  );
}

async function createSearches(
  call: (path: string, body?: Json) => Promise<Json>,
  projectId: string,
): Promise<readonly Request[]> {
  const session = [projectId];
  const select = ["name", "run_type", "status", "start_time", "end_time", "error", "tags"];
  /** As the list of the UI, which stops after a while, and as clients, which get a full page. */
  const search = (title: string, body: Json): readonly Request[] => [
    {
      title: `list: ${title}`,
      send: async () =>
        describePage(await call("/ui/runs/search", { session, select, limit: 50, ...body })),
    },
    {
      title: `client: ${title}`,
      send: async () =>
        describePage(await call("/runs/query", { session, select, limit: 50, ...body })),
    },
  ];
  const filter = (title: string, text: string): readonly Request[] =>
    search(title, { filter: text });
  const lastMs = await findLastMs(call, projectId);
  const dayMs = dayMicros / 1_000;
  const toTimes = (fromDays: number, toDays: number): Json => ({
    start_time: new Date(lastMs - fromDays * dayMs).toISOString(),
    end_time: new Date(lastMs - toDays * dayMs).toISOString(),
  });
  const facets = (title: string, body: Json): Request => ({
    title: `facet counts: ${title}`,
    send: async () => {
      const result = await call("/ui/runs/facets", { session, ...body });
      return `${Number(result["runs"]).toLocaleString("en")} runs counted`;
    },
  });
  const threads = (title: string, cursor?: string): Request => ({
    title: `threads: ${title}`,
    send: async () => {
      const result = await call(
        `/ui/threads?session=${projectId}${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      return `${(result["threads"] as readonly unknown[]).length} threads`;
    },
  });
  const readCursor = async (path: string, body?: Json): Promise<string> => {
    const { cursors } = await call(path, body);
    return String((cursors as { readonly next: unknown }).next);
  };
  /** The cursor after some pages of a list. */
  const findDeepCursor = async (body: Json): Promise<string> => {
    let cursor = await readCursor("/ui/runs/search", { session, limit: 200, ...body });
    for (let page = 0; page < 20; page += 1) {
      cursor = await readCursor("/ui/runs/search", { session, limit: 200, ...body, cursor });
    }
    return cursor;
  };
  const deepRoots = await findDeepCursor({ is_root: true });
  const deepErrors = await findDeepCursor({ filter: 'eq(status, "error")' });
  const threadCursor = await readCursor(`/ui/threads?session=${projectId}`).catch(() => undefined);
  const trace = await call("/runs/query", { session, limit: 1, is_root: true, select: ["id"] });
  const [root] = trace["runs"] as readonly { readonly id: string }[];
  return [
    ...search("latest 50", {}),
    ...search("latest 50 roots", { is_root: true }),
    ...search("errors", { filter: 'eq(status, "error")' }),
    ...search("roots with errors", { is_root: true, filter: 'eq(status, "error")' }),
    ...filter("status pending, few", 'eq(status, "pending")'),
    ...filter("name, many", 'eq(name, "ask")'),
    ...filter("name, few", `eq(name, "${rareName}")`),
    ...filter("type, many", 'eq(run_type, "llm")'),
    ...filter("tag, many", 'has(tags, "us")'),
    ...filter("tag, few", `has(tags, "${rareTag}")`),
    ...filter("tag, none", 'has(tags, "absent")'),
    ...filter("metadata, many", 'eq(metadata.user_id, "user-77")'),
    ...filter("metadata, few", 'eq(metadata.thread_id, "thread-12345")'),
    ...filter("metadata, none", 'eq(metadata.user_id, "absent")'),
    ...filter("model, many", 'eq(metadata.ls_model_name, "model-1")'),
    ...filter("model, few", `eq(metadata.ls_model_name, "${rareModel}")`),
    ...filter("latency, many", 'gt(latency, "2s")'),
    ...filter("latency, few", 'gt(latency, "90s")'),
    ...filter("latency, none", 'gt(latency, "900s")'),
    ...filter(
      "name and status and latency",
      'and(eq(name, "ask"), eq(status, "error"), gt(latency, "4s"))',
    ),
    ...filter("name and tag, few", `and(eq(name, "${rareName}"), has(tags, "eu"))`),
    ...filter("metadata and errors", 'and(eq(metadata.user_id, "user-77"), eq(status, "error"))'),
    ...filter("tokens, many", "gt(total_tokens, 900)"),
    ...filter("tokens, none", "gt(total_tokens, 100000)"),
    ...search("one day, 45 days ago", toTimes(46, 45)),
    ...search("one day, 45 days ago, with a name", {
      ...toTimes(46, 45),
      filter: `eq(name, "${rareName}")`,
    }),
    ...search("oldest 50", { order: "asc" }),
    ...filter("word, frequent", 'search("refund")'),
    ...filter("word, rare", `search("${rareWord}")`),
    ...filter("word, missing", 'search("unobtainium")'),
    ...filter("two words, one of them rare", `search("refund ${rareWord}")`),
    ...filter("feedback, many", `and(eq(feedback_key, "${feedbackKey}"), gt(feedback_score, 0.5))`),
    ...filter(
      "feedback, few",
      `and(eq(feedback_key, "${feedbackKey}"), lt(feedback_score, 0.005))`,
    ),
    ...filter("feedback, none", 'eq(feedback_key, "absent")'),
    {
      title: "list: slowest 50",
      send: async () =>
        describePage(
          await call("/ui/runs/search", { session, select, limit: 50, sort: "latency" }),
        ),
    },
    {
      title: "list: roots, 21st page",
      send: async () =>
        describePage(
          await call("/ui/runs/search", {
            session,
            select,
            limit: 200,
            is_root: true,
            cursor: deepRoots,
          }),
        ),
    },
    {
      title: "list: errors, 21st page",
      send: async () =>
        describePage(
          await call("/ui/runs/search", {
            session,
            select,
            limit: 200,
            filter: 'eq(status, "error")',
            cursor: deepErrors,
          }),
        ),
    },
    {
      title: "one trace",
      send: async () =>
        describePage(
          await call("/runs/query", { trace: String(root?.id), limit: 2 * runsPerTrace }),
        ),
    },
    threads("first page"),
    threads("second page", threadCursor),
    facets("all runs", {}),
    facets("roots", { is_root: true }),
    facets("errors", { filter: 'eq(status, "error")' }),
    facets("few", { filter: `has(tags, "${rareTag}")` }),
    {
      title: "counts over time",
      send: async () => {
        await call(`/ui/runs/counts?session=${projectId}&is_root=true`);
        return "";
      },
    },
    ...(["name", "tag", "metadata_key"] as const).map((kind) => ({
      title: `suggestions: ${kind}`,
      send: async () => {
        await call(`/ui/runs/words?session=${projectId}&kind=${kind}&prefix=a`);
        return "";
      },
    })),
    {
      title: "suggestions: metadata values",
      send: async () => {
        await call(
          `/ui/runs/words?session=${projectId}&kind=metadata_value&key=user_id&prefix=user-1`,
        );
        return "";
      },
    },
  ];
}

/** Waits until the server does nothing in the background. The work of PostgreSQL shows in its own processes only. */
async function waitUntilIdle(): Promise<void> {
  const { pid } = server;
  let idle = 0;
  while (idle < idleSeconds) {
    const before = readCpuMicros(pid);
    await setTimeout(1_000);
    idle = (readCpuMicros(pid) - before) / 1_000_000 < idleShare ? idle + 1 : 0;
  }
}
