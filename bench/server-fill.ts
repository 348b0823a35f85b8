import { randomUUID } from "node:crypto";

export const projectName = "queries";
/** Runs of the one large trace. */
export const traceRuns = 10_000;

const batchSize = 1_000;
const requestsAtOnce = 3;
const runsPerTrace = 10;
/** The runs of a store lie within a day. */
const startMs = Date.parse("2026-11-01T00:00:00Z");
const dayMs = 86_400_000;

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

/** Numbers that are the same each time: a store is filled alike. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Fills a server with so many runs in traces of ten, one trace of 10,000 among them, and feedback on some. */
export async function fillServer(url: string, runCount: number): Promise<void> {
  const random = createRandom(7);
  const text = (count: number): string =>
    Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(" ");
  let batch: object[] = [];
  let sent = 0;
  const pending = new Set<Promise<void>>();
  const began = Date.now();
  const flush = async (): Promise<void> => {
    const body = JSON.stringify({ post: batch });
    batch = [];
    const request = post(url, "/runs/batch", body);
    pending.add(request);
    void request.finally(() => pending.delete(request));
    if (pending.size >= requestsAtOnce) {
      await Promise.race(pending);
    }
    sent += batchSize;
    if (sent % 50_000 === 0) {
      console.error(
        `${sent.toLocaleString("en")} runs, ${((Date.now() - began) / 1_000).toFixed(0)} s`,
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
    const at = startMs + Math.floor((trace / traces) * dayMs);
    const root = randomUUID();
    for (let index = 0; index < runsPerTrace; index += 1) {
      const kind = index === 0 ? 1 : Math.floor(random() * names.length);
      const id = index === 0 ? root : randomUUID();
      const rare = random();
      const isFailed = rare < 0.01;
      const start = at + index * 20;
      const latency = Math.exp(random() * 7 + 2.5) * (rare > 0.9999 ? 60 : 1);
      await add({
        ...place({ root, id, start, rootStart: at }),
        session_name: projectName,
        name: rare > 0.99997 ? "rare step" : names[kind],
        run_type: index === 0 ? "chain" : types[kind],
        end_time: rare > 0.99995 ? null : new Date(start + latency).toISOString(),
        error: isFailed ? `TimeoutError: ${text(6)}` : null,
        inputs: { messages: [{ role: "user", content: text(40) }] },
        outputs: { answer: text(40), usage_metadata: { input_tokens: 40, output_tokens: 40 } },
        tags: rare > 0.99998 ? ["prod", "needle"] : ["prod"],
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
    const start = startMs + dayMs / 2 + index;
    await add({
      ...place({ root, id, start, rootStart: startMs + dayMs / 2 }),
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

function place({
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
  const head = `${stamp(rootStart)}${root}`;
  return {
    id,
    trace_id: root,
    parent_run_id: id === root ? null : root,
    dotted_order: id === root ? head : `${head}.${stamp(start)}${id}`,
    start_time: new Date(start).toISOString(),
  };
}

/** `20261101T000000000000Z`: a time with microseconds, as dotted orders have it. */
const stamp = (ms: number): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:.]/g, "").slice(0, -1)}000Z`;

async function post(url: string, path: string, body: string): Promise<void> {
  for (;;) {
    const response = await fetch(url + path, { method: "POST", body });
    const answer = await response.text();
    if (response.status !== 429) {
      if (!response.ok || answer.includes('"rejected":[{')) {
        throw new Error(`${path}: ${response.status} ${answer.slice(0, 300)}`);
      }
      return;
    }
  }
}
