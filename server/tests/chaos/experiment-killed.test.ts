import { expect, test } from "vitest";
import { serveWithModel, startEchoModel } from "../support/served-with-model.ts";
import { temporaryFolder } from "../support/running-server.ts";

const exampleCount = 30;
const concurrency = 3;

interface StoredJob {
  readonly state: string;
  readonly progress: { readonly done: number };
  readonly result: { readonly experiment_id: string } | null;
}

test("an experiment goes on after its server was killed, and repeats only the calls in flight", async () => {
  const dataDir = await temporaryFolder();
  const model = await startEchoModel(10);
  const first = await serveWithModel(dataDir, model.url);
  const dataset = (await first.post("/datasets", { name: "d" })) as { readonly id: string };
  await first.post(
    "/examples/bulk",
    Array.from({ length: exampleCount }, (_, index) => ({
      dataset_id: dataset.id,
      inputs: { question: `q${index}` },
      split: "run",
    })),
  );
  await first.post("/repos", { repo_handle: "qa", is_public: false });
  await first.post("/commits/-/qa", {
    manifest: {
      lc: 1,
      type: "constructor",
      id: ["langchain", "prompts", "prompt", "PromptTemplate"],
      kwargs: { template: "{question}", template_format: "f-string" },
    },
  });
  const body = {
    dataset_id: dataset.id,
    splits: ["run"],
    repetitions: 1,
    concurrency,
    mapping: {},
    scorers: [],
    judges: [],
    targets: [{ name: "killed", prompt: "qa", endpoint: "local", model: "m" }],
  };
  await first.post("/ui/experiments/start", body);
  // Ten rows are answered, and the calls after them wait for their answers.
  await expect.poll(() => model.prompts.length, { timeout: 20_000 }).toBeGreaterThan(10);
  // The experiment keeps the version of the dataset with which it began.
  await first.post("/examples/bulk", [
    { dataset_id: dataset.id, inputs: { question: "later" }, split: "run" },
  ]);
  await first.kill();
  const callsBefore = model.prompts.length;
  model.release();

  const second = await serveWithModel(dataDir, model.url);
  const readJob = async (): Promise<StoredJob | undefined> => {
    const response = await fetch(`${second.url}/ui/jobs`);
    const { jobs } = (await response.json()) as { readonly jobs: readonly StoredJob[] };
    return jobs[0];
  };
  await expect.poll(async () => (await readJob())?.state, { timeout: 40_000 }).toBe("succeeded");
  const job = await readJob();
  expect(job?.progress.done).toBe(exampleCount);
  expect(new Set(model.prompts).size).toBe(exampleCount);
  expect(model.prompts).not.toContain("later");
  const repeated = model.prompts.length - exampleCount;
  expect(repeated).toBeLessThanOrEqual(concurrency);
  expect(callsBefore).toBeLessThanOrEqual(10 + concurrency);
  const response = await fetch(
    `${second.url}/sessions/${job?.result?.experiment_id}?include_stats=true`,
  );
  // Root runs.
  expect(await response.json()).toMatchObject({ run_count: exampleCount });
}, 90_000);
