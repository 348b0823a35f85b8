import { expect } from "vitest";
import type { Client, Run } from "../../src/main/index.ts";
import { createVitestProject } from "./vitest-project.ts";
import type { ProjectOptions } from "./vitest-project.ts";

/** Tests of every kind. They must do the same in each version of vitest. */
const file = `
import { afterAll, describe as group, expect as plainExpect } from "vitest";
import { traceable } from "millrace";
import { currentRow, exactMatch } from "millrace/evaluation";
import { describe, expect, logOutputs, score, test } from "millrace/vitest";

const answer = traceable(async (question) => question.toUpperCase(), { name: "model" });
let tries = 0;

describe(
  "questions",
  {
    description: "Asks.",
    metadata: { model: "none" },
    evaluators: [{ name: "isShort", evaluate: ({ outputs }) => JSON.stringify(outputs).length < 20 }],
  },
  () => {
    test(
      "returns outputs",
      { inputs: { question: "a" }, referenceOutputs: { answer: "A" }, metadata: { level: 1 }, splits: ["easy"] },
      async ({ inputs, referenceOutputs, exampleId, experiment, task }) => {
        const outputs = { answer: await answer(inputs.question) };
        expect(outputs.answer).toBe(referenceOutputs.answer);
        expect(outputs.answer, "is a letter").not.toMatch(/[^A-Z]/);
        score("length", outputs.answer.length);
        score("kind", { value: "letter", comment: "one" });
        const [exact] = await score(exactMatch(), outputs);
        plainExpect(exact.score).toBe(true);
        plainExpect(task.name).toBe("returns outputs");
        plainExpect(currentRow()).toEqual({ experimentId: experiment.id, exampleId, repetition: 1 });
        return outputs;
      },
    );
    test("fails", { inputs: { question: "b" }, referenceOutputs: { answer: "X" } }, async ({ inputs, referenceOutputs }) => {
      const outputs = { answer: await answer(inputs.question) };
      logOutputs(outputs);
      expect(outputs.answer).toBe(referenceOutputs.answer);
    });
    test("takes too long", { inputs: { question: "c" }, timeout: 50 }, () => new Promise(() => {}));
    test("is retried", { inputs: { question: "d" }, retry: 1 }, () => {
      tries += 1;
      logOutputs({ tries });
      expect(tries).toBe(2);
    });
    test("is repeated", { inputs: { question: "e" }, repetitions: 2 }, ({ repetition }) => ({ repetition }));
    test.skip("is skipped", { inputs: { question: "skipped" } }, () => {
      throw new Error("not called");
    });
    group("a group", () => {
      test.each([
        { inputs: { question: "f" }, wait: 60 },
        { inputs: { question: "g" }, wait: 30 },
      ])("asks $inputs.question", ({ inputs, wait }) => {
        plainExpect(wait).toBeGreaterThan(0);
        return { answer: inputs.question };
      });
      test.concurrent.each([
        { inputs: { question: "h" }, wait: 60 },
        { inputs: { question: "i" }, wait: 30 },
      ])("asks", async ({ inputs, wait }) => {
        await new Promise((resolve) => setTimeout(resolve, wait));
        logOutputs({ answer: inputs.question });
        expect(inputs.question, "question " + inputs.question).toBe(inputs.question);
      });
    });
  },
);

describe("soft and asynchronous", () => {
  test("expectations", { inputs: { question: "a" } }, async () => {
    expect.soft(1, "soft").toBe(2);
    await expect(Promise.resolve(1)).resolves.toBe(1);
    await expect(Promise.reject(new Error("no")), "rejects").rejects.toThrow("no");
    let count = 0;
    await expect.poll(() => (count += 1), { message: "polled" }).toBe(3);
    expect(true).to.be.true;
    expect([1]).to.include(1);
    expect({ a: 1 }).to.include.keys("a");
    expect("text").toMatchInlineSnapshot(\`"text"\`);
    expect(1).toEqual(expect.any(Number));
  });
});
`;

/** What the server stored for a run, in short. */
interface StoredTest {
  readonly outputs: unknown;
  readonly error?: string | undefined;
  readonly scores: Readonly<Record<string, unknown>>;
}

/** Runs tests of every kind with a version of vitest, and checks what the server has afterwards. */
export async function checkStory(
  { client, url }: { readonly client: Client; readonly url: string },
  options: ProjectOptions = {},
): Promise<void> {
  const project = await createVitestProject({ "story.test.js": file }, options);
  const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
  expect({ code, output }).toMatchObject({ code: 1 });
  expect(output).toContain("questions (vitest on questions)");
  expect(output).toMatch(/pass +0\.8\d\d +0 +1 +10 +0/);
  expect(output).toMatch(/10 tests, 2 failed, p50 \d+ ms/);

  const experiment = await client.projects.read({ projectName: "vitest on questions" });
  expect(output).toContain(`selectedSessions=${experiment.id}`);
  expect(experiment).toMatchObject({
    description: "Asks.",
    extra: { metadata: { model: "none", dataset_version: expect.any(String) as unknown } },
  });
  expect(experiment.endTime).toBeDefined();

  const examples = await client.examples.list({ datasetName: "questions" }).toArray();
  expect(new Set(examples.map(({ inputs }) => inputs["question"]))).toEqual(
    new Set(["a", "b", "c", "d", "e", "f", "g", "h", "i", "skipped"]),
  );
  expect(examples.find(({ inputs }) => inputs["question"] === "a")).toMatchObject({
    outputs: { answer: "A" },
    metadata: { level: 1 },
    splits: ["easy"],
  });

  const runs = await client.runs.list({ projectIds: [experiment.id] }).toArray();
  const roots = runs.filter(({ parentRunId }) => parentRunId === undefined);
  const exampleIds = new Set(examples.map(({ id }) => id));
  expect(roots.every(({ referenceExampleId = "" }) => exampleIds.has(referenceExampleId))).toBe(
    true,
  );
  // Some versions of vitest show a text in a name with quotation marks.
  const stored = Object.fromEntries(
    roots.map((run) => [run.name.replaceAll("'", ""), toStoredTest(run)]),
  );
  expect(stored).toEqual({
    "returns outputs": {
      outputs: { answer: "A" },
      scores: {
        toBe: 1,
        "is a letter": 1,
        length: 1,
        kind: undefined,
        exactMatch: 1,
        isShort: 1,
        pass: 1,
      },
    },
    fails: {
      outputs: { answer: "B" },
      error: expect.stringMatching(
        /^AssertionError: expected 'B' to be 'X'.*\n +at .*story\.test\.js:/,
      ) as unknown,
      scores: { toBe: 0, pass: 0 },
    },
    "takes too long": {
      outputs: undefined,
      error: expect.stringContaining("Test timed out in 50ms") as unknown,
      scores: { pass: 0 },
    },
    "is retried": { outputs: { tries: 2 }, scores: { toBe: 1, isShort: 1, pass: 1 } },
    "is repeated (repetition 1 of 2)": {
      outputs: { repetition: 1 },
      scores: { isShort: 1, pass: 1 },
    },
    "is repeated (repetition 2 of 2)": {
      outputs: { repetition: 2 },
      scores: { isShort: 1, pass: 1 },
    },
    "asks f": { outputs: { answer: "f" }, scores: { isShort: 1, pass: 1 } },
    "asks g": { outputs: { answer: "g" }, scores: { isShort: 1, pass: 1 } },
    "asks (0)": { outputs: { answer: "h" }, scores: { "question h": 1, isShort: 1, pass: 1 } },
    "asks (1)": { outputs: { answer: "i" }, scores: { "question i": 1, isShort: 1, pass: 1 } },
  });
  const repeated = roots.filter(({ name }) => name.startsWith("is repeated"));
  expect(new Set(repeated.map(({ referenceExampleId }) => referenceExampleId)).size).toBe(1);
  expect(new Set(repeated.map(({ extra }) => extra?.metadata?.["repetition"]))).toEqual(
    new Set([1, 2]),
  );
  const models = runs.filter(({ name }) => name === "model");
  expect(new Set(models.map(({ parentRunId }) => parentRunId))).toEqual(
    new Set(
      roots
        .filter(({ name }) => name === "returns outputs" || name === "fails")
        .map(({ id }) => id),
    ),
  );
  expect(models).toHaveLength(2);

  const soft = await client.runs
    .list({ projectNames: ["vitest on soft and asynchronous"], isRoot: true })
    .toArray();
  expect(soft.map(toStoredTest)).toEqual([
    {
      outputs: undefined,
      error: expect.stringContaining("expected 1 to be 2") as unknown,
      scores: {
        soft: 0,
        toBe: 1,
        rejects: 1,
        polled: 1,
        true: 1,
        include: 1,
        keys: 1,
        toEqual: 1,
        pass: 0,
      },
    },
  ]);
}

const toStoredTest = ({ outputs, error, feedbackStats }: Run): StoredTest => ({
  outputs,
  ...(error === undefined ? {} : { error }),
  scores: Object.fromEntries(
    Object.entries(feedbackStats ?? {}).map(([key, stats]) => [
      key,
      (stats as { readonly avg?: number | null }).avg ?? undefined,
    ]),
  ),
});
