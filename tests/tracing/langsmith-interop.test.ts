import type { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { getCurrentRunTree, traceable as peerTraceable } from "langsmith/traceable";
import { Client as PeerClient } from "langsmith";
import { RunTree as PeerRunTree } from "langsmith/run_trees";
import { traceable as oldTraceable } from "langsmith-0.1/traceable";
import { describe, expect, test } from "vitest";
import { stampToIso } from "../../src/model/dotted-order.ts";
import { currentRun, startRun, withRun } from "../../src/tracing/runs/context.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

/** A time with microseconds, which sorts with the start of a run. */
const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** Keeps the requests that the langsmith client would send. */
class LangsmithCollector {
  readonly created: Record<string, unknown>[] = [];
  readonly client: PeerClient;

  constructor() {
    this.client = new PeerClient({
      apiKey: "none",
      apiUrl: "http://127.0.0.1:9",
      autoBatchTracing: false,
    });
    Object.assign(this.client, {
      createRun: async (run: Record<string, unknown>) => {
        this.created.push({ ...run });
      },
      updateRun: async () => {},
    });
  }
}

const settled = async (): Promise<void> => await delay(5);

describe.each([
  ["langsmith 0.10", peerTraceable],
  ["langsmith 0.1", oldTraceable as unknown as typeof peerTraceable],
])("a traceable of %s inside a Millrace run", (_, langsmithFunction) => {
  test("is recorded by our client, once, below our run and in its trace", async () => {
    const collector = new CollectingClient();
    const inner = langsmithFunction(async (question: string) => ({ answer: question.length }), {
      name: "inner",
      run_type: "llm",
      tags: ["peer"],
      metadata: { peer: 1 },
    });
    const outer = traceable(async () => await inner("why"), {
      name: "outer",
      client: collector,
      projectName: "mill",
    });
    await expect(outer()).resolves.toEqual({ answer: 3 });
    await settled();
    const root = collector.start("outer");
    const created = collector.createdRun("inner");
    expect(created).toMatchObject({
      run_type: "llm",
      parent_run_id: root.id,
      trace_id: root.traceId,
      session_name: "mill",
      tags: ["peer"],
      inputs: { input: "why" },
    });
    expect(created.extra?.metadata).toMatchObject({ peer: 1 });
    expect(created.dotted_order?.startsWith(`${root.dottedOrder}.`)).toBe(true);
    expect(created.start_time).toBe(stampToIso(created.dotted_order!.slice(-58, -36)));
    expect(collector.updated).toHaveLength(1);
    expect(collector.updated[0]).toMatchObject({ id: created.id, outputs: { answer: 3 } });
    expect(collector.updated[0]?.end_time).toMatch(microTime);
    expect(collector.warnings).toEqual([]);
  });

  test("is the parent of the Millrace run inside it, through any number of alternations", async () => {
    const collector = new CollectingClient();
    const leaf = traceable(async () => currentRun()?.name, { name: "leaf", client: collector });
    const middle = langsmithFunction(async () => await leaf(), { name: "middle" });
    const second = traceable(async () => await middle(), { name: "second" });
    const top = langsmithFunction(async () => await second(), { name: "top" });
    const outer = traceable(async () => await top(), { name: "outer", client: collector });
    await expect(outer()).resolves.toBe("leaf");
    await settled();
    const topRun = collector.createdRun("top");
    const middleRun = collector.createdRun("middle");
    expect(collector.start("second").parentRunId).toBe(topRun.id);
    expect(middleRun.parent_run_id).toBe(collector.start("second").id);
    expect(collector.start("leaf")).toMatchObject({
      parentRunId: middleRun.id,
      traceId: collector.start("outer").id,
    });
  });

  test("that throws is recorded with its error", async () => {
    const collector = new CollectingClient();
    const inner = langsmithFunction(
      async () => {
        throw new Error("mine");
      },
      { name: "inner" },
    );
    await expect(withRun(startRun(collector), async () => await inner())).rejects.toThrow("mine");
    await settled();
    expect(collector.updated).toMatchObject([{ error: "Error: mine" }]);
  });

  test("that streams is recorded with its chunks", async () => {
    const collector = new CollectingClient();
    const inner = langsmithFunction(
      async function* () {
        yield "a";
        yield "b";
      },
      { name: "inner", run_type: "llm" },
    );
    const chunks: unknown[] = [];
    await withRun(startRun(collector), async () => {
      for await (const chunk of inner()) {
        chunks.push(chunk);
      }
    });
    await settled();
    expect(chunks).toEqual(["a", "b"]);
    expect(collector.updated).toMatchObject([{ outputs: { outputs: ["a", "b"] } }]);
  });

  test("is not recorded in a trace that sampling leaves out", async () => {
    const collector = new CollectingClient({ isSampled: () => false });
    const inner = langsmithFunction(async () => 1, { name: "inner" });
    await expect(withRun(startRun(collector), async () => await inner())).resolves.toBe(1);
    await settled();
    expect(collector.created).toEqual([]);
  });
});

describe("a Millrace run inside a traceable of langsmith", () => {
  test("is a child of its run, in its trace and project, recorded by our client", async () => {
    const collector = new CollectingClient();
    const peer = new LangsmithCollector();
    const inner = traceable(async () => 1, { name: "inner", client: collector });
    const outer = peerTraceable(async () => await inner(), {
      name: "outer",
      client: peer.client,
      project_name: "theirs",
      tracingEnabled: true,
    });
    await outer();
    await settled();
    const [root] = peer.created;
    expect(collector.start("inner")).toMatchObject({
      parentRunId: root?.["id"],
      traceId: root?.["trace_id"],
      projectName: "theirs",
    });
    expect(
      collector.start("inner").dottedOrder.startsWith(`${String(root?.["dotted_order"])}.`),
    ).toBe(true);
    expect(collector.created).toEqual([]);
  });

  test("is a separate trace if tracing is switched off there", async () => {
    const collector = new CollectingClient();
    const inner = traceable(async () => 1, { name: "inner", client: collector });
    await peerTraceable(async () => await inner(), { name: "outer", tracingEnabled: false })();
    expect(collector.start("inner").parentRunId).toBeUndefined();
  });
});

describe("a traceable of langsmith inside a Millrace run", () => {
  test("whose inputs are processed later is recorded with the processed inputs", async () => {
    const collector = new CollectingClient();
    const inner = peerTraceable(async (_secret: string) => 1, {
      name: "inner",
      processInputs: async () => ({ hidden: true }),
    });
    await withRun(startRun(collector), async () => await inner("s3cr3t"));
    await settled();
    expect(collector.createdRun("inner").inputs).toEqual({ hidden: true });
  });

  test("whose inputs are a stream is recorded completely at its end", async () => {
    const collector = new CollectingClient();
    const inner = peerTraceable(
      async (stream: ReadableStream<string>) => {
        let all = "";
        for await (const chunk of stream) {
          all += chunk;
        }
        return all;
      },
      { name: "inner" },
    );
    const input = new Blob(["ab"]).stream().pipeThrough(new TextDecoderStream() as never);
    await withRun(startRun(collector), async () => await inner(input as ReadableStream<string>));
    await settled();
    expect(collector.createdRun("inner")).toMatchObject({ outputs: { outputs: "ab" } });
    expect(collector.createdRun("inner").end_time).toMatch(microTime);
    expect(collector.updated).toEqual([]);
  });
});

describe("a Millrace run as langsmith sees it", () => {
  test("is a run tree with its position, name and headers", () => {
    const collector = new CollectingClient();
    const run = startRun(collector, { name: "ours", tags: ["a"], metadata: { m: 1 } });
    withRun(run, () => {
      const tree = getCurrentRunTree();
      expect(tree).toMatchObject({ id: run.id, trace_id: run.traceId, name: "ours", tags: ["a"] });
      expect(tree.metadata).toEqual({ m: 1 });
      expect(tree.toHeaders()).toEqual(run.toHeaders());
      tree.addEvent({ name: "noted" });
      tree.metadata = { added: true };
    });
    run.end();
    expect(collector.end("ours")).toMatchObject({
      events: [{ name: "noted" }],
      metadata: { m: 1, added: true },
    });
  });

  test("still represents the Millrace run when it is copied, as LangChain does", () => {
    const run = startRun(new CollectingClient());
    withRun(run, () => {
      const copy = new PeerRunTree(getCurrentRunTree());
      expect(copy.id).toBe(run.id);
      const storage = Reflect.get(
        globalThis,
        Symbol.for("ls:tracing_async_local_storage"),
      ) as AsyncLocalStorage<unknown>;
      storage.run(copy, () => {
        expect(currentRun()).toBe(run);
      });
    });
  });

  test("keeps no references to child runs that others add", async () => {
    const run = startRun(new CollectingClient());
    await withRun(run, async () => {
      const tree = getCurrentRunTree() as unknown as Record<PropertyKey, unknown>;
      for (let count = 0; count < 50; count += 1) {
        await peerTraceable(async () => 1)();
      }
      expect(tree["child_runs"]).toHaveLength(0);
      expect(Reflect.get(tree, Symbol.for("lc:child_run_end_promises"))).toHaveLength(0);
    });
  });

  test("shows no client and no payload as JSON", () => {
    const run = startRun(new CollectingClient(), { inputs: { secret: "s3cr3t" } });
    withRun(run, () => {
      const text = JSON.stringify(getCurrentRunTree());
      expect(JSON.parse(text)).toMatchObject({ id: run.id });
      expect(text).not.toContain("s3cr3t");
      expect(text).not.toContain("warnings");
    });
  });
});

test("attachments of a traceable of langsmith are only sent with its start", async () => {
  const collector = new CollectingClient();
  const inner = peerTraceable(async (name: string) => await Promise.resolve(name), {
    name: "inner",
    extractAttachments: (name: string) => [{ note: ["text/plain", Buffer.from("x")] }, { name }],
  });
  await traceable(async () => await inner("a"), { name: "outer", client: collector })();
  await settled();
  const sent = [...collector.created, ...collector.updated];
  expect(sent.filter(({ name }) => name === "inner")).toHaveLength(2);
  expect(sent.map((run) => "attachments" in run && run["attachments"] !== undefined)).toEqual([
    true,
    false,
  ]);
});
