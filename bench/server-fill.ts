import { randomUUID } from "node:crypto";

export const projectName = "queries";
/** Number of runs in the large trace. */
export const traceRuns = 10_000;

const batchSize = 1_000;
const maxRequests = 3;
const runsPerTrace = 10;
/** All runs start on this day. */
const startMs = Date.parse("2026-11-01T00:00:00Z");
const dayLengthMs = 86_400_000;

const names = [
  "answer",
  "ask",
  "retrieve",
  "rank",
  "summarise",
  "plan",
  "tool: search",
  "tool: mail",
];
const types = ["chain", "llm", "retriever", "tool", "llm", "prompt", "tool", "tool"];
const words =
  "order refund parcel delay invoice address customer account please thank question the and of".split(
    " ",
  );

/** A seeded random number generator, so that every store is filled with the same runs. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Fills a server with `runCount` runs: traces of ten runs, one trace of 10,000 runs, and feedback on some of them. */
export async function fillServer(url: string, runCount: number): Promise<void> {
  const random = createRandom(7);
  const text = (count: number): string =>
    Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(" ");
  let batch: object[] = [];
  let sentRuns = 0;
  const pending = new Set<Promise<void>>();
  const startedAt = Date.now();
  const flush = async (): Promise<void> => {
    const body = JSON.stringify({ post: batch });
    batch = [];
    const request = post(url, "/runs/batch", body);
    pending.add(request);
    void request.finally(() => pending.delete(request));
    if (pending.size >= maxRequests) {
      await Promise.race(pending);
    }
    sentRuns += batchSize;
    if (sentRuns % 50_000 === 0) {
      console.error(
        `${sentRuns.toLocaleString("en")} runs, ${((Date.now() - startedAt) / 1_000).toFixed(0)} s`,
      );
    }
  };
  const add = async (run: object): Promise<void> => {
    batch.push(run);
    if (batch.length === batchSize) {
      await flush();
    }
  };
  const traces = Math.max(1, Math.floor((runCount - traceRuns) / runsPerTrace));
  for (let trace = 0; trace < traces; trace += 1) {
    const rootStart = startMs + Math.floor((trace / traces) * dayLengthMs);
    const root = randomUUID();
    for (let index = 0; index < runsPerTrace; index += 1) {
      const kind = index === 0 ? 1 : Math.floor(random() * names.length);
      const id = index === 0 ? root : randomUUID();
      const randomShare = random();
      const isFailed = randomShare < 0.01;
      const start = rootStart + index * 20;
      const latency = Math.exp(random() * 7 + 2.5) * (randomShare > 0.9999 ? 60 : 1);
      await add({
        ...createPosition({ root, id, start, rootStart }),
        session_name: projectName,
        name: randomShare > 0.99997 ? "rare step" : names[kind],
        run_type: index === 0 ? "chain" : types[kind],
        end_time: randomShare > 0.99995 ? null : new Date(start + latency).toISOString(),
        error: isFailed ? `TimeoutError: ${text(6)}` : null,
        inputs: { messages: [{ role: "user", content: text(40) }] },
        outputs: {
          answer: text(40),
          usage_metadata: { input_tokens: 40, output_tokens: 40 },
        },
        tags: randomShare > 0.99998 ? ["prod", "needle"] : ["prod"],
        extra: { metadata: { user: `user-${trace % 5_000}`, model: "small-1" } },
      });
    }
    if (trace % 100 === 0) {
      await post(
        url,
        "/feedback",
        JSON.stringify({ run_id: root, key: "helpful", score: random() }),
      );
    }
  }
  const root = randomUUID();
  for (let index = 0; index < traceRuns; index += 1) {
    const id = index === 0 ? root : randomUUID();
    const start = startMs + dayLengthMs / 2 + index;
    await add({
      ...createPosition({ root, id, start, rootStart: startMs + dayLengthMs / 2 }),
      session_name: projectName,
      name: index === 0 ? "large trace" : "step",
      run_type: "chain",
      end_time: new Date(start + 20).toISOString(),
      inputs: { step: index },
      outputs: { text: text(20) },
    });
  }
  if (batch.length > 0) {
    await flush();
  }
  await Promise.all(pending);
}

function createPosition({
  root,
  id,
  start,
  rootStart,
}: {
  readonly root: string;
  readonly id: string;
  readonly start: number;
  readonly rootStart: number;
}): object {
  const rootSegment = `${formatStamp(rootStart)}${root}`;
  return {
    id,
    trace_id: root,
    parent_run_id: id === root ? null : root,
    dotted_order: id === root ? rootSegment : `${rootSegment}.${formatStamp(start)}${id}`,
    start_time: new Date(start).toISOString(),
  };
}

/** Formats a time as in dotted orders, with microseconds: `20261101T000000000000Z`. */
const formatStamp = (ms: number): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:.]/g, "").slice(0, -1)}000Z`;

async function post(url: string, path: string, body: string): Promise<void> {
  for (;;) {
    const response = await fetch(url + path, { method: "POST", body });
    const responseBody = await response.text();
    if (response.status !== 429) {
      if (!response.ok || responseBody.includes('"rejected":[{')) {
        throw new Error(`${path}: ${response.status} ${responseBody.slice(0, 300)}`);
      }
      return;
    }
  }
}
