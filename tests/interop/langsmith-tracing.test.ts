import { RunTree as MovedRunTree } from "@millrace/langsmith";
import { traceable as movedTraceable } from "@millrace/langsmith/traceable";
import { RunTree as TodaysRunTree } from "langsmith";
import { traceable as todaysTraceable } from "langsmith/traceable";
import { RunTree as OldRunTree } from "langsmith-0.1";
import { traceable as oldTraceable } from "langsmith-0.1/traceable";
import { RunTree as NewestRunTree } from "langsmith-0.12";
import { traceable as newestTraceable } from "langsmith-0.12/traceable";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { LangsmithTestServer, unique } from "./langsmith/test-server.ts";
import { named, unusualText, treeOf } from "./langsmith/traces.ts";
import { versions } from "./langsmith/methods.ts";
import type { Version } from "./langsmith/methods.ts";

const testServer = new LangsmithTestServer("tracing");

/** Both are typed with the old client's types, which cover everything that is used here. */
const traceables = {
  "langsmith-0.1": oldTraceable,
  langsmith: todaysTraceable as unknown,
  "langsmith-0.12": newestTraceable as unknown,
  "@millrace/langsmith": movedTraceable as unknown,
};
const runTrees = {
  "langsmith-0.1": OldRunTree,
  langsmith: TodaysRunTree as unknown,
  "langsmith-0.12": NewestRunTree as unknown,
  "@millrace/langsmith": MovedRunTree as unknown,
};
const traceableOf = (version: Version) => traceables[version] as typeof oldTraceable;
const runTreeOf = (version: Version) => runTrees[version] as typeof OldRunTree;

/** Collects the path of each request through the global fetch from now on. Our own client uses other connections. */
function collectPaths(): string[] {
  const paths: string[] = [];
  const real = globalThis.fetch;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    paths.push(new URL(input instanceof Request ? input.url : String(input)).pathname);
    return real(input, init);
  });
  onTestFinished(() => {
    spy.mockRestore();
  });
  return paths;
}

describe.each(versions)("tracing with %s", (version) => {
  const traceable = traceableOf(version);

  test("nested function calls form one trace of three levels, sent in batches", async () => {
    const paths = collectPaths();
    const client = testServer.either(version);
    const project = unique("trace");
    const config = { client, project_name: project, tracingEnabled: true };
    const tool = traceable(
      (city: string) => {
        if (city === "Atlantis") {
          throw new TypeError("no umbrella");
        }
        return `${city}: rain`;
      },
      { ...config, name: "weather", run_type: "tool" },
    );
    const model = traceable(
      async (question: { city: string }) => ({ answer: await tool(question.city) }),
      { ...config, name: "model", run_type: "llm", tags: ["inner"], metadata: { model: "gpt" } },
    );
    const agent = traceable(
      async (input: { cities: string[]; note: string }) => {
        const answers: unknown[] = [];
        for (const city of input.cities) {
          answers.push(await model({ city }).catch((error: unknown) => String(error)));
        }
        return { answers };
      },
      {
        ...config,
        name: "agent",
        tags: ["outer"],
        metadata: { plan: { tier: 2 }, note: unusualText },
      },
    );
    await agent({ cities: ["Paris", "Atlantis"], note: unusualText });
    await client.awaitPendingTraceBatches();

    const runs = await testServer.runsOf(project);
    expect(treeOf(runs)).toEqual([
      ["agent", null, "chain"],
      ["model", "agent", "llm"],
      ["weather", "model", "tool"],
      ["model", "agent", "llm"],
      ["weather", "model", "tool"],
    ]);
    const root = named(runs, "agent");
    expect(root).toMatchObject({
      inputs: { cities: ["Paris", "Atlantis"], note: unusualText },
      outputs: { answers: [{ answer: "Paris: rain" }, "TypeError: no umbrella"] },
      tags: ["outer"],
      error: null,
      extra: {
        metadata: { plan: { tier: 2 }, note: unusualText },
        runtime: version === "@millrace/langsmith" ? { sdk: "millrace" } : { library: "langsmith" },
      },
    });
    expect(runs.every((run) => run.trace_id === root.id && run.end_time !== null)).toBe(true);
    const models = runs.filter(({ name }) => name === "model");
    expect(models.map(({ error }) => error?.includes("no umbrella") ?? false)).toEqual([
      false,
      true,
    ]);
    expect(models[0]).toMatchObject({
      inputs: { city: "Paris" },
      outputs: { answer: "Paris: rain" },
      tags: ["inner"],
      extra: { metadata: { model: "gpt" } },
    });
    const tools = runs.filter(({ name }) => name === "weather");
    expect(tools[0]).toMatchObject({
      inputs: { input: "Paris" },
      outputs: { outputs: "Paris: rain" },
    });
    expect(tools[1]!.error).toContain("no umbrella");
    // A worker thread sends those of our package.
    const sent = paths.filter((path) => path.startsWith("/runs"));
    const expected = {
      "langsmith-0.1": "/runs/batch",
      langsmith: "/runs/multipart",
      "langsmith-0.12": "/runs/multipart",
      "@millrace/langsmith": undefined,
    };
    expect(sent[0]).toBe(expected[version]);
    expect(paths).not.toContain("/runs");
  });

  test("run trees that are built by hand are read back as they were built", async () => {
    const client = testServer.either(version);
    const RunTree = runTreeOf(version);
    const project = unique("tree");
    const root = new RunTree({
      name: "root",
      run_type: "chain",
      project_name: project,
      inputs: { question: unusualText },
      tags: ["a", unusualText],
      client,
    });
    await root.postRun();
    const child = root.createChild({ name: "child", run_type: "retriever", inputs: { k: 2 } });
    await child.postRun();
    const leaf = child.createChild({ name: "leaf", run_type: "embedding", inputs: {} });
    await leaf.postRun();
    await leaf.end(undefined, "no umbrella");
    await leaf.patchRun();
    await child.end({ documents: [{ page_content: unusualText }] });
    await child.patchRun();
    await root.end({ answer: "rain" }, undefined, undefined, { late: true });
    await root.patchRun();
    await client.awaitPendingTraceBatches();

    const runs = await testServer.runsOf(project);
    expect(treeOf(runs)).toEqual([
      ["root", null, "chain"],
      ["child", "root", "retriever"],
      ["leaf", "child", "embedding"],
    ]);
    expect(named(runs, "root")).toMatchObject({
      id: root.id,
      inputs: { question: unusualText },
      outputs: { answer: "rain" },
      tags: ["a", unusualText],
      extra: { metadata: { late: true } },
      dotted_order: root.dotted_order,
    });
    expect(named(runs, "child").outputs).toEqual({ documents: [{ page_content: unusualText }] });
    expect(named(runs, "leaf")).toMatchObject({ error: "no umbrella" });
  });

  test("a trace continues in another process through its headers", async () => {
    const client = testServer.either(version);
    const RunTree = runTreeOf(version);
    const project = unique("distributed");
    const caller = new RunTree({ name: "caller", project_name: project, client });
    await caller.postRun();
    const headers = caller.toHeaders();
    const callee = RunTree.fromHeaders(headers, { name: "callee", project_name: project, client })!;
    const served = callee.createChild({ name: "served" });
    await served.postRun();
    await served.end({ done: true });
    await served.patchRun();
    await caller.end({});
    await caller.patchRun();
    await client.awaitPendingTraceBatches();
    expect(treeOf(await testServer.runsOf(project))).toEqual([
      ["caller", null, "chain"],
      ["served", "caller", "chain"],
    ]);
  });

  test("the chunks that a function streams are its output", async () => {
    const client = testServer.either(version);
    const project = unique("stream");
    const stream = traceable(
      async function* stream(count: number) {
        for (let index = 0; index < count; index += 1) {
          yield await Promise.resolve(`chunk ${index}`);
        }
      },
      { client, project_name: project, tracingEnabled: true },
    );
    const chunks: string[] = [];
    for await (const chunk of stream(3)) {
      chunks.push(chunk);
    }
    await client.awaitPendingTraceBatches();
    const [run] = await testServer.runsOf(project);
    expect(run).toMatchObject({ inputs: { input: 3 }, outputs: { outputs: chunks } });
    expect(chunks).toHaveLength(3);
  });

  test("100 traces at once all arrive, each with its own child", async () => {
    const client = testServer.either(version);
    const project = unique("many");
    const config = { client, project_name: project, tracingEnabled: true };
    const inner = traceable((index: number) => index * 2, { ...config, name: "inner" });
    const outer = traceable((index: number) => inner(index), { ...config, name: "outer" });
    await Promise.all(Array.from({ length: 100 }, (_, index) => outer(index)));
    await client.awaitPendingTraceBatches();
    const runs = await testServer.runsOf(project);
    expect(runs).toHaveLength(200);
    const roots = new Map(
      runs.filter(({ name }) => name === "outer").map((run) => [run.id, run.inputs]),
    );
    expect(new Set([...roots.values()].map((inputs) => inputs?.["input"])).size).toBe(100);
    for (const run of runs.filter(({ name }) => name === "inner")) {
      expect(run.inputs).toEqual(roots.get(run.parent_run_id!));
    }
  });

  test("a run without a dotted order is sent alone, and so is its end", async () => {
    const paths = collectPaths();
    const client = testServer.either(version);
    const id = crypto.randomUUID();
    await client.createRun({
      id,
      name: "single",
      run_type: "llm",
      inputs: { prompt: unusualText },
      project_name: unique("single"),
      start_time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      extra: { metadata: { plan: "free" } },
    });
    expect(await testServer.reader.runs.read(id)).not.toHaveProperty("outputs");
    await client.updateRun(id, {
      outputs: { text: unusualText },
      end_time: Date.UTC(2026, 0, 2, 3, 4, 6, 678),
      tags: ["late"],
    });
    const run = await testServer.reader.runs.read(id);
    expect(run).toMatchObject({
      name: "single",
      runType: "llm",
      inputs: { prompt: unusualText },
      outputs: { text: unusualText },
      tags: ["late"],
      extra: { metadata: { plan: "free" } },
    });
    expect(String(run.startTime)).toContain("2026-01-02T03:04:05.678");
    expect(String(run.endTime)).toContain("2026-01-02T03:04:06.678");
    // A worker thread sends those of our package.
    expect(paths).toEqual(version === "@millrace/langsmith" ? [] : ["/runs", `/runs/${id}`]);
  });

  test("a batch of starts and ends is accepted in one request", async () => {
    const client = testServer.either(version);
    const project = unique("batch");
    const [first, second] = ["first", "second"].map((name) => {
      const id = crypto.randomUUID();
      const dotted_order = `20260102T030405678000Z${id}`;
      return { id, name, trace_id: id, dotted_order, run_type: "chain", session_name: project };
    });
    await client.batchIngestRuns({
      runCreates: [first!, second!].map((run) => ({
        ...run,
        inputs: { of: run.name },
        start_time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      })),
    });
    await client.batchIngestRuns({
      runUpdates: [
        { ...second!, outputs: { done: true }, end_time: Date.UTC(2026, 0, 2, 3, 4, 6) },
      ],
    });
    const runs = await testServer.runsOf(project);
    expect(named(runs, "first")).toMatchObject({ inputs: { of: "first" }, outputs: null });
    expect(named(runs, "second")).toMatchObject({
      inputs: { of: "second" },
      outputs: { done: true },
    });
  });
});

testServer.expectAllCalled();
