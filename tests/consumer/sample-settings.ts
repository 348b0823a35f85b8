/**
 * The code that a page leaves to its reader, around one sample. A complete sample needs no setting.
 * Every block of a page is run with its setting; `unrun` lists blocks that can't be run, with the reason.
 */
export interface Setting {
  readonly page: string;
  /** Text that only this block of the page contains. */
  readonly contains: string;
  /** TypeScript code before the sample, which defines the names that it uses. */
  readonly before?: string;
  /** Code after the sample, which checks its effect. */
  readonly after?: string;
  /** What the program prints, ignoring white space; `…` stands for anything. */
  readonly prints?: string;
}

/** A text block that no program prints. */
export interface Unrun {
  readonly page: string;
  readonly contains: string;
  readonly reason: string;
}

/** Pages about libraries that only `tests/latest` has. `tests/latest/doc-samples.test.ts` runs their code. */
export const latestPages: readonly string[] = ["docs/openai-agents.md"];

/** Code for a release of a library that only `tests/latest` has. A test there runs it. */
export const latestBlocks: readonly Pick<Unrun, "page" | "contains">[] = [
  { page: "docs/ai-sdk.md", contains: "registerTelemetry(" },
];

export const unrun: readonly Unrun[] = [
  {
    page: "docs/scaling.md",
    contains: "CREATE ROLE millrace LOGIN",
    reason: "for an administrator of PostgreSQL; createTestDatabase of the tests does the same",
  },
  {
    page: "docs/team.md",
    contains: "proxy_pass http://127.0.0.1:1984",
    reason:
      "a configuration of nginx; tests/integration/proxy.slow.test.ts has a proxy that does the same",
  },
  {
    page: "docs/vitest.md",
    contains: "capitals (vitest on capitals-4)",
    reason: "scores of a model; tests/evaluation/vitest-failures.test.ts checks the table",
  },
  {
    page: "docs/bench.md",
    contains: "loop delay    1.1 / 9.0 / 39.6 ms",
    reason: "figures of one run; cli/tests/bench.test.ts checks the rows of the report",
  },
  {
    page: "docs/prices.md",
    contains: "1,204 model calls examined",
    reason: "the result for one database; cli/tests/prices.test.ts checks it",
  },
  {
    page: "docs/playground.md",
    contains: "The playground asks for this token",
    reason: "a random token; cli/tests/serve.test.ts checks the lines",
  },
  {
    page: "docs/example.md",
    contains: "├─ assemble-prompt prompt",
    reason: "a drawing; tests/examples/start.test.ts checks the runs that it shows",
  },
];

const assertion = `import assert from "node:assert/strict";`;
const client = `import { Client } from "millrace"; const client = new Client();`;
const questions = `await client.datasets.create({ name: "questions" });`;
const close = `await client.close();`;
/** A dataset of two questions, and a program that answers them. */
const evaluatedDataset = `
  await client.datasets.create({ name: "questions" });
  await client.examples.createMany({ datasetName: "questions", examples: [
    { inputs: { question: "Why?" }, outputs: { answer: "because" } },
    { inputs: { question: "How?" }, outputs: { answer: "so" } },
  ] });
  const answer = async ({ question }: { readonly question: string }) => ({ answer: question === "Why?" ? "because" : "so" });`;
/** A program for the tests of docs/vitest.md. */
const findCapital = `const capitals: Readonly<Record<string, string>> = { France: "Paris", Italy: "Rome", Peru: "Lima" };
  const findCapital = async ({ country }: { readonly country: string }) => ({ capital: capitals[country] ?? "" });`;
const recorded = (name: string): string => `
  await client.flush();
  const names: (string | undefined)[] = [];
  for await (const { name } of client.runs.list({ projectNames: ["default"] })) names.push(name);
  assert(names.includes("${name}"), names.join());
  await client.close();`;

/** An API of a model at `address`, and a function that prints the recorded calls and closes everything. */
const modelApi = `
  import { createServer } from "node:http";
  import type { AddressInfo } from "node:net";
  const api = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({
      choices: [{ message: { role: "assistant", content: "Water." } }],
      content: [{ type: "text", text: "Water." }],
      candidates: [{ content: { role: "model", parts: [{ text: "Water." }] } }],
    }));
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  const address = "http://127.0.0.1:" + (api.address() as AddressInfo).port;
  async function printCalls(): Promise<void> {
    await client.flush();
    for await (const { runType, status } of client.runs.list({ projectNames: ["default"] })) {
      console.log(runType, status);
    }
    await client.close();
    api.closeAllConnections();
    api.close();
  }`;

/** A model of the AI SDK that answers. */
const answeringModel = `
  import { MockLanguageModelV3 } from "ai/test";
  const model = new MockLanguageModelV3({
    doGenerate: {
      content: [{ type: "text", text: "Yes." }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 2, noCache: 2, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    },
  });`;

/** A client, a function for the handlers of a web application, and one that sends requests to it and prints the runs. */
const webApplication = `
  import type { AddressInfo } from "node:net";
  import { Client, traceable } from "millrace";
  const client = new Client();
  const answer = traceable(async (topic: string) => ({ about: topic }), { name: "answer" });
  async function askAndClose(address: string, close: () => Promise<unknown>): Promise<void> {
    const caller = client.startRun({ name: "caller" });
    const response = await fetch(address + "/ask/mills", { headers: caller.toHeaders() });
    console.log(await response.text());
    await (await fetch(address + "/none")).text();
    caller.end();
    await close();
    await client.flush();
    for await (const { name, parentRunId, outputs } of client.runs.list({ projectNames: ["default"], isRoot: false })) {
      console.log(name, parentRunId === caller.id, JSON.stringify(outputs));
    }
    for await (const { name, outputs } of client.runs.list({ projectNames: ["default"], isRoot: true })) {
      console.log(name, JSON.stringify(outputs));
    }
    await client.close();
  }`;
const webRuns = `{"about":"mills"} answer false {"about":"mills"} GET /ask/mills true {"status":200,"route":"/ask/:topic"} GET /none {"status":404} caller …`;

/** Names for the samples about prompts. The server has the prompts `assistant:prod` and `classify`. */
const somePrompts = `
  import { chatPrompt as writePrompt } from "millrace/prompts";
  const { commitHash } = await client.prompts.push("assistant", {
    manifest: writePrompt([["user", "{question}"]]),
    commitTags: ["prod"],
  });
  const labels = { title: "Label", type: "object", properties: { label: { type: "string" } } };
  await client.prompts.push("classify", {
    manifest: writePrompt([["system", "Classify."], ["user", "{text}"]], { schema: labels }),
  });`;

/** Starts a server that responds to each request like a provider; its address is in the variable `provider`. */
const provider = (response: object): string => `
  import { createServer } from "node:http";
  import type { AddressInfo } from "node:net";
  const api = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(${JSON.stringify(JSON.stringify(response))});
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  const provider = \`http://127.0.0.1:\${(api.address() as AddressInfo).port}\`;`;

export const settings: readonly Setting[] = [
  {
    page: "docs/rules.md",
    contains: "isAuthentic",
    before: assertion,
    // The example of the specification, at the present time.
    after: `
      const secret = "whsec_" + Buffer.from("a secret of a test").toString("base64");
      const signatureAt = (timestamp: string): string =>
        "v1," + createHmac("sha256", "a secret of a test").update("msg_1." + timestamp + ".{}").digest("base64");
      const headersAt = (seconds: number): Record<string, string> => {
        const timestamp = String(Math.floor(Date.now() / 1_000) + seconds);
        return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": "v1,eA== " + signatureAt(timestamp) };
      };
      assert.equal(isAuthentic(headersAt(0), "{}", secret), true);
      assert.equal(isAuthentic(headersAt(0), "{ }", secret), false);
      assert.equal(isAuthentic(headersAt(0), "{}", "whsec_eA=="), false);
      assert.equal(isAuthentic(headersAt(-301), "{}", secret), false);
      assert.equal(isAuthentic({}, "{}", secret), false);`,
  },
  {
    page: "docs/importing.md",
    contains: "langfuse_id",
    before: `${assertion} ${client}
      const imported = client.startRun({
        name: "call",
        projectName: "support",
        metadata: { langfuse_id: "00f067aa0ba902b7" },
      });
      imported.end();
      client.startRun({ name: "other", projectName: "support" }).end();
      await client.flush();`,
    after: `
      assert.equal(run?.id, imported.id);
      ${close}`,
  },
  {
    page: "docs/moving-over.md",
    contains: 'createDataset("weather")',
    before: `process.env["LANGSMITH_TRACING"] = "true";`,
    after: `
      const names: string[] = [];
      for await (const run of client.listRuns({ projectName: "default" })) names.push(run.name + run.tags?.join());
      console.log(names.join());`,
    prints: "{ answer: 'yes' } Evaluated 1 rows … true answershort",
  },
  {
    page: "docs/moving-over.md",
    contains: "client.millrace.flush()",
    before: `process.env["LANGSMITH_TRACING"] = "true";`,
    prints: "a page about mills true 0",
  },
  {
    page: "docs/prompts.md",
    contains: "const fallback = chatPrompt([",
    before: `${assertion}
      import { Client, setDefaultClient, traceable } from "millrace";
      const client = new Client();
      setDefaultClient(client);
      ${somePrompts}
      ${provider({ choices: [{ message: { role: "assistant", content: "Water turns them." } }] })}
      process.env["OPENAI_API_KEY"] = "a key";
      process.env["OPENAI_BASE_URL"] = provider;`,
    after: `
      api.close();
      await client.flush();
      const [run] = await client.runs.list({ projectNames: ["default"] }).toArray();
      assert.match(JSON.stringify(run), new RegExp(\`"prompt_commit":"\${commitHash}"\`));
      ${close}`,
    prints: "Water turns them.",
  },
  {
    page: "docs/prompts.md",
    contains: "withRunOptions({ metadata: toPromptMetadata(prompt) }",
    before: `${assertion} ${client} ${somePrompts}
      ${provider({ choices: [{ message: { role: "assistant", content: "Water turns them." } }] })}
      process.env["OPENAI_API_KEY"] = "a key";
      process.env["OPENAI_BASE_URL"] = provider;`,
    after: `
      api.close();
      await client.flush();
      const [run] = await client.runs.list({ projectNames: ["default"] }).toArray();
      assert.equal(run?.runType, "llm");
      assert.match(JSON.stringify(run), new RegExp(\`"prompt_commit":"\${commitHash}"\`));
      ${close}`,
  },
  {
    page: "docs/prompts.md",
    contains: 'promptSnapshotDir: "./prompts"',
    before: `
      import { Client } from "millrace";
      { const client = new Client(); ${somePrompts.replace(/import .*;/, "")} await client.close(); }
      import { chatPrompt as writePrompt } from "millrace/prompts";`,
    after: `
      import { readdir } from "node:fs/promises";
      console.log((await readdir("prompts")).length);
      ${close}`,
    prints: "server { server: 1, memory: 0, stale: 0, snapshot: 0, fallback: 0 } 1",
  },
  {
    page: "docs/prompts.md",
    contains: 'compile(prompt, { question: "Why?", lang',
    prints: "Failed to compile the prompt: missing variables: language; unused variables: lang …",
  },
  {
    page: "docs/prompts.md",
    contains: "Failed to compile the prompt",
    before: `
      import { chatPrompt, compile } from "millrace/prompts";
      const prompt = chatPrompt([
        ["system", "Answer in {language}."],
        { placeholder: "history", isOptional: true },
        ["user", "{question}"],
      ]);
      try { compile(prompt, { question: "Why?", lang: "French" }); }
      catch (error) { console.log((error as Error).message); }`,
  },
  {
    page: "docs/prompts.md",
    contains: "await new Anthropic()",
    before: `${assertion} ${client} ${somePrompts}
      ${provider({ type: "message", role: "assistant", content: [{ type: "text", text: "{}" }] })}
      import { MockLanguageModelV3 } from "ai/test";
      process.env["ANTHROPIC_API_KEY"] = "a key";
      process.env["ANTHROPIC_BASE_URL"] = provider;
      const text = "Mills turn.";
      const model = new MockLanguageModelV3({
        doGenerate: {
          content: [{ type: "text", text: '{"label":"mill"}' }],
          finishReason: { unified: "stop", raw: "stop" },
          usage: {
            inputTokens: { total: 2, noCache: 2, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: 1, text: 1, reasoning: 0 },
          },
          warnings: [],
        },
      });`,
    after: `
      api.close();
      assert.equal(message.role, "assistant");
      assert.deepEqual(output, { label: "mill" });
      ${close}`,
  },
  {
    page: "docs/prompts.md",
    contains: '{ format: "mustache", schema:',
    before: `${assertion} ${client}`,
    after: `
      const { manifest: stored } = await client.prompts.get("classify:prod");
      assert.deepEqual(stored, manifest);
      ${close}`,
  },
  {
    page: "docs/prompts.md",
    contains: "await load<ChatPromptTemplate>",
    before: `${client} ${somePrompts}`,
    after: close,
    prints: "Human: Why?",
  },
  {
    page: "docs/prompts.md",
    contains: "const runs = client.runs.list({",
    before: `
      import { Client, setDefaultClient, traceable } from "millrace";
      import { compile } from "millrace/prompts";
      const client = new Client();
      setDefaultClient(client);
      ${somePrompts}
      const prompt = await client.prompts.get("assistant");
      traceable(() => compile(prompt, { question: "Why?" }), { name: "asked" })();
      await client.flush();`,
    after: close,
    prints: "asked",
  },
  {
    page: "README.md",
    contains: "a page about",
    before: assertion,
    after: `
      const runs = await client.runs.list({ projectNames: ["demo"] }).toArray();
      assert.deepEqual(runs.map(({ name }) => name).toSorted(), ["answer", "search"]);`,
    prints: "{ delivered: 4, pending: 0, lost: 0, runs: { delivered: 2, pending: 0, lost: 0 } }",
  },
  {
    page: "README.md",
    contains: "client.sync.prompts.pull",
    before: `${assertion} ${client}
      await client.prompts.push("greeting", { manifest: { template: "Hello" } });
      const slow = client.startRun({ name: "slow", projectName: "demo", startTime: Date.now() - 3_000 });
      slow.end();
      await client.flush();`,
    after: `
      assert.deepEqual(prompt.manifest, { template: "Hello" });
      const scores: unknown[] = [];
      for await (const { key, score } of client.feedback.list({ runIds: [slow.id] })) scores.push([key, score]);
      assert.deepEqual(scores, [["fast enough", 0]]);
      ${close}`,
  },
  {
    page: "README.md",
    contains: "client.examples.upload(rows",
    before: `${assertion} ${client} ${questions}
      const rows = [{ id: "a", inputs: { question: "Why?" } }, { id: "b", inputs: { question: "How?" } }];`,
    after: `assert.deepEqual([result.read, result.created, result.rejected], [2, 2, 0]); ${close}`,
  },
  {
    page: "bench/README.md",
    contains: "createMine",
    before: `
      import type { Driver, DriverInit } from "REPOSITORY/bench/drivers/driver.ts";
      import { countAcknowledged } from "REPOSITORY/bench/drivers/acknowledged.ts";
      interface MyRun { readonly id: string; finish(outputs: unknown): void }
      let finished: unknown;
      class MyClient {
        readonly url: string;
        constructor({ url }: { readonly url: string }) { this.url = url; }
        start({ name }: { readonly parent: unknown; readonly name: string; readonly inputs: unknown }): MyRun {
          return { id: name, finish: (outputs) => { finished = outputs; } };
        }
        async flush(): Promise<void> {}
        async shutdown(): Promise<void> {}
      }`,
    after: `
      import assert from "node:assert/strict";
      const driver = createMine({ endpoint: "http://127.0.0.1:9", requestRuns: 100 });
      const payload = { name: "step", inputs: {}, outputs: { done: true } } as never;
      const handle = driver.start(undefined, payload);
      driver.end(handle, payload);
      assert.equal(driver.id(handle), "step");
      assert.deepEqual(finished, { done: true });
      assert.deepEqual(driver.stats(), { pending: 1, lost: 0 });
      await driver.flush();
      await driver.close();`,
  },
  {
    page: "docs/api.md",
    contains: "projects.list({ nameContains",
    before: assertion,
    after: `assert.equal((await client.projects.read({ projectName: "evals" })).id, project.id);`,
    prints: "evals 0 …",
  },
  {
    page: "docs/api.md",
    contains: "readRows()",
    before: `${assertion} ${client} ${questions}
      async function* readRows() { yield { inputs: { question: "Why?" } }; }`,
    after: `assert.equal(exampleIds.length, 1); ${close}`,
  },
  {
    page: "docs/api.md",
    contains: "client.experiments.compare",
    before: `${client}
      const { id } = await client.datasets.create({ name: "questions" });
      const { exampleIds } = await client.examples.createMany({ datasetName: "questions", examples: [{ inputs: { q: 1 } }] });
      const project = await client.projects.create({ name: "experiment", referenceDatasetId: id });
      const run = client.startRun({ name: "answer", projectName: "experiment", referenceExampleId: exampleIds[0]! });
      run.end();
      await client.flush();
      await client.feedback.create({ runId: run.id, key: "correct", score: 1 });
      const experimentIds = [project.id];`,
    after: close,
    prints: "{ q: 1 } [ … ]",
  },
  {
    page: "docs/api.md",
    contains: "feedback.createToken",
    before: `${assertion} ${client}
      const run = client.startRun({ name: "answer" });
      run.end();
      await client.flush();
      const runId = run.id;`,
    after: `
      const given: unknown[] = [];
      for await (const { key, score, comment } of client.feedback.list({ runIds: [runId] })) given.push([key, score, comment]);
      assert.deepEqual(given, [["thumbs", 0, "wrong"]]);
      const link = await fetch(\`\${url}?score=1&comment=helpful\`);
      assert.equal(link.status, 200);
      ${close}`,
  },
  {
    page: "docs/api.md",
    contains: "annotationQueues.addRuns",
    before: `${assertion} ${client}
      const answer = client.startRun({ name: "answer" });
      answer.end();
      await client.flush();
      const runIds = [answer.id];`,
    after: `assert.equal(run.id, answer.id); ${close}`,
  },
  {
    page: "docs/api.md",
    contains: 'client.prompts.push("greeting"',
    before: `${assertion} ${client} const template = { toJSON: () => ({ lc: 1, id: ["greeting"] }) };`,
    after: `
      assert.match(String(commitHash), /^[0-9a-f]+$/);
      assert.deepEqual(manifest, { lc: 1, id: ["greeting"] });
      ${close}`,
  },
  {
    page: "docs/api.md",
    contains: "const { sync } = new Client();",
    before: `
      import { Client } from "millrace";
      const before = new Client({ projectName: "evals" });
      before.startRun({ name: "first" }).end();
      await before.close();`,
    prints: "evals first",
  },
  {
    page: "docs/bundlers.md",
    contains: "createRequire as millraceRequire",
    after: `
      if (typeof require.resolve("piscina") !== "string" || !__dirname.endsWith("/")) throw new Error("no banner");`,
  },
  {
    page: "docs/bundlers.md",
    contains: "entry: {",
    before: `import { existsSync } from "node:fs"; const configuration = {`,
    after: `};
      const [, ...workers] = Object.values(configuration.entry);
      const missing = workers.filter((path) => !existsSync(path));
      if (missing.length > 0) throw new Error(missing.join());`,
  },
  {
    page: "docs/delivery.md",
    contains: "Start a server with",
    // Port 1 stands for the default port, on which the reader's own server may listen.
    before: `
      import { Client } from "millrace";
      const warn = (text: string) =>
        console.log(text.replace(" --port 1\\"", "\\"").replaceAll(/(127.0.0.1|localhost):1\\b/g, "$1:1984"));
      const client = new Client({ endpoint: "http://localhost:1", logger: { ...console, warn } });
      client.startRun({ name: "kept" }).end();
      await client.flush({ timeoutMs: 3_000 });
      process.exit(0);`,
    prints: "the block",
  },
  {
    page: "docs/delivery.md",
    contains: "waitForCapacity",
    after: `
      const { accepted, delivered } = client.stats();
      if (accepted === 0 || delivered !== accepted) throw new Error(JSON.stringify(client.stats()));`,
  },
  {
    page: "docs/evaluation.md",
    contains: "isShort({ outputs })",
    before: `import { Client as PreparingClient } from "millrace";
      const preparation = new PreparingClient();
      ${evaluatedDataset.replaceAll("client.", "preparation.")}
      await preparation.close();`,
    prints: "2 0 1",
  },
  {
    page: "docs/evaluation.md",
    contains: "yield { inputs: { text",
    before: `${client} import { evaluate } from "millrace/evaluation";`,
    after: close,
    prints: "{ isEqual: { count: 2, mean: 0.5, min: 0, max: 1, deviation: …, errors: 0 } }",
  },
  {
    page: "docs/evaluation.md",
    contains: "evaluation.progress()",
    before: `${assertion} ${client} ${evaluatedDataset} import { evaluate } from "millrace/evaluation";`,
    after: `
      let count = 0;
      for await (const { attempts } of readRows()) count += attempts;
      assert.equal(count, 2);
      assert.equal(totalCost, undefined);
      assert(experiment.url?.includes("compare"));
      ${close}`,
    prints: "{ question: … } { answer: … } …",
  },
  {
    page: "docs/evaluation.md",
    contains: "fetch: cachedFetch()",
    before: `${assertion} ${client} ${modelApi} ${evaluatedDataset}
      process.env["OPENAI_BASE_URL"] = address;
      process.env["OPENAI_API_KEY"] = "key";`,
    after: `
      assert.deepEqual(warnings, []);
      await client.close();
      api.closeAllConnections();
      api.close();`,
  },
  {
    page: "docs/eval.md",
    contains: "// answers.eval.ts",
    before: `${client} ${evaluatedDataset} await client.close();`,
  },
  {
    page: "docs/evaluation.md",
    contains: "comparison?.regressions",
    before: `${client} ${evaluatedDataset} import { evaluate, exactMatch } from "millrace/evaluation";
      await evaluate(answer, { data: "questions", evaluators: [exactMatch()], experiment: "first version", journalDir: "journals", client });`,
    after: close,
    prints: "1",
  },
  {
    page: "docs/evaluation.md",
    contains: "Further scores for an experiment",
    before: `${assertion} ${client} ${evaluatedDataset} import { evaluate, exactMatch } from "millrace/evaluation";
      for (const experiment of ["short answers", "long answers"]) {
        await evaluate(answer, { data: "questions", experiment, resume: false, client });
      }
      client.startRun({ name: "answer", projectName: "production" }).end({ answer: "yes" });
      await client.flush();`,
    after: `
      assert.deepEqual(preferences.map(({ experiment, wins }) => [experiment, wins]), [["short answers", 0], ["long answers", 0]]);
      assert.equal(pValues["longer"], 1);
      ${close}`,
  },
  { page: "docs/vitest.md", contains: '"knows France"', before: findCapital },
  { page: "docs/vitest.md", contains: "with a longer prompt", before: findCapital },
  {
    page: "docs/filter-language.md",
    contains: "for await",
    before: `${client}
      const run = client.startRun({ name: "slow", runType: "llm", tags: ["prod"], projectName: "support", startTime: Date.now() - 9_000 });
      run.end();
      await client.flush();
      await client.feedback.create({ runId: run.id, key: "helpful", score: 0.1 });`,
    after: `if (run.id === "") throw new Error(); ${close}`,
    prints: "…-…-…-…-…",
  },
  {
    page: "docs/filter-language.md",
    contains: "did you mean `name`?",
    before: `${client}
      await client.projects.create({ name: "support" });
      await client.close();
      const answer = await fetch(\`\${process.env["MILLRACE_ENDPOINT"]}/runs/query\`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-tenant-id": String(process.env["MILLRACE_WORKSPACE_ID"]) },
        body: JSON.stringify({ filter: 'eq(nam, "a")' }),
      });
      const { detail } = (await answer.json()) as { readonly detail: string };
      console.log(answer.status, detail);`,
    prints: "the block",
  },
  {
    page: "docs/otlp.md",
    contains: "OTLPTraceExporter",
    before: `${assertion} ${client}
      import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";`,
    after: `
      const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
      provider.getTracer("reader").startSpan("traced").end();
      await provider.forceFlush();
      const names: (string | undefined)[] = [];
      for await (const { name } of client.runs.list({ projectNames: ["my-project"] })) names.push(name);
      assert.deepEqual(names, ["traced"]);
      ${close}`,
  },
  {
    page: "docs/otlp.md",
    contains: "BACKEND_KEY",
    before: `${assertion}
      delete process.env["MILLRACE_WORKSPACE_ID"];`,
    after: `
      const reader = new Client();
      const runs = await reader.runs.list({ projectNames: ["default"] }).toArray();
      assert.deepEqual(runs.map(({ name, outputs }) => [name, outputs]), [["answer", { answer: "No." }]]);
      await reader.close();`,
  },
  {
    page: "docs/otlp.md",
    contains: "generateText({",
    before: `${assertion} ${client}
      import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
      ${answeringModel}
      const exporter = new OTLPTraceExporter({
        url: "http://127.0.0.1:1984/otel/v1/traces",
        headers: { "Langsmith-Project": "my-project" },
      });`,
    after: `
      assert.equal(text, "Yes.");
      const runs: unknown[] = [];
      for await (const { name, runType } of client.runs.list({ projectNames: ["my-project"] })) runs.push(name, runType);
      assert.deepEqual(new Set(runs), new Set(["ai.generateText.doGenerate forecast", "llm", "ai.generateText forecast", "chain"]));
      ${close}`,
  },
  {
    page: "docs/otlp.md",
    contains: "new Anthropic({",
    before: `${assertion}
      import { createServer } from "node:http";
      import type { AddressInfo } from "node:net";
      import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
      const memory = new InMemorySpanExporter();
      const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
      const content = [{ type: "text", text: "Yes." }];
      const usage = { input_tokens: 2, output_tokens: 1 };
      const api = createServer((_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ type: "message", role: "assistant", content, usage }));
      });
      await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
      process.env["ANTHROPIC_API_KEY"] = "a key";
      process.env["ANTHROPIC_BASE_URL"] = \`http://127.0.0.1:\${(api.address() as AddressInfo).port}\`;`,
    after: `
      api.close();
      assert.deepEqual(message.content, content);
      const [span] = memory.getFinishedSpans();
      assert.equal(span?.attributes["gen_ai.conversation.id"], "chat 1");
      assert.match(String(span?.attributes["gen_ai.output.messages"]), /Yes/);`,
  },
  {
    page: "docs/ai-sdk.md",
    contains: "millraceTracer({ client })",
    before: answeringModel,
    after: `
      for await (const { name, runType, parentRunId } of client.runs.list({ projectNames: ["default"] })) {
        console.log(name, runType, typeof parentRunId);
      }
      ${close}`,
    prints: `ai.generateText.doGenerate forecast llm string
      step 1 chain string
      ai.generateText forecast chain undefined`,
  },
  {
    page: "docs/otel.md",
    contains: "new MillraceSpanProcessor",
    before: client,
    after: `
      for await (const { name, runType } of client.runs.list({ projectNames: ["default"] })) {
        console.log(name, runType);
      }
      ${close}`,
    prints: "checkout chain",
  },
  {
    page: "docs/otel.md",
    contains: "setGlobalTracerProvider",
    before: client,
    after: `
      await client.flush();
      for await (const { name, parentRunId } of client.runs.list({ projectNames: ["default"] })) {
        console.log(name, typeof parentRunId);
      }
      ${close}`,
    prints: "inside string search undefined",
  },
  {
    page: "docs/privacy.md",
    contains: "CASE-1234567",
    before: assertion,
    after: `
      for await (const { inputs } of client.runs.list({ projectNames: ["default"] })) {
        console.log(JSON.stringify(inputs));
      }
      ${close}`,
    prints: `{"q":"Ask [email]******** about [case]******","dbPassword":"*******"}`,
  },
  {
    page: "docs/content-deduplication.md",
    contains: "contentDeduplication",
    before: `${assertion} import { Client } from "millrace";`,
    after: `client.startRun({ name: "turn" }).end(); ${recorded("turn")}`,
  },
  {
    page: "docs/lambda.md",
    contains: "export const handler",
    before: `import { Client } from "millrace";
      const ask = async (question: string) => question.toUpperCase();`,
    after: `
      console.log(await handler({ question: "why" }));
      // A suspended function can't send any more, so everything must be on the server: another client reads it.
      const reader = new Client({ enabled: false });
      for await (const { name, outputs } of reader.runs.list({ projectNames: ["default"] })) {
        console.log(name, JSON.stringify(outputs));
      }
      await reader.close();`,
    prints: `{ text: 'WHY' } answer {"outputs":"WHY"} handler {"text":"WHY"}`,
  },
  {
    page: "docs/fetch.md",
    contains: "new OpenAI(",
    before: `${modelApi}
      process.env["OPENAI_BASE_URL"] = address + "/v1";
      process.env["OPENAI_API_KEY"] = "none";
      ${client}`,
    after: `console.log(completion.choices[0]?.message.content); await printCalls();`,
    prints: "Water. llm success",
  },
  {
    page: "docs/fetch.md",
    contains: "localhost:11434/v1/chat/completions",
    before: `${modelApi}
      ${client}
      const realFetch = globalThis.fetch;
      globalThis.fetch = (input, init) =>
        realFetch(String(input).replace("http://localhost:11434", address), init);`,
    after: "await printCalls();",
    prints: "{ choices: … llm success",
  },
  {
    page: "docs/fetch.md",
    contains: "withRunOptions(",
    before: `import OpenAI from "openai";
      import { tracedFetch } from "millrace/fetch";
      ${modelApi}
      ${client}
      const messages = [{ role: "user" as const, content: "Why?" }];
      const openai = new OpenAI({ fetch: tracedFetch(), baseURL: address + "/v1", apiKey: "none" });`,
    after: "console.log(answer.choices.length); await printCalls();",
    prints: "1 llm success",
  },
  {
    page: "docs/fetch.md",
    contains: "client.recordExchange",
    before: `${modelApi}
      ${client}
      const requestBody = JSON.stringify({ model: "m", messages: [], stream: true });
      async function* receive(_: string): AsyncGenerator<Uint8Array> {
        yield Buffer.from("data: [DONE]\\n\\n");
      }`,
    after: "await printCalls();",
    prints: "llm success",
  },
  {
    page: "docs/model-clients.md",
    contains: "wrapOpenAI(",
    before: `import { createServer } from "node:http";
      import type { AddressInfo } from "node:net";
      ${client}
      const api = createServer((_, response) => {
        const chunk = (delta: object, finish_reason: string | null) =>
          \`data: \${JSON.stringify({ id: "c", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\\n\\n\`;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(chunk({ role: "assistant", content: "Wa" }, null) + chunk({ content: "ter." }, "stop") + "data: [DONE]\\n\\n");
      });
      await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
      process.env["OPENAI_BASE_URL"] = "http://127.0.0.1:" + (api.address() as AddressInfo).port + "/v1";
      process.env["OPENAI_API_KEY"] = "none";`,
    after: `await client.flush();
      for await (const { name, status } of client.runs.list({ projectNames: ["default"] })) {
        console.log(name, status);
      }
      await client.close();
      api.closeAllConnections();
      api.close();`,
    prints: "Water. ChatOpenAI success",
  },
  {
    page: "docs/model-clients.md",
    contains: "wrapAnthropic(",
    before: `${modelApi}
      process.env["ANTHROPIC_BASE_URL"] = address;
      process.env["ANTHROPIC_API_KEY"] = "none";
      ${client}`,
    after: `console.log(message.content); await printCalls();`,
    prints: "[ { type: 'text', text: 'Water.' } ] llm success",
  },
  {
    page: "docs/model-clients.md",
    contains: "geminiOptions(",
    before: `${modelApi}
      process.env["GOOGLE_GEMINI_BASE_URL"] = address;
      process.env["GEMINI_API_KEY"] = "none";
      ${client}`,
    after: `console.log(answer.text); await printCalls();`,
    prints: "Water. llm success",
  },
  {
    page: "docs/model-clients.md",
    contains: "withRunOptions(",
    before: `import OpenAI from "openai";
      import { wrapOpenAI } from "millrace/openai";
      ${modelApi}
      ${client}
      const openai = wrapOpenAI(new OpenAI({ baseURL: address + "/v1", apiKey: "none" }));`,
    after: "console.log(summary.id); await printCalls();",
    prints: "undefined llm success",
  },
  {
    page: "docs/mcp.md",
    contains: "traceClient",
    before: `import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
      import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
      import { z } from "zod";
      ${client}
      const [transport, otherSide] = InMemoryTransport.createLinkedPair();
      const calculator = new McpServer({ name: "calculator", version: "1.0.0" });
      calculator.registerTool("add", { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
        content: [{ type: "text", text: String(a + b) }],
      }));
      await calculator.connect(otherSide);`,
    after: `
      await client.flush();
      for await (const { name, runType, inputs } of client.runs.list({ projectNames: ["default"] })) {
        console.log(name, runType, inputs);
      }
      ${close}`,
    prints: "add tool { a: 1, b: 2 }",
  },
  {
    page: "docs/mcp.md",
    contains: "traceServer",
    before: `import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
      import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
      import { traceable } from "millrace";
      import { z } from "zod";
      ${client}
      const add = traceable(async (a: number, b: number) => a + b, { name: "add" });
      const [transport, otherSide] = InMemoryTransport.createLinkedPair();`,
    after: `
      const assistant = new McpClient({ name: "assistant", version: "1.0.0" });
      await assistant.connect(otherSide);
      await assistant.callTool({ name: "add", arguments: { a: 1, b: 2 } });
      await client.flush();
      for await (const { name, runType, parentRunId } of client.runs.list({ projectNames: ["default"] })) {
        console.log(name, runType, typeof parentRunId);
      }
      ${close}`,
    prints: "add chain string tools/call add chain undefined",
  },
  { page: "docs/server.md", contains: "startServer", prints: "http://127.0.0.1:…" },
  { page: "docs/playground.md", contains: "startServer", prints: "22" },
  { page: "server/README.md", contains: "startServer", prints: "http://127.0.0.1:…" },
  { page: "docs/tracing.md", contains: "new_token", before: assertion, after: recorded("model") },
  {
    page: "docs/tracing.md",
    contains: "ls_model_name",
    before: `${assertion} ${client} ${questions}
      const example = await client.examples.create({ datasetName: "questions", inputs: { question: "Why?" } });`,
    after: `
      await client.flush();
      const read = await client.runs.read(call.id);
      assert.equal(read.totalTokens, 15);
      assert.equal(read.referenceExampleId, example.id);
      ${close}`,
  },
  {
    page: "docs/tracing.md",
    contains: "readAttachments",
    before: `${client}
      const png = new Uint8Array([1, 2, 3]);
      const wav = new Uint8Array([4]);`,
    after: `console.log(Object.keys(files).toSorted().join(), bytes.length); ${close}`,
    prints: "photo,sketch,voice 3",
  },
  {
    page: "docs/tracing.md",
    contains: "about ${query}",
    before: `${assertion} import { Client, flush } from "millrace";`,
    after: `await flush(); const client = new Client(); ${recorded("search")}`,
  },
  {
    page: "docs/tracing.md",
    contains: "setDefaultClient(billing)",
    before: `${assertion} import { Client, traceable } from "millrace";
      const [billing] = [new Client({ projectName: "billing" }), new Client({ projectName: "other" })];`,
    after: `
      await traceable(() => 1, { name: "invoice" })();
      await flush();
      const names: (string | undefined)[] = [];
      for await (const { name } of billing.runs.list({ projectNames: ["billing"] })) names.push(name);
      assert.deepEqual(names, ["invoice"]);`,
  },
  {
    page: "docs/tracing.md",
    contains: 'addTags("seen")',
    before: `${assertion} ${client} const run = client.startRun({ name: "outer" });`,
    after: `
      run.end();
      await client.flush();
      assert.deepEqual((await client.runs.read(run.id)).tags, ["seen"]);
      ${close}`,
  },
  {
    page: "docs/tracing.md",
    contains: "and where the request arrives",
    before: `${assertion} ${client}
      import { createServer } from "node:http";
      import type { IncomingMessage } from "node:http";
      import type { AddressInfo } from "node:net";
      const run = client.startRun({ name: "caller" });
      let request!: IncomingMessage;
      const receiver = createServer((incoming, response) => { request = incoming; response.end(); });
      await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
      const url = \`http://127.0.0.1:\${(receiver.address() as AddressInfo).port}\`;`,
    after: `
      receiver.close();
      assert.equal(below.traceId, run.traceId);
      below.end();
      run.end();
      ${recorded("handle")}`,
  },
  {
    page: "docs/tracing.md",
    contains: "chat-17",
    before: `${assertion} ${client}
      const seed = client.startRun({ name: "seed", threadId: "chat-17" });
      seed.end();
      await client.flush();`,
    after: recorded("turn"),
    prints: "seed",
  },
  {
    page: "docs/tracing.md",
    contains: "aggregator",
    before: `${assertion} ${client}`,
    after: `
      await client.flush();
      const [written] = await client.runs.list({ projectNames: ["default"] }).toArray();
      assert.deepEqual(written?.outputs, { outputs: "About mills" });
      ${close}`,
    prints: "About mills",
  },
  {
    page: "docs/langchain.md",
    contains: 'await answer("mills")',
    before: `${assertion} ${client}`,
    after: `
      await client.flush();
      const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
      const parents = new Map(runs.map(({ id, name }) => [id, name]));
      const lines = runs.map(({ name, parentRunId = "" }) => \`\${name} < \${parents.get(parentRunId)}\`);
      assert.deepEqual(lines.toSorted(), ["answer < undefined", "chain < answer", "search < chain"]);
      ${close}`,
  },
  {
    page: "docs/langchain.md",
    contains: "toRunnableConfig(run)",
    before: `${assertion} ${client}
      const run = client.startRun({ name: "outer" });`,
    after: `run.end(); ${recorded("double")}`,
  },
  {
    page: "docs/upload.md",
    contains: "uploadStream",
    before: `${assertion}
      import { writeFileSync } from "node:fs";
      import { Readable } from "node:stream";
      writeFileSync("rows.txt", "Why?\\nHow?\\n");
      const someObjectStream = Readable.from([{ id: "a", inputs: { question: "Who?" } }]);`,
    after: `
      assert.deepEqual([result.created, result.rejected], [2, 0]);
      assert.equal((await end.result).created, 1);`,
    prints: "{ … }",
  },
  {
    page: "docs/web-frameworks.md",
    contains: "millrace/express",
    before: `import express from "express"; ${webApplication} const app = express();`,
    after: `
      const listening = app.listen(0, "127.0.0.1");
      await new Promise((done) => listening.once("listening", done));
      const { port } = listening.address() as AddressInfo;
      await askAndClose(\`http://127.0.0.1:\${port}\`, () => new Promise((done) => listening.close(done)));`,
    prints: webRuns,
  },
  {
    page: "docs/web-frameworks.md",
    contains: "millrace/fastify",
    before: `import fastify from "fastify"; ${webApplication} const app = fastify({ forceCloseConnections: true });`,
    after: `await askAndClose(await app.listen({ port: 0, host: "127.0.0.1" }), () => app.close());`,
    prints: webRuns,
  },
  {
    page: "docs/web-frameworks.md",
    contains: "millrace/hono",
    before: `import { serve } from "@hono/node-server"; import { Hono } from "hono"; ${webApplication} const app = new Hono();`,
    after: `
      const listening = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
      await new Promise((done) => listening.once("listening", done));
      const { port } = listening.address() as AddressInfo;
      await askAndClose(\`http://127.0.0.1:\${port}\`, () => new Promise((done) => listening.close(done)));`,
    prints: webRuns,
  },
  {
    page: "docs/web-frameworks.md",
    contains: "tracer.flush",
    before: `import { createServer } from "node:http";
      import express from "express";
      import { Client } from "millrace";
      import { traceRequests } from "millrace/express";
      const client = new Client();
      const tracer = traceRequests({ client });
      const app = express();
      app.use(tracer);
      const server = createServer(app);`,
    after: `
      process.on("exit", () => { console.log(client.stats().accepted, client.stats().delivered); });
      server.listen(0, "127.0.0.1", async () => {
        const { port } = server.address() as import("node:net").AddressInfo;
        await fetch(\`http://127.0.0.1:\${port}/\`);
        process.kill(process.pid, "SIGTERM");
      });`,
    prints: "2 2",
  },
];
