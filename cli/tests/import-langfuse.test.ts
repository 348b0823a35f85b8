import { readdirSync } from "node:fs";
import type { Run } from "millrace";
import { compile } from "millrace/prompts";
import { expect, test, vi } from "vitest";
import { ended, start, withoutProgress } from "./support/command.ts";
import { publicKey, secretKey, startFakeLangfuse } from "./support/fake-langfuse.ts";
import { createContent, ids } from "./support/langfuse-content.ts";
import { useOwnServers } from "./support/own-servers.ts";
import { createRunImport } from "./support/run-import.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

const servers = useOwnServers();

const keys = { LANGFUSE_PUBLIC_KEY: publicKey, LANGFUSE_SECRET_KEY: secretKey };

const runImport = createRunImport("langfuse", keys);

const byName = (runs: readonly Run[], name: string): Run => {
  const found = runs.find((run) => run.name === name);
  if (found === undefined) {
    throw new Error(`there is no run ${name}`);
  }
  return found;
};

test.each([3, 4] as const)(
  "everything of a project of version %i is imported, and nothing twice",
  async (version) => {
    const source = await startFakeLangfuse(createContent(70), version);
    const target = await servers.start();
    const first = await runImport(source, target);
    const runs = 10 + 2 * 70;
    const report = (outcome: (count: number) => string) =>
      [
        `projects: ${outcome(1)}`,
        `runs: ${outcome(runs)}`,
        `datasets: ${outcome(1)}`,
        `examples: ${outcome(2)}, 1 left out`,
        `  1 left out, such as "item-3": it is archived`,
        `feedback: ${outcome(3)}, 1 left out`,
        `  1 left out, such as "s4": it is about a session or a dataset run, not about a trace or an observation`,
        `prompts: ${outcome(1)}`,
        `commits: ${outcome(2)}`,
      ].join("\n");
    expect({ code: first.code, faults: withoutProgress(first.errors) }).toEqual({
      code: 3,
      faults: "",
    });
    expect(first.output.replace(/\nin \d.*\n$/, "")).toBe(
      report((count) => `${count} imported`).replace(
        "datasets:",
        "attachments: 1 imported\ndatasets:",
      ),
    );
    expect(readdirSync(target.folder)).toEqual([]);
    const second = await runImport(source, target);
    expect(second.output.replace(/\nin \d.*\n$/, "")).toBe(
      report((count) => `0 imported, ${count} already on the server`),
    );
    expect(await target.client.runs.list({ projectNames: ["support"] }).toArray()).toHaveLength(
      runs,
    );
    expect(await target.client.feedback.list({}).toArray()).toHaveLength(3);
  },
);

test.each([3, 4] as const)(
  "observations of version %i become runs with their parents, times, types, usage and costs",
  async (version) => {
    const source = await startFakeLangfuse(createContent(), version);
    const target = await servers.start();
    await runImport(source, target);
    const runs = await target.client.runs.list({ projectNames: ["support"] }).toArray();
    const root = byName(runs, "answer");
    const agent = byName(runs, "agent");
    const call = byName(runs, "call");
    expect(root).toMatchObject({
      runType: "chain",
      startTime: version === 3 ? "2024-05-01T10:00:00.000000Z" : "2024-05-01T10:00:00.005000Z",
      endTime: "2024-05-01T10:00:05.000000Z",
      inputs: { messages: [{ role: "user", content: "Why?" }] },
      outputs: { output: "Because." },
      tags: ["prod"],
      extra: {
        metadata: {
          session_id: "chat 1",
          user_id: "user 1",
          langfuse_trace_id: ids.trace,
          langfuse_release: "v7",
          langfuse_type: "TRACE",
        },
      },
    });
    // An id of version 5, the same in each import.
    expect(root.id).toMatch(/^[\da-f]{8}-[\da-f]{4}-5/);
    expect(agent).toMatchObject({
      parentRunId: root.id,
      traceId: root.id,
      runType: "chain",
      extra: { metadata: { langfuse_id: ids.agent, langfuse_type: "AGENT" } },
    });
    expect(agent.dottedOrder).toBe(`${root.dottedOrder}.20240501T100000005000Z${agent.id}`);
    expect(call).toMatchObject({
      parentRunId: agent.id,
      runType: "llm",
      startTime: "2024-05-01T10:00:01.000000Z",
      endTime: "2024-05-01T10:00:02.000000Z",
      firstTokenTime: "2024-05-01T10:00:01.300000Z",
      outputs: { role: "assistant", content: "Because." },
      promptTokens: 100,
      completionTokens: 15,
      totalTokens: 115,
      totalCost: "0.0035",
      promptCost: "0.0015",
      completionCost: "0.002",
      extra: {
        invocation_params: { model: "gpt-4o", temperature: 0.5 },
        metadata: {
          step: 1,
          ls_model_name: "gpt-4o",
          prompt_name: "Support/Greeting",
          langfuse_prompt_version: 2,
          usage_metadata: {
            input_token_details: { cache_read: 20 },
            output_token_details: { reasoning: 5 },
          },
        },
      },
    });
    expect(byName(runs, "search")).toMatchObject({
      runType: "tool",
      error: "timed out",
      inputs: { input: "rain" },
      outputs: { output: ["clouds"] },
    });
    expect(byName(runs, "documents")).toMatchObject({
      runType: "retriever",
      parentRunId: byName(runs, "search").id,
      extra: { metadata: { langfuse_level: "WARNING", langfuse_status_message: "slow" } },
    });
    expect(byName(runs, "note")).toMatchObject({
      startTime: "2024-05-01T10:00:04.000000Z",
      endTime: "2024-05-01T10:00:04.000000Z",
    });
    // Its parent is not in the trace.
    expect(byName(runs, "embed")).toMatchObject({
      runType: "embedding",
      parentRunId: root.id,
      extra: { metadata: { langfuse_parent_id: "missing" } },
    });
    const image = call.attachments?.[ids.image];
    expect(image?.mimeType).toBe("image/png");
    expect(await (await fetch(image?.presignedUrl ?? "")).text()).toBe("PNG");
  },
);

test("an observation that was open at the first import is ended by a later one", async () => {
  const content = createContent();
  const observations = content.observations.map((observation) =>
    observation["name"] === "call" ? { ...observation, endTime: null, output: null } : observation,
  );
  const source = await startFakeLangfuse({ ...content, observations });
  const target = await servers.start();
  await runImport(source, target, "--only", "runs");
  observations.splice(0, observations.length, ...content.observations);
  const last = await runImport(source, target, "--only", "runs");
  expect(last.output).toContain("runs: 1 imported, 9 already on the server");
  const runs = await target.client.runs.list({ projectNames: ["support"] }).toArray();
  expect(byName(runs, "call")).toMatchObject({
    endTime: "2024-05-01T10:00:02.000000Z",
    outputs: { content: "Because." },
  });
});

test("UUIDs are kept, and an observation with the id of its trace gets another one", async () => {
  const source = await startFakeLangfuse(createContent());
  const target = await servers.start();
  await runImport(source, target);
  const [root, span] = [
    await target.client.runs.read(ids.uuidTrace),
    await target.client.runs.read(ids.uuidSpan),
  ];
  expect(root).toMatchObject({ name: "trace", inputs: { q: 1 } });
  expect(span.traceId).toBe(ids.uuidTrace);
  const between = await target.client.runs.read(span.parentRunId ?? "");
  expect(between).toMatchObject({
    parentRunId: ids.uuidTrace,
    extra: { metadata: { langfuse_id: ids.uuidTrace, langfuse_type: "CHAIN" } },
  });
});

test.each([3, 4] as const)(
  "scores of version %i become feedback of the run that they are about",
  async (version) => {
    const source = await startFakeLangfuse(createContent(), version);
    const target = await servers.start();
    await runImport(source, target);
    const runs = await target.client.runs.list({ projectNames: ["support"] }).toArray();
    const feedback = await target.client.feedback.list({}).toArray();
    const byKey = Object.fromEntries(feedback.map((entry) => [entry.key, entry]));
    expect(byKey).toMatchObject({
      quality: {
        runId: byName(runs, "answer").id,
        score: 0.7,
        comment: "fine",
        source: { type: "api", metadata: { langfuse_id: "s1" } },
        createdAt: "2024-05-01T10:00:00.000000Z",
      },
      correct: {
        runId: byName(runs, "agent").id,
        score: true,
        source: { type: "app", metadata: { langfuse_author_id: "reviewer" } },
      },
      tone: { runId: ids.uuidTrace, value: "friendly", source: { type: "model" } },
    });
    expect(byKey["tone"]?.score).toBeUndefined();
  },
);

test("datasets keep their items, schemas and sources", async () => {
  const source = await startFakeLangfuse(createContent());
  const target = await servers.start();
  await runImport(source, target);
  const dataset = await target.client.datasets.read({ datasetName: "questions" });
  expect(dataset).toMatchObject({
    description: "Why?",
    createdAt: "2024-05-01T10:00:00.000000Z",
    metadata: { owner: "me", imported_from: "langfuse", langfuse_id: "dataset-1" },
    outputsSchema: {
      type: "object",
      properties: { output: { type: "string" } },
      required: ["output"],
    },
  });
  const examples = await target.client.examples.list({ datasetName: "questions" }).toArray();
  const runs = await target.client.runs.list({ projectNames: ["support"] }).toArray();
  expect(examples).toHaveLength(2);
  expect(examples).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        inputs: { question: "Why?" },
        outputs: { output: "Because." },
        metadata: expect.objectContaining({ difficulty: 1, langfuse_id: "item-1" }) as unknown,
        sourceRunId: byName(runs, "agent").id,
        createdAt: "2024-05-01T10:00:02.000000Z",
      }),
      expect.objectContaining({ inputs: { input: "How?" } }),
    ]),
  );
});

test("prompts keep their versions, labels, placeholders and variables, and can be compiled", async () => {
  const source = await startFakeLangfuse(createContent());
  const target = await servers.start();
  await runImport(source, target);
  const { prompts } = target.client;
  const handle = "support-greeting";
  expect(await prompts.read(handle)).toMatchObject({
    description: 'Langfuse prompt "Support/Greeting"',
    tags: ["greeting"],
    commits: 2,
  });
  const commits = await prompts.listCommits(handle).toArray();
  expect(commits.map(({ description }) => description)).toEqual([
    "Use messages [langfuse 2]",
    "[langfuse 1]",
  ]);
  expect((await prompts.listTags(handle)).map(({ name }) => name)).toEqual(["production"]);
  const current = await prompts.pull(`${handle}:production`);
  const history = [{ role: "user", content: "Hi" }];
  expect(compile(current, { name: "Ada", history }).messages).toMatchObject([
    { role: "system", content: "Greet Ada." },
    { role: "user", content: "Hi" },
    { role: "user", content: "Hello!" },
  ]);
  expect(current.manifest).toMatchObject({
    kwargs: {
      metadata: {
        langfuse_prompt: "Support/Greeting",
        langfuse_version: 2,
        langfuse_config: { model: "gpt-4o" },
      },
    },
  });
  const first = await prompts.pull(`${handle}:${commits[1]?.commitHash ?? ""}`);
  expect(compile(first, { name: "Ada" }).messages).toMatchObject([
    { role: "user", content: "Hello Ada!" },
  ]);
});

test("a time span, kinds of rows and a dry run limit what is imported", async () => {
  const source = await startFakeLangfuse(createContent(5));
  const target = await servers.start();
  const span = ["--since", "2024-05-01T10:00:31Z", "--until", "2024-05-01T10:00:33Z"];
  const dry = await runImport(source, target, ...span, "--only", "runs", "--dry-run", "--json");
  expect(JSON.parse(dry.output)).toMatchObject({
    projects: { imported: 1 },
    runs: { imported: 4, existing: 0, leftOut: 0 },
  });
  expect(await target.client.projects.list({ projectName: "support" }).toArray()).toEqual([]);
  const real = await runImport(source, target, ...span, "--only", "runs");
  expect(real).toMatchObject({ code: 0 });
  const runs = await target.client.runs.list({ projectNames: ["support"], isRoot: true }).toArray();
  expect(
    runs.map(({ startTime }) => String(startTime)).toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(["2024-05-01T10:00:31.000000Z", "2024-05-01T10:00:32.000000Z"]);
  expect(await target.client.datasets.list({}).toArray()).toEqual([]);
});

test("another project's name, a wrong key and a wrong address are explained", async () => {
  const source = await startFakeLangfuse(createContent());
  const target = await servers.start();
  const wrong = await runImport(source, target, "--project", "sales");
  expect(wrong).toMatchObject({
    code: 1,
    errors: expect.stringContaining(
      'the key belongs to the project "support", not to "sales"',
    ) as unknown,
  });
  const refused = await ended(
    start(
      ["import", "--from", "langfuse", "--from-url", source.url, "--endpoint", target.url],
      { ...keys, LANGFUSE_SECRET_KEY: "sk-wrong" },
      target.folder,
    ),
  );
  expect(refused).toMatchObject({
    code: 1,
    errors: expect.stringMatching(
      /refused the key \(401\). Set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY/,
    ) as unknown,
  });
  // There is no progress to continue from.
  expect(refused.errors).not.toMatch(/sk-wrong|continue/);
  const other = await servers.start();
  expect(await runImport(other, target)).toMatchObject({
    code: 1,
    errors: expect.stringContaining("is not a Langfuse server") as unknown,
  });
});
