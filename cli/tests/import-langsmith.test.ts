import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "millrace/prompts";
import { expect, test, vi } from "vitest";
import { ended, start, withoutProgress } from "./support/command.ts";
import { startFakeApi } from "./support/fake-api.ts";
import { apiKey, startFakeLangsmith } from "./support/fake-langsmith.ts";
import { createContent, ids } from "./support/langsmith-content.ts";
import { useOwnServers } from "./support/own-servers.ts";
import { createRunImport } from "./support/run-import.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

const servers = useOwnServers();

const runImport = createRunImport("langsmith", { LANGSMITH_API_KEY: apiKey });

const withoutTime = (output: string): string => output.replace(/\nin \d.*\n$/, "");

test("everything of a workspace is imported, and nothing twice", async () => {
  const source = await startFakeLangsmith(createContent(150));
  const target = await servers.start();
  const first = await runImport({ url: `${source.url}/api/v1/` }, target);
  const leftOut = `  1 left out, such as "${ids.call}": can't download a file from ${source.url}: it responded with 404`;
  const oldTag =
    '  1 left out, such as "questions:old": only the latest version is imported, so a tag of an older version has nothing to point to';
  expect(withoutTime(first.output)).toBe(
    `projects: 2 imported
runs: 153 imported
attachments: 2 imported, 1 left out
${leftOut}
datasets: 1 imported, 1 left out
${oldTag}
examples: 151 imported
feedback: 152 imported
prompts: 2 imported
commits: 3 imported`,
  );
  expect({ code: first.code, faults: withoutProgress(first.errors) }).toEqual({
    code: 3,
    faults: "",
  });
  expect(readdirSync(target.folder)).toEqual([]);
  const second = await runImport(source, target);
  expect(withoutTime(second.output)).toBe(
    `projects: 0 imported, 2 already on the server
runs: 0 imported, 153 already on the server
attachments: 0 imported, 1 already on the server
datasets: 0 imported, 1 already on the server, 1 left out
${oldTag}
examples: 0 imported, 151 already on the server
feedback: 0 imported, 152 already on the server
prompts: 0 imported, 2 already on the server
commits: 0 imported, 3 already on the server`,
  );
  const { client } = target;
  expect(await client.runs.list({ projectNames: ["support"] }).toArray()).toHaveLength(152);
  expect(await client.feedback.list({}).toArray()).toHaveLength(152);
  expect(await client.examples.list({ datasetName: "questions" }).toArray()).toHaveLength(151);
});

test("runs keep ids, times, dotted orders, tokens, costs, attachments and detached payloads", async () => {
  const content = createContent();
  const source = await startFakeLangsmith(content);
  const target = await servers.start();
  await runImport(source, target);
  const { runs } = target.client;
  const [root, call] = [await runs.read(ids.root), await runs.read(ids.call)];
  expect(root).toMatchObject({
    name: "answer",
    startTime: "2024-05-01T10:00:00.000001Z",
    endTime: "2024-05-01T10:00:03.000000Z",
    // The platform returned them at an address of their own.
    inputs: { question: "Why?" },
    outputs: { a: 1 },
    tags: ["prod"],
    extra: { metadata: { plan: "pro" } },
    dottedOrder: content.runs[0]?.["dotted_order"],
  });
  expect(call).toMatchObject({
    parentRunId: ids.root,
    traceId: ids.root,
    runType: "llm",
    startTime: "2024-05-01T10:00:01.123456Z",
    firstTokenTime: "2024-05-01T10:00:01.500000Z",
    error: "RateLimitError",
    dottedOrder: content.runs[1]?.["dotted_order"],
    promptTokens: 100,
    completionTokens: 20,
    totalTokens: 120,
    // Not computed again with the prices of this server.
    promptCost: "0.001",
    completionCost: "0.002",
    totalCost: "0.003",
    extra: { runtime: { sdk: "langsmith" } },
  });
  const photo = call.attachments?.["photo"];
  expect(photo?.mimeType).toBe("image/png");
  expect(await (await fetch(photo?.presignedUrl ?? "")).text()).toBe("PNG");
});

test("a run that was open at the first import is ended by a later one", async () => {
  const content = createContent(3);
  const [first = {}, ...others] = content.runs;
  const open = { ...first, end_time: null, outputs: null, status: "pending" };
  const runs = [open, ...others];
  const source = await startFakeLangsmith({ ...content, runs });
  const target = await servers.start();
  await runImport(source, target, "--only", "runs");
  const before = await target.client.runs.read(ids.root);
  expect(before.endTime).toBeUndefined();
  expect(withoutTime((await runImport(source, target, "--only", "runs")).output)).toContain(
    "runs: 0 imported, 6 already on the server",
  );
  runs[0] = first;
  const last = await runImport(source, target, "--only", "runs");
  expect(withoutTime(last.output)).toContain("runs: 1 imported, 5 already on the server");
  expect(await target.client.runs.read(ids.root)).toMatchObject({
    name: "answer",
    startTime: before.startTime,
    endTime: "2024-05-01T10:00:03.000000Z",
    inputs: { question: "Why?" },
    outputs: { a: 1 },
  });
  expect(await target.client.runs.list({ projectNames: ["support"] }).toArray()).toHaveLength(5);
});

test("projects, experiments, datasets and feedback keep their ids, times and relations", async () => {
  const source = await startFakeLangsmith(createContent());
  const target = await servers.start();
  await runImport(source, target);
  const { client } = target;
  expect(await client.projects.read({ projectId: ids.project })).toMatchObject({
    name: "support",
    description: "Calls",
    extra: { a: 1 },
    startTime: "2024-05-01T10:00:00.000000Z",
  });
  expect(await client.projects.read({ projectId: ids.experiment })).toMatchObject({
    referenceDatasetId: ids.dataset,
    endTime: "2024-05-01T10:01:00.000000Z",
  });
  expect(await client.runs.list({ projectNames: ["questions-1"] }).toArray()).toMatchObject([
    { referenceExampleId: ids.example },
  ]);
  expect(await client.datasets.read({ datasetId: ids.dataset })).toMatchObject({
    name: "questions",
    description: "Why?",
    metadata: { owner: "me" },
    createdAt: "2024-05-01T10:00:00.000000Z",
  });
  const [example] = await client.examples
    .list({ datasetId: ids.dataset, asOf: "prod", includeAttachments: true })
    .toArray();
  expect(example).toMatchObject({
    id: ids.example,
    inputs: { q: "Why?" },
    outputs: { a: "So." },
    metadata: { level: 1 },
    splits: ["test", "hard"],
    sourceRunId: ids.root,
    createdAt: "2024-05-01T10:00:01.000000Z",
    attachments: { photo: { mimeType: "image/png" } },
  });
  const feedback = await client.feedback.list({}).toArray();
  expect(Object.fromEntries(feedback.map((entry) => [entry.key, entry]))).toMatchObject({
    quality: {
      runId: ids.call,
      score: 0.5,
      comment: "fine",
      createdAt: "2024-05-01T10:00:09.000000Z",
    },
    overall: {
      projectId: ids.project,
      value: "good",
      source: { type: "app", metadata: { m: 1, user_name: "Ada" } },
    },
  });
});

test("the baseline of a dataset is pinned once its experiment is there, and reported until then", async () => {
  const content = createContent();
  const datasets = content.datasets.map((dataset) => ({
    ...dataset,
    baseline_experiment_id: ids.experiment,
  }));
  const source = await startFakeLangsmith({ ...content, datasets });
  const target = await servers.start();
  const readBaseline = async () =>
    (await target.client.datasets.read({ datasetId: ids.dataset })).baselineExperimentId;
  const partial = await runImport(source, target, "--only", "datasets");
  expect(partial.code).toBe(3);
  expect(partial.output).toContain(
    '1 left out, such as "questions": its baseline experiment is not on the server',
  );
  expect(await readBaseline()).toBeUndefined();
  const complete = await runImport(source, target, "--only", "datasets,projects");
  expect(complete.output).not.toContain("baseline");
  expect(await readBaseline()).toBe(ids.experiment);
  // Another choice on the target stays.
  const { id } = await target.client.projects.create({
    name: "another",
    referenceDatasetId: ids.dataset,
  });
  await target.client.datasets.update({ datasetId: ids.dataset, baselineExperimentId: id });
  await runImport(source, target, "--only", "datasets");
  expect(await readBaseline()).toBe(id);
});

test("an experiment that was imported before its dataset is reported, not pinned as its baseline", async () => {
  const content = createContent();
  const datasets = content.datasets.map((dataset) => ({
    ...dataset,
    baseline_experiment_id: ids.experiment,
  }));
  const source = await startFakeLangsmith({ ...content, datasets });
  const target = await servers.start();
  await runImport(source, target, "--only", "projects");
  const later = await runImport(source, target, "--only", "datasets");
  expect(later.code).toBe(3);
  expect(later.output).toContain("its baseline experiment was imported before the dataset");
  const { baselineExperimentId } = await target.client.datasets.read({ datasetId: ids.dataset });
  expect(baselineExperimentId).toBeUndefined();
});

test("prompts keep all commits in their order, tags and whether they are archived", async () => {
  const source = await startFakeLangsmith(createContent());
  const target = await servers.start();
  await runImport(source, target);
  const { prompts } = target.client;
  const commits = await prompts.listCommits("greeting").toArray();
  expect(commits.map(({ description }) => description)).toEqual([
    "[langsmith bbbb2222, 2024-05-01T10:00:00.000000Z]",
    "First [langsmith aaaa1111, 2024-05-01T10:00:00.000000Z]",
  ]);
  expect(await prompts.read("greeting")).toMatchObject({
    description: "Says hello",
    tags: ["hello"],
  });
  const [latest, tagged] = [await prompts.pull("greeting"), await prompts.pull("greeting:prod")];
  const texts = [latest, tagged].map((pulled) => compile(pulled, { name: "Ada" }).messages[0]);
  expect(texts).toMatchObject([{ content: "Hello Ada!" }, { content: "Hi Ada!" }]);
  expect(await prompts.read("old")).toMatchObject({ isArchived: true, commits: 1 });
  // The prompt of another workspace is public, but not of this one.
  expect(await prompts.has("public")).toBe(false);
});

test("a prompt or dataset of the same name that was not imported is left as it is", async () => {
  const source = await startFakeLangsmith(createContent());
  const target = await servers.start();
  const { client } = target;
  const { id } = await client.datasets.create({ name: "questions" });
  const manifest = { lc: 1, type: "constructor", id: ["x", "PromptTemplate"], kwargs: {} };
  await client.prompts.push("greeting", { manifest });
  const { code, output } = await runImport(source, target);
  expect({ code, output }).toEqual({
    code: 3,
    output: expect.stringMatching(
      /1 left out, such as "questions": the server has another dataset of this name[^]*1 left out, such as "greeting": the server has a prompt of this name with other commits/,
    ) as unknown,
  });
  expect(await client.examples.list({ datasetId: id }).toArray()).toEqual([]);
  expect(await client.prompts.listCommits("greeting").toArray()).toHaveLength(1);
});

test("only the named projects and the time span are imported, into a project of that name", async () => {
  const source = await startFakeLangsmith(createContent(20));
  const target = await servers.start();
  const existing = await target.client.projects.create({ name: "support" });
  const span = ["--since", "2024-05-01T10:00:12Z", "--until", "2024-05-01T10:00:15Z"];
  const args = ["--project", "support", ...span, "--only", "runs,feedback"];
  const result = await runImport(source, target, ...args);
  expect(withoutTime(result.output)).toMatch(
    /^projects: 0 imported, 1 already on the server\nruns: 3 imported/,
  );
  const runs = await target.client.runs.list({ projectIds: [existing.id] }).toArray();
  expect(runs.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["run 12", "run 13", "run 14"]),
  );
  expect(runs).toHaveLength(3);
  expect(await target.client.projects.list({}).toArray()).toHaveLength(1);
  const unknown = await runImport(source, target, "--project", "sales");
  expect(unknown).toMatchObject({
    code: 1,
    errors: expect.stringContaining('has no project "sales"') as unknown,
  });
});

test("an import continues from its checkpoint, which another import may not use", async () => {
  const source = await startFakeLangsmith(createContent(150));
  const target = await servers.start();
  const checkpoint = join(target.folder, "progress.json");
  let pages = 0;
  source.intercept = (request) =>
    request.includes("/runs/query") && ++pages === 2 ? { status: 400 } : undefined;
  const failed = await runImport(source, target, "--checkpoint", checkpoint);
  expect(failed).toMatchObject({
    code: 1,
    errors: expect.stringMatching(
      /responded to POST \/runs\/query with 400.*; run the same command again to continue from there\n$/,
    ) as unknown,
  });
  // Progress, but neither the key nor content.
  expect(readFileSync(checkpoint, "utf8")).not.toMatch(/lsv2|Why/);
  source.intercept = undefined;
  const other = await runImport(source, target, "--checkpoint", checkpoint, "--only", "prompts");
  expect(other).toMatchObject({
    code: 2,
    errors: expect.stringContaining("belongs to another import: only was") as unknown,
  });
  const stored = readFileSync(checkpoint, "utf8");
  writeFileSync(checkpoint, stored.replace(/"account":"[^"]+"/, '"account":"another"'));
  expect(await runImport(source, target, "--checkpoint", checkpoint)).toMatchObject({
    code: 2,
    errors: expect.stringContaining("from another account of the source, another") as unknown,
  });
  writeFileSync(checkpoint, stored);
  const requestsBefore = source.requests.length;
  const resumed = await runImport(source, target, "--checkpoint", checkpoint);
  expect(resumed.errors).toContain("continuing the import");
  expect(withoutTime(resumed.output)).toContain("runs: 153 imported\n");
  const targets = source.requests.slice(requestsBefore).map((request) => request.target);
  expect(targets.some((request) => request.includes("/examples"))).toBe(false);
  expect(existsSync(checkpoint)).toBe(false);
});

test("Ctrl-C ends an import, which continues with the next call", async () => {
  const source = await startFakeLangsmith(createContent(150));
  const target = await servers.start();
  const args = ["import", "--from", "langsmith", "--from-url", source.url];
  const begin = () =>
    start([...args, "--endpoint", target.url], { LANGSMITH_API_KEY: apiKey }, target.folder);
  const child = begin();
  source.intercept = (request) => {
    if (request.includes("/runs/query")) {
      child.kill("SIGINT");
    }
    return undefined;
  };
  const { code, errors } = await ended(child);
  expect({ code, faults: withoutProgress(errors) }).toEqual({
    code: 1,
    faults: "error: interrupted by SIGINT; run the same command again to continue from there\n",
  });
  source.intercept = undefined;
  expect(withoutTime((await ended(begin())).output)).toContain("runs: 153 imported\n");
});

test("the key is sent to the source only, and is in no message", async () => {
  const source = await startFakeLangsmith(createContent());
  const target = await startFakeApi({
    fixture: "langsmith-api.json",
    routes: [],
    hasKey: () => true,
    isOpen: () => true,
  });
  const { folder } = await servers.start();
  source.intercept = () => ({ status: 400, body: `{"detail":"the key ${apiKey} is odd"}` });
  const { code, errors } = await runImport(source, { url: target.url, folder });
  expect(code).toBe(1);
  expect(errors).toContain("the key *** is odd");
  expect(errors).not.toContain(apiKey);
  expect(target.requests.length).toBeGreaterThan(0);
  expect(JSON.stringify(target.requests)).not.toContain(apiKey);
});

test("variables of LangSmith name the source, and never the server to import to", async () => {
  const source = await startFakeLangsmith(createContent());
  const target = await servers.start();
  const env = {
    LANGSMITH_API_KEY: apiKey,
    LANGSMITH_ENDPOINT: source.url,
    MILLRACE_ENDPOINT: target.url,
  };
  const args = ["import", "--from", "langsmith", "--from-url", source.url, "--only", "projects"];
  expect(await ended(start(args, env, target.folder))).toMatchObject({
    code: 0,
    output: expect.stringContaining("projects: 2 imported") as unknown,
  });
  const same = await ended(
    start([...args, "--endpoint", source.url], { LANGSMITH_API_KEY: apiKey }, target.folder),
  );
  expect(same).toMatchObject({
    code: 2,
    errors: expect.stringContaining("are the same") as unknown,
  });
});

test("a server on this machine needs no key, unless it asks for one", async () => {
  const [source, target] = [await servers.start(), await servers.start()];
  await source.client.datasets.create({ name: "local" });
  const importFrom = (url: string) =>
    ended(
      start(
        ["import", "--from", "langsmith", "--from-url", url, "--endpoint", target.url],
        { LANGSMITH_API_KEY: "" },
        target.folder,
      ),
    );
  const imported = await importFrom(source.url);
  expect({ code: imported.code, faults: withoutProgress(imported.errors) }).toEqual({
    code: 0,
    faults: "",
  });
  expect(await target.client.datasets.has({ datasetName: "local" })).toBe(true);
  expect(await importFrom((await startFakeLangsmith(createContent())).url)).toMatchObject({
    code: 1,
    errors: expect.stringContaining("asks for a key (401). Set LANGSMITH_API_KEY") as unknown,
  });
});

test("invalid arguments are reported, with the exit code for wrong usage", async () => {
  const { folder } = await servers.start();
  writeFileSync(join(folder, "rows.json"), '{"rows":1}');
  const wrong: readonly (readonly [readonly string[], NodeJS.ProcessEnv, string])[] = [
    [["--from", "braintrust"], {}, "--from must be one of langsmith, langfuse"],
    [["--from-url", "ftp://x"], {}, "--from-url must be an http or https URL"],
    [["--from-url", "https://me:pw@x"], {}, "must have no user, password"],
    [["--only", "runs,cats"], {}, 'there is no "cats"'],
    [["--since", "yesterday"], {}, "--since must be a date such as 2026-01-31"],
    [["--since", "2026-02-01", "--until", "2026-01-01"], {}, "--since must be before --until"],
    [
      ["--from-url", "https://api.example"],
      { LANGSMITH_API_KEY: "" },
      "the environment variable LANGSMITH_API_KEY is not set",
    ],
    [[], { LANGSMITH_API_KEY: "a\nb" }, "contains characters that no key has"],
    [["--checkpoint", join(folder, "rows.json")], {}, "is not the checkpoint of an import"],
  ];
  const { url } = await servers.start();
  for (const [args, env, message] of wrong) {
    const all = ["import", "--from", "langsmith", "--from-url", "http://127.0.0.1:9", ...args];
    const result = await ended(
      start([...all, "--endpoint", url], { LANGSMITH_API_KEY: apiKey, ...env }, folder),
    );
    expect({ args, ...result }).toMatchObject({
      args,
      code: 2,
      errors: expect.stringContaining(message) as unknown,
    });
  }
});
