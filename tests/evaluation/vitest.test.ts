import { expect, test } from "vitest";
import type { Client, Project } from "../../src/main/index.ts";
import { openClient } from "./evaluation-setup.ts";
import { createVitestProject, testImports as imports } from "./vitest-project.ts";
import { checkStory } from "./vitest-story.ts";

async function listExperiments(client: Client, datasetName: string): Promise<readonly Project[]> {
  const { id } = await client.datasets.read({ datasetName });
  return client.projects.list({ referenceDatasetId: id }).toArray();
}

test("a describe is a dataset and an experiment, a test an example, an expectation feedback", async () => {
  const setup = await openClient();
  await checkStory(setup);
  expect(await setup.client.datasets.list().toArray()).toHaveLength(2);
});

test("examples keep their ids, changes are written, others are left, and each run is an experiment", async () => {
  const { client, url } = await openClient();
  const write = (level: number, answer: string): string => `${imports}
      describe("tests of qa", { dataset: "qa" }, () => {
        test("a", { inputs: { question: "a", detail: { y: 1, x: 2 } }, metadata: { level: ${level} }, splits: ["s${level}"] }, () => "text");
        test("the same", { inputs: { question: "a", detail: { x: 2, y: 1 } } }, () => ({}));
        test("named", { id: "b", inputs: { question: "b" }, referenceOutputs: { answer: "${answer}" } }, () => ({}));
      });`;
  await client.datasets.create({ name: "qa" });
  await client.examples.create({ datasetName: "qa", inputs: { question: "not a test" } });
  const first = await createVitestProject({ "qa.test.js": write(1, "B") });
  await first.run([], { MILLRACE_ENDPOINT: url });
  const examples = await client.examples.list({ datasetName: "qa" }).toArray();
  expect(examples).toHaveLength(4);
  const second = await createVitestProject({ "qa.test.js": write(2, "C") });
  const { code } = await second.run(["--retry=2"], { MILLRACE_ENDPOINT: url });
  expect(code).toBe(0);
  const later = await client.examples.list({ datasetName: "qa" }).toArray();
  expect(later.map(({ id }) => id).toSorted()).toEqual(examples.map(({ id }) => id).toSorted());
  expect(later).toContainEqual(expect.objectContaining({ metadata: { level: 2 }, splits: ["s2"] }));
  expect(later).toContainEqual(expect.objectContaining({ outputs: { answer: "C" } }));
  const experiments = await listExperiments(client, "qa");
  expect(experiments.map(({ name }) => name).toSorted()).toEqual([
    "vitest on qa",
    "vitest on qa-2",
  ]);
  const runs = await client.runs.list({ projectNames: ["vitest on qa-2"] }).toArray();
  expect(new Set(runs.map(({ referenceExampleId }) => referenceExampleId)).size).toBe(3);
  expect(runs.find(({ name }) => name === "a")?.outputs).toEqual({ outputs: "text" });
});

test("files that run at the same time share a dataset, and have experiments of their own", async () => {
  const { client, url } = await openClient();
  const source = `${imports}
      describe("shared", () => {
        test.each(Array.from({ length: 20 }, (_, index) => ({ inputs: { index } })))("row", ({ inputs }) => inputs);
      });`;
  const names = ["a.test.js", "b.test.js", "c.test.js"];
  const project = await createVitestProject(
    Object.fromEntries(names.map((name) => [name, source])),
    { config: "maxWorkers: 3, minWorkers: 3" },
  );
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(await client.examples.list({ datasetName: "shared" }).toArray()).toHaveLength(20);
  const experiments = await listExperiments(client, "shared");
  expect(experiments).toHaveLength(3);
  for (const { id } of experiments) {
    expect(await client.runs.list({ projectIds: [id] }).toArray()).toHaveLength(20);
  }
  expect(output.match(/20 tests, 0 failed/g)).toHaveLength(3);
});

test("tests run in worker threads that files share, and those of a describe beside one another", async () => {
  const { client, url } = await openClient();
  const source = (name: string): string => `${imports}
    let running = 0;
    describe.concurrent("${name}", () => {
      test.each([1, 2, 3].map((index) => ({ inputs: { index } })))("row", async ({ inputs }) => {
        running += 1;
        await new Promise((resolve) => setTimeout(resolve, 200));
        logOutputs({ index: inputs.index, running });
        expect(inputs.index, "score " + inputs.index).toBe(inputs.index);
      });
    });`;
  const project = await createVitestProject(
    { "a.test.js": source("first"), "b.test.js": source("second") },
    { config: 'pool: "threads", isolate: false, maxWorkers: 1, minWorkers: 1' },
  );
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
  expect({ code, output }).toMatchObject({ code: 0 });
  for (const name of ["first", "second"]) {
    const runs = await client.runs.list({ projectNames: [`vitest on ${name}`] }).toArray();
    expect(new Set(runs.map(({ inputs, outputs }) => [inputs?.["index"], outputs]))).toEqual(
      new Set([1, 2, 3].map((index) => [index, { index, running: 3 }])),
    );
    for (const { inputs, feedbackStats } of runs) {
      expect(Object.keys(feedbackStats ?? {}).toSorted()).toEqual([
        "pass",
        `score ${String(inputs?.["index"])}`,
      ]);
    }
  }
});

test("only what runs becomes a run, with `.only`, with a filter, and by a condition", async () => {
  const { client, url } = await openClient();
  const project = await createVitestProject({
    "only.test.js": `${imports}
        describe("only", () => {
          test("x", { inputs: { name: "x" } }, () => ({}));
          test.only("y", { inputs: { name: "y" } }, () => ({}));
          test.only.each([{ inputs: { name: "z" } }])("z", () => ({}));
        });`,
    "filter.test.js": `${imports}
        describe("filter", () => {
          test("x", { inputs: { name: "x" } }, () => ({}));
          test("y", { inputs: { name: "y" } }, ({ skip }) => skip());
          test.skipIf(true)("z", { inputs: { name: "z" } }, () => ({}));
          test.runIf(true)("w", { inputs: { name: "w" } }, () => ({}));
        });
        describe.skip("nothing", () => {
          test("x", { inputs: { name: "x" } }, () => ({}));
        });`,
  });
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
  expect({ code, output }).toMatchObject({ code: 0 });
  const namesOf = async (experiment: string): Promise<readonly string[]> => {
    const runs = await client.runs.list({ projectNames: [experiment] }).toArray();
    return runs.map(({ name }) => name).toSorted();
  };
  expect(await namesOf("vitest on only")).toEqual(["y", "z (0)"]);
  // A test that skips itself had begun. It has no score.
  expect(await namesOf("vitest on filter")).toEqual(["w", "x", "y"]);
  const skipped = await client.runs
    .list({ projectNames: ["vitest on filter"], filter: 'has(tags, "skipped")' })
    .toArray();
  expect(skipped.map(({ name, feedbackStats }) => [name, feedbackStats ?? {}])).toEqual([
    ["y", {}],
  ]);
  const datasets = await client.datasets.list().toArray();
  expect(datasets.map(({ name }) => name).toSorted()).toEqual(["filter", "only"]);
});

test("an evaluator has a run of its own, its failure is recorded, and its scores can be expected", async () => {
  const { client, url } = await openClient();
  const project = await createVitestProject({
    "evaluators.test.js": `${imports}
        import { traceable } from "millrace";
        const judge = traceable(async () => 0.25, { name: "judge" });
        describe("evaluators", { evaluators: [async function quality() { return judge(); }] }, () => {
          test("a", { inputs: { a: 1 } }, async () => {
            logOutputs({ answer: 1 });
            const [failed] = await score(function broken() { throw new Error("no model"); });
            plainExpect(failed.error).toBe("Error: no model");
            await plainExpect(async () => score("pass", 1)).rejects.toThrow('the key "pass"');
            await plainExpect(async () => score("nan", NaN)).rejects.toThrow('"nan" can\\'t be stored: it has a score that is NaN; a score is a finite number');
            await plainExpect(async () => score("list", [1])).rejects.toThrow("it is an array in which");
          });
        });`,
  });
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(/broken +0 +1\n/);
  const [run] = await client.runs.list({ projectNames: ["vitest on evaluators"] }).toArray();
  const feedback = await client.feedback.list({ runIds: [run?.id ?? ""] }).toArray();
  const judged = await client.runs.list({ projectNames: ["evaluators"] }).toArray();
  const idOf = (name: string): string | undefined => judged.find((each) => each.name === name)?.id;
  expect(judged.find(({ name }) => name === "judge")?.parentRunId).toBe(idOf("quality"));
  expect(feedback.find(({ key }) => key === "quality")).toMatchObject({
    score: 0.25,
    source: { metadata: { __run: { run_id: idOf("quality") } } },
  });
  expect(feedback.find(({ key }) => key === "broken")).toMatchObject({
    comment: "Error: no model",
  });
});

test("an evaluator judges the outputs that are passed, also null, otherwise those that were logged", async () => {
  const project = await createVitestProject({
    "outputs.test.js": `${imports}
        describe("outputs", { enabled: false }, () => {
          test("a", { inputs: { a: 1 } }, async () => {
            logOutputs("logged");
            const judged = [];
            const judge = ({ outputs }) => { judged.push(outputs); };
            await score(judge);
            await score(judge, "passed");
            await score(judge, null);
            plainExpect(judged).toEqual(["logged", "passed", null]);
          });
        });`,
  });
  const { code, output } = await project.run();
  expect({ code, output }).toMatchObject({ code: 0 });
});

test("outputs that can't be read, and timers that stay fake, cost nothing else", async () => {
  const { client, url } = await openClient();
  const project = await createVitestProject({
    "hostile.test.js": `${imports}
        describe("hostile", () => {
          test("proxy", { inputs: { a: 1 } }, () => ({
            value: 1,
            proxy: new Proxy({}, { get() { throw new Error("trap"); }, ownKeys() { throw new Error("trap"); } }),
          }));
          test("circular", { inputs: { a: 2 } }, () => {
            const outputs = { big: 1n };
            outputs.self = outputs;
            return outputs;
          });
          test("fake", { inputs: { a: 3 } }, () => {
            vi.useFakeTimers({ now: 0 });
            return { time: Date.now() };
          });
          test("throws a text", { inputs: { a: 4 } }, () => { throw "text"; });
        });`,
  });
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
  expect({ code, output }).toMatchObject({ code: 1 });
  expect(output).toContain("4 tests, 1 failed");
  const runs = await client.runs.list({ projectNames: ["vitest on hostile"] }).toArray();
  expect(runs.map(({ name }) => name).toSorted()).toEqual([
    "circular",
    "fake",
    "proxy",
    "throws a text",
  ]);
  expect(runs.find(({ name }) => name === "fake")?.outputs).toEqual({ time: 0 });
  expect(runs.find(({ name }) => name === "fake")?.startTime).toMatch(/^20[2-9]/);
  expect(runs.find(({ name }) => name === "throws a text")?.error).toContain("text");
});
