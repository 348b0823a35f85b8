import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { serveWithModel, startEchoModel } from "../support/served-with-model.ts";
import { temporaryFolder } from "../support/running-server.ts";
import { wireRun } from "../support/wire-runs.ts";

const runCount = 20;
/** Judges of one tenant that run at the same time. */
const atOnce = 4;

test("a rule judges each run once although its server was killed, and repeats only calls in flight", async () => {
  const dataDir = await temporaryFolder();
  const model = await startEchoModel(6);
  const first = await serveWithModel(dataDir, model.url);
  const project = (await first.post("/sessions", { name: "p", id: randomUUID() })) as {
    readonly id: string;
  };
  await first.post("/ui/rules", {
    session_id: project.id,
    name: "r",
    filter: "",
    sampling_rate: 1,
    action: {
      kind: "judge",
      key: "quality",
      // The model repeats its prompt.
      template: '{"reasoning":"{{inputs.question}}","score":1}',
      form: { kind: "score" },
      endpoint: "local",
      model: "m",
    },
  });
  const runs = Array.from({ length: runCount }, (_, index) =>
    wireRun({
      session_name: "p",
      inputs: { question: `q${index}` },
      outputs: { answer: "a" },
      end_time: Date.now(),
    }),
  );
  await first.post("/runs/batch", { post: runs });
  // Six judgements are answered, and the calls after them wait for their answers.
  await expect.poll(() => model.prompts.length, { timeout: 30_000 }).toBeGreaterThan(6);
  await first.kill();
  model.release();

  const second = await serveWithModel(dataDir, model.url);
  const readJson = async <Shape>(path: string): Promise<Shape> =>
    (await (await fetch(second.url + path)).json()) as Shape;
  const readApplied = async (): Promise<number | undefined> =>
    (await readJson<readonly { readonly applied: number }[]>(`/ui/rules?session=${project.id}`))[0]
      ?.applied;
  await expect.poll(readApplied, { timeout: 40_000 }).toBe(runCount);
  expect(new Set(model.prompts).size).toBe(runCount);
  expect(model.prompts.length - runCount).toBeLessThanOrEqual(atOnce);
  const feedback = await readJson<readonly { readonly run_id: string; readonly comment: string }[]>(
    "/feedback?key=quality&limit=100",
  );
  expect(feedback.map(({ run_id: id }) => id).toSorted()).toEqual(
    runs.map(({ id }) => id).toSorted(),
  );
}, 120_000);
