import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { showScreen } from "../support/screenshots.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();
const exampleCount = 12;

const manifest = {
  lc: 1,
  type: "constructor",
  id: ["langchain", "prompts", "prompt", "PromptTemplate"],
  kwargs: {
    template: "Capital of {country}?",
    template_format: "f-string",
    input_variables: ["country"],
  },
};

/**
 * A model that refuses one country if it is called `flaky`. If it is called `held`, it does not answer before `release`, and
 * after `hold` not before the next `release`.
 */
async function startModel(): Promise<{
  readonly url: string;
  readonly server: Server;
  readonly held: { release: () => void; readonly hold: () => void };
}> {
  let gate: Promise<void> | undefined;
  const held = {
    release: (): void => undefined,
    hold: (): void => {
      gate = new Promise<void>((resolve) => {
        held.release = resolve;
      });
    },
  };
  held.hold();
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
      const body = Buffer.concat(chunks).toString();
      const { model } = JSON.parse(body) as { readonly model: string };
      if (model === "held") {
        await gate;
      }
      const isRefused = model === "flaky" && body.includes("country 3");
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      const message = { role: "assistant", content: "a city" };
      response.end(
        JSON.stringify(
          isRefused
            ? { error: { message: "no country 3" } }
            : { model, choices: [{ index: 0, message, finish_reason: "stop" }] },
        ),
      );
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server, held };
}

describe.skipIf(browser === undefined)("the status of experiments, in Chromium", () => {
  let server: RunningServer;
  let model: Awaited<ReturnType<typeof startModel>>;
  let dataDir: string;
  let watched: WatchedPage;
  let datasetId: string;
  let datasetAddress: string;

  const send = async (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const headers = {
      "content-type": "application/json",
      origin: server.url,
      "sec-fetch-site": "same-origin",
      "x-model-token": server.modelToken ?? "",
    };
    const response = await fetch(server.url + path, {
      method,
      ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
    });
    expect(response.ok, `${method} ${path}`).toBe(true);
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };

  /** Starts an experiment, and returns the ids of its project and of its job. */
  async function start(name: string, modelName: string, prompt = "capital") {
    const { experiments } = await send("POST", "/ui/experiments/start", {
      dataset_id: datasetId,
      targets: [{ name, prompt, endpoint: "local", model: modelName }],
      repetitions: 1,
      concurrency: 4,
      mapping: {},
      scorers: [{ scorer: "exactMatch", options: { key: "right" } }],
      judges: [],
    });
    return (experiments as readonly { experiment_id: string; job_id: string }[])[0]!;
  }

  beforeAll(async () => {
    mkdirSync("temp/web", { recursive: true });
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    model = await startModel();
    server = await startServer({
      port: 0,
      dataDir,
      modelEndpoints: [{ name: "local", url: model.url }],
    });
    const client = new Client({ endpoint: server.url });
    const { id } = await client.datasets.create({ name: "capitals" });
    datasetId = id;
    await client.examples.createMany({
      datasetId: id,
      examples: Array.from({ length: exampleCount }, (_, index) => ({
        inputs: { country: `country ${index};` },
        outputs: { output: "a city" },
      })),
    });
    await client.close();
    for (const name of ["capital", "doomed"]) {
      await send("POST", "/repos", { repo_handle: name, is_public: false });
      await send("POST", `/commits/-/${name}`, { manifest });
    }
    const { id: tenantId } = await send("GET", "/settings");
    datasetAddress = `${server.url}/o/${String(tenantId)}/datasets/${id}`;
    watched = await WatchedPage.open(browser!, server.url);
  }, 60_000);

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    model.held.release();
    await browser?.close();
    await server.close();
    model.server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("the list shows how far each experiment is and how it ended, at once", async () => {
    const { page, faults } = watched;
    const doomed = await start("doomed one", "held", "doomed");
    const stopped = await start("stopped one", "held");
    await start("flaky one", "flaky");
    await page.goto(`${datasetAddress}?tab=experiments`);
    const readStatus = async (name: string): Promise<string> =>
      page.getByRole("row", { name }).locator('[data-column="status"]').innerText();
    await expect.poll(async () => readStatus("flaky one")).toMatch(/^1 of 12 rows failed: .*400/);
    expect(await readStatus("doomed one")).toBe("Running, 0 of 12 rows");
    await send("POST", `/ui/jobs/${stopped.job_id}/cancel`, {});
    await expect
      .poll(async () => readStatus("stopped one"), { timeout: 10_000 })
      .toBe("Canceled after 0 of 12 rows");
    // The next step of the job does not find its prompt.
    await send("DELETE", "/repos/-/doomed");
    model.held.release();
    await expect
      .poll(async () => readStatus("doomed one"), { timeout: 10_000 })
      .toBe("Failed after 4 of 12 rows: Prompt not found");
    expect(await watched.audit()).toEqual([]);
    await showScreen(page, "experiments-status");

    // The times of the failed experiment look like those of a running one: it has no end, and new runs.
    await page.goto(`${datasetAddress}/compare?experiments=${doomed.experiment_id}`);
    await page
      .getByRole("region", { name: "Progress of experiments" })
      .getByText("Failed")
      .waitFor();
    expect(await page.locator(".heading").getByText("Running").count()).toBe(0);
    expect(faults).toEqual([]);
  }, 60_000);

  test("on a phone, the list shows the status and all scores of each experiment", async () => {
    const { page, faults } = watched;
    const { runs } = (await send("POST", "/runs/query", { is_root: true, limit: 1 })) as {
      readonly runs: readonly { readonly id: string; readonly session_id: string }[];
    };
    const { id = "", session_id: experimentId } = runs[0] ?? {};
    for (const key of ["conciseness", "faithfulness", "helpfulness"]) {
      await send("POST", "/feedback", { run_id: id, key, score: 0.25 });
    }
    const { name } = await send("GET", `/sessions/${experimentId}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${datasetAddress}?tab=experiments`);
    const row = page.getByRole("row", { name: String(name) });
    for (const title of [
      "right",
      "conciseness",
      "faithfulness",
      "helpfulness",
      "Error rate",
      "Cost",
    ]) {
      const fact = row.locator(`[data-title="${title}"]`);
      await fact.waitFor();
      const isInside = await fact.evaluate((element) => {
        const { bottom, right } = element.getBoundingClientRect();
        const end = element.closest("tr")!.getBoundingClientRect();
        return (
          bottom <= end.bottom && right <= innerWidth && element.scrollWidth <= element.clientWidth
        );
      });
      expect([title, isInside]).toEqual([title, true]);
    }
    expect(await row.locator('[data-title="helpfulness"]').innerText()).toBe("0.25");
    expect(await row.locator(".experiment-status").innerText()).toMatch(/rows/);
    expect(await watched.audit()).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(faults).toEqual([]);
  }, 30_000);

  test("a running experiment can be canceled and continued by its buttons", async () => {
    const { page, faults } = watched;
    faults.length = 0;
    model.held.hold();
    const { experiment_id: experimentId } = await start("interrupted one", "held");
    await page.goto(`${datasetAddress}/compare?experiments=${experimentId}`);
    const progress = page.getByRole("region", { name: "Progress of experiments" });
    await progress.getByText("Running", { exact: true }).waitFor();
    await progress.getByRole("button", { name: "Cancel" }).click();
    await progress.getByText("Canceled", { exact: true }).waitFor();
    await progress.getByText("0 of 12 rows").waitFor();
    await showScreen(page, "experiment-canceled");
    model.held.release();
    await progress.getByRole("button", { name: "Continue" }).click();
    // The section is about experiments that run or need attention. This one has neither left.
    await progress.waitFor({ state: "detached" });
    await page.goto(`${datasetAddress}?tab=experiments`);
    const row = page.getByRole("row", { name: "interrupted one" });
    await expect.poll(async () => row.locator('[data-column="status"]').innerText()).toBe("Done");
    const { runs } = await send("POST", "/runs/query", { session: [experimentId], is_root: true });
    expect(runs).toHaveLength(exampleCount);
    expect(faults).toEqual([]);
  }, 60_000);
});
