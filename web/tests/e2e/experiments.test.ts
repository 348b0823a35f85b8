import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();

interface SimulatedOutput {
  readonly text: string;
  readonly score: number;
  readonly fails?: true;
}

describe.skipIf(browser === undefined)("the experiments, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let dataDir: string;
  let watched: WatchedPage;
  let datasetAddress: string;
  let datasetId: string;
  const experiments: string[] = [];

  const post = async (path: string, body: unknown): Promise<Readonly<Record<string, unknown>>> => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(server.url + path, init)).json()) as Readonly<
      Record<string, unknown>
    >;
  };

  /** Creates an experiment: its project and feedback over REST, its runs with the SDK. */
  async function runExperiment(
    name: string,
    exampleIds: readonly string[],
    answer: (index: number) => readonly SimulatedOutput[],
  ): Promise<readonly string[]> {
    const project = await post("/sessions", { name, reference_dataset_id: datasetId });
    experiments.push(String(project["id"]));
    const startMs = Date.now() - 5_000;
    const results = exampleIds.flatMap((referenceExampleId, index) =>
      answer(index).map((result) => ({ ...result, referenceExampleId, index })),
    );
    const runIds = results.map(({ text, fails, referenceExampleId, index }) => {
      const startTime = startMs + index;
      const inputs = { question: index };
      const isFirst = index === 0;
      const run = client.startRun({
        name: "answer",
        projectName: name,
        referenceExampleId,
        inputs,
        startTime,
      });
      if (isFirst) {
        // A failed run below a result is not a failed result.
        run.startChild({ name: "step", startTime }).fail(new Error("tried again"));
      }
      if (fails === true) {
        run.fail(new Error("the model did not answer"));
      } else {
        run.end({ text }, { endTime: startTime + 120 + index });
      }
      return run.id;
    });
    await client.flush();
    await Promise.all(
      results.map(async ({ score }, index) =>
        post("/feedback", { run_id: runIds[index], key: "correct", score }),
      ),
    );
    return runIds;
  }

  beforeAll(async () => {
    mkdirSync("temp/web", { recursive: true });
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    server = await startServer({ port: 0, dataDir });
    client = new Client({ endpoint: server.url });
    const { id } = await client.datasets.create({ name: "capitals" });
    datasetId = id;
    await client.examples.createMany({
      datasetId: id,
      examples: Array.from({ length: 60 }, (_, index) => ({
        inputs: { question: `What is the capital of country ${index}?` },
        outputs: { text: `The capital of country ${index} is\na city.` },
      })),
    });
    const listed = await fetch(`${server.url}/examples?dataset=${id}&limit=100`);
    const ids = ((await listed.json()) as readonly { readonly id: string }[]).map(
      (example) => example.id,
    );
    const right = (index: number): SimulatedOutput => ({
      text: `The capital of country ${index} is\na city.`,
      score: 1,
    });
    const first = await runExperiment("first", ids, (index) => [
      index === 9 ? { text: "No idea.", score: 0 } : right(index),
    ]);
    const second = await runExperiment("second", ids, (index) => {
      if (index === 5) {
        return [{ text: "", score: 0, fails: true }];
      }
      return index === 7
        ? [{ text: "The capital of country 7 is\na village.", score: 0 }, right(index)]
        : [right(index)];
    });
    const comparative = await post("/datasets/comparative", {
      name: "which reads better",
      experiment_ids: experiments,
      reference_dataset_id: id,
    });
    const prefer = async (runId: string | undefined, score: number) =>
      post("/feedback", {
        run_id: runId,
        key: "preferred",
        score,
        comparative_experiment_id: comparative["id"],
      });
    await Promise.all([0, 1, 2].map(async (index) => prefer(first[index], index === 0 ? 1 : 0)));
    await Promise.all([0, 1, 2].map(async (index) => prefer(second[index], index === 0 ? 0 : 1)));
    const settings = (await (await fetch(`${server.url}/settings`)).json()) as { id: string };
    datasetAddress = `${server.url}/o/${settings.id}/datasets/${id}`;
    watched = await WatchedPage.open(browser!, server.url);
  }, 60_000);

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("experiments are listed with scores, compared to a baseline, and selected for comparison", async () => {
    const { page, faults } = watched;
    await page.goto(`${datasetAddress}?tab=experiments`);
    await page.getByRole("link", { name: "second" }).waitFor();
    await page.getByLabel("Baseline").selectOption({ label: "Baseline: first" });
    await page
      .getByRole("row", { name: /second/ })
      .getByText(/▼ −0\.0/)
      .waitFor();
    await watched.picture("experiments-list");
    expect(await watched.audit()).toEqual([]);
    await page.getByLabel("Select row 1", { exact: true }).check();
    await page.getByLabel("Select row 2", { exact: true }).check();
    await page.getByRole("link", { name: "Compare selected (2)" }).click();
    await page.getByRole("heading", { name: "Compare experiments" }).waitFor();
    await page.getByText("60 examples", { exact: true }).waitFor();
    expect(faults).toEqual([]);
  }, 30_000);

  test("regressions come first, a new error before all others, and a filter shows only regressions", async () => {
    const { page, faults } = watched;
    await page.goto(`${datasetAddress}/compare?experiments=${experiments.join(",")}`);
    const rows = page.locator(".compare-rows tbody tr");
    await rows.nth(2).waitFor();
    expect(await rows.nth(0).textContent()).toContain("country 5?");
    expect(await rows.nth(0).textContent()).toContain("the model did not answer");
    expect(await rows.nth(1).textContent()).toContain("country 7?");
    expect(await rows.nth(1).textContent()).toContain("▼ −0.5");
    expect(await rows.nth(1).textContent()).toContain("2 runs");
    await watched.picture("experiments-compare");
    expect(await watched.audit()).toEqual([]);
    await page.getByLabel("Filter examples").selectOption("regressions");
    await page.getByText("2 of 60 examples").waitFor();
    await page.getByLabel("Filter examples").selectOption("improvements");
    await page.getByText("1 of 60 examples").waitFor();
    expect(await rows.nth(0).textContent()).toContain("▲ +1");
    await page.reload();
    await page.getByText("1 of 60 examples").waitFor();
    expect(faults).toEqual([]);
  }, 30_000);

  test("the oldest experiment is the baseline unless one is pinned, whatever the order of the link", async () => {
    const { page, faults } = watched;
    const newestFirst = experiments.toReversed().join(",");
    await page.goto(`${datasetAddress}?tab=experiments`);
    await page.getByLabel("Baseline").selectOption({ label: "No baseline" });
    await page.goto(`${datasetAddress}/compare?experiments=${newestFirst}`);
    const baseline = page.getByLabel("Baseline");
    await expect.poll(() => baseline.inputValue()).toBe(experiments[0]);
    await page.goto(`${datasetAddress}?tab=experiments`);
    await page.getByLabel("Baseline").selectOption({ label: "Baseline: second" });
    await page.goto(`${datasetAddress}/compare?experiments=${newestFirst}`);
    await expect.poll(() => baseline.inputValue()).toBe(experiments[1]);
    await page.goto(`${datasetAddress}?tab=experiments`);
    await page.getByLabel("Baseline").selectOption({ label: "No baseline" });
    expect(faults).toEqual([]);
  }, 30_000);

  test("all scores of a row are visible, with the panel open and on a phone", async () => {
    const { page, faults } = watched;
    const listed = client.runs.list({ projectNames: ["second"], isRoot: true, order: "asc" });
    for await (const run of listed) {
      for (const key of ["conciseness", "faithfulness", "helpfulness", "tone of voice"]) {
        await client.feedback.create({ runId: run.id, key, score: 0.25 });
      }
      break;
    }
    await client.flush();
    for (const width of [1280, 1024, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${datasetAddress}/compare?experiments=${experiments.join(",")}&order=run`);
      const row = page.locator(".compare-rows tr", { hasText: "tone of voice" });
      await row.waitFor();
      if (width > 1_000) {
        await row.getByRole("button").click();
        await page.getByRole("complementary", { name: "Example" }).waitFor();
      }
      const countClipped = async (part: Locator): Promise<number> =>
        part.evaluate((element) => {
          const { bottom } = element.getBoundingClientRect();
          const { right } = element.closest(".compare-list")!.getBoundingClientRect();
          return [...element.querySelectorAll(".score, .compare-facts")].filter(
            (fact) =>
              fact.getBoundingClientRect().bottom > bottom ||
              fact.getBoundingClientRect().right > right ||
              fact.parentElement!.scrollHeight > fact.parentElement!.clientHeight + 1,
          ).length;
        });
      await expect.poll(async () => [width, await countClipped(row)]).toEqual([width, 0]);
      const totals = page.locator(".compare-totals tbody");
      await expect.poll(async () => [width, await countClipped(totals)]).toEqual([width, 0]);
      await watched.picture("experiments-scores");
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(faults).toEqual([]);
  }, 30_000);

  test("the error rate of the list counts results, like the comparison, not the runs below them", async () => {
    const { page, faults } = watched;
    await page.goto(`${datasetAddress}?tab=experiments`);
    const cell = page
      .getByRole("row", { name: /second/ })
      .locator('td[data-column="errors"], td[data-column="runs"]');
    await expect.poll(() => cell.allInnerTexts()).toEqual(["2 %", "61"]);
    await page.goto(`${datasetAddress}/compare?experiments=${experiments.join(",")}`);
    const totals = page.locator(".compare-totals tbody tr").nth(1).locator("td");
    await expect
      .poll(async () => (await totals.allInnerTexts()).slice(-5))
      .toEqual(["1", expect.stringMatching(/ m?s$/), "–", "–", "61"]);
    expect(faults).toEqual([]);
  }, 30_000);

  test("an example shows each output compared to the baseline or the reference, and its traces", async () => {
    const { page, faults } = watched;
    await page.goto(`${datasetAddress}/compare?experiments=${experiments.join(",")}`);
    await page.getByRole("button", { name: "country 7?" }).click();
    const panel = page.getByRole("complementary", { name: "Example" });
    await panel.getByText("second, run 2").waitFor();
    await panel.locator(".cm-changedLine").first().waitFor();
    await panel.getByText("Output of second: no differences").waitFor();
    await watched.picture("experiments-panel");
    await panel.getByRole("button", { name: "Side by side" }).click();
    await panel.locator(".cm-mergeView").waitFor();
    await watched.picture("experiments-split");
    await panel.getByRole("button", { name: "vs. reference" }).click();
    await panel.getByText("Output of first: no differences").waitFor();
    expect(await watched.audit()).toEqual([]);
    await panel.getByRole("link", { name: "Open trace" }).first().click();
    await page.waitForURL(/projects\/p\/.*trace=/);
    expect(faults).toEqual([]);
  }, 30_000);

  test("a pairwise comparison shows the result: better, worse, and the win rate", async () => {
    const { page, faults } = watched;
    await page.goto(`${datasetAddress}?tab=comparisons`);
    await page.getByRole("link", { name: "which reads better" }).click();
    await page.getByRole("heading", { name: "Pairwise comparison" }).waitFor();
    await page.getByText("2 better, 1 worse, 0 same · 67 % win rate").waitFor();
    await watched.picture("experiments-pairwise");
    expect(await watched.audit()).toEqual([]);
    expect(faults).toEqual([]);
  }, 30_000);

  test("a comparison shows the rows of a running experiment as they come in, until it ends", async () => {
    const { page, faults } = watched;
    const name = "running";
    const { id } = await post("/sessions", { name, reference_dataset_id: datasetId });
    await page.goto(`${datasetAddress}/compare?experiments=${String(id)}`);
    await page.getByText("0 examples", { exact: true }).waitFor();
    await page.getByText("Running", { exact: true }).waitFor();
    const examples = await client.examples.list({ datasetId, limit: 3 }).toArray();
    const addRow = async (referenceExampleId: string): Promise<void> => {
      const run = client.startRun({ name: "answer", projectName: name, referenceExampleId });
      run.end({ text: "A city." });
      await client.flush();
      await post("/feedback", { run_id: run.id, key: "correct", score: 1 });
    };
    for (const [index, example] of examples.entries()) {
      await addRow(example.id);
      await page.getByText(new RegExp(`^${index + 1} examples?$`)).waitFor();
    }
    const summary = page.getByRole("region", { name: "Summary by experiment" });
    await summary.getByRole("columnheader", { name: "correct" }).waitFor();
    await watched.picture("experiments-running");
    expect(await watched.audit()).toEqual([]);
    await client.projects.update({ projectId: String(id), endTime: new Date().toISOString() });
    await page.getByText("Running", { exact: true }).waitFor({ state: "detached" });
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.waitForTimeout(2_500);
    expect(requests.filter((url) => url.includes("/comparison"))).toHaveLength(0);
    expect(faults).toEqual([]);
  }, 60_000);
});
