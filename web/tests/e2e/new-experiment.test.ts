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

/** A model that answers `city N`, but not for the country 3, and judges each answer as 0.5. */
async function startModel(): Promise<{
  readonly url: string;
  readonly server: Server;
  readonly held: { release: () => void };
}> {
  const held = { release: (): void => undefined };
  const gate = new Promise<void>((resolve) => {
    held.release = resolve;
  });
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly messages: readonly { readonly content: string }[];
      };
      const prompt = body.messages.at(-1)?.content ?? "";
      const [, number = ""] = /country (\d+)/.exec(prompt) ?? [];
      if (number === "7") {
        await gate;
      }
      const content = prompt.startsWith("Rate")
        ? '{"reasoning":"half right","score":0.5}'
        : `city ${number === "3" ? "unknown" : number}`;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          model: "m-1",
          choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
          usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
        }),
      );
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server, held };
}

describe.skipIf(browser === undefined)("a new experiment, in Chromium", () => {
  let server: RunningServer;
  let model: Awaited<ReturnType<typeof startModel>>;
  let dataDir: string;
  let watched: WatchedPage;
  let datasetAddress: string;

  const send = async (method: string, path: string, body: unknown): Promise<void> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.url + path, {
      method,
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBeLessThan(300);
  };

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
    const { id } = await client.datasets.create({ name: "capitals \u202Eof" });
    await client.examples.createMany({
      datasetId: id,
      examples: Array.from({ length: exampleCount }, (_, index) => ({
        inputs: { land: `country ${index}`, hint: "<img src=x onerror=alert(1)>" },
        outputs: { answer: `city ${index}` },
      })),
    });
    await client.close();
    await send("POST", "/repos", { repo_handle: "capital", is_public: false });
    await send("POST", "/commits/-/capital", { manifest });
    await send("PUT", "/ui/prices", {
      prices: [{ model: "m-1", provider: "local", prices: { input: 1, output: 2 } }],
    });
    const settings = (await (await fetch(`${server.url}/settings`)).json()) as { id: string };
    datasetAddress = `${server.url}/o/${settings.id}/datasets/${id}`;
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

  test("a prompt is run with a model over a dataset: token, preview, cost, progress, comparison", async () => {
    const { page, faults } = watched;
    await page.goto(`${server.url}/prompts/capital`);
    await page.getByRole("link", { name: "Run over a dataset" }).click();
    await page.getByRole("list", { name: "Datasets" }).getByRole("link").click();
    await page.getByRole("textbox", { name: "Token" }).fill("wrong");
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("The server did not accept the token.").waitFor();
    await page.getByRole("textbox", { name: "Token" }).fill(server.modelToken ?? "");
    await page.getByRole("button", { name: "Unlock" }).click();
    const start = page.getByRole("button", { name: "Start experiment" });
    await start.waitFor();
    await page.getByText("Enter the name of the model.").waitFor();
    const modelField = page.getByRole("group", { name: "Model 1" }).getByLabel("Model");
    expect(await modelField.getAttribute("aria-invalid")).not.toBe("true");
    await start.click();
    expect(await modelField.getAttribute("aria-invalid")).toBe("true");
    await page
      .getByRole("group", { name: "Model 1" })
      .getByText("Enter the name of the model.")
      .waitFor();
    await watched.picture("new-experiment-faults");
    await page.getByRole("group", { name: "Model 1" }).getByLabel("Model").fill("m-1");

    // The dataset has no `inputs.country`, so the prompt can't be filled in until the variable is mapped.
    await page.getByText(/missing variables: country/).waitFor();
    await page.getByLabel("country").selectOption("inputs.land");
    await page.getByText("Capital of country 0?").waitFor();
    const estimate = page.getByLabel("Estimate");
    await expect.poll(() => estimate.textContent()).toContain("Runs12");
    expect(await estimate.textContent()).toMatch(/Cost\$0\.00\d+ – \$0\.0\d+/);

    await page.getByLabel("Add a scorer").selectOption("exactMatch");
    await page.getByRole("group", { name: "Exact match" }).getByLabel("Feedback key").fill("right");
    await page.getByRole("button", { name: "Add a judge" }).click();
    const judge = page.getByRole("group", { name: "Judge 1" });
    await judge.getByLabel("Judge prompt").fill("Rate {{output.output}}");
    await judge.getByLabel("Model").fill("m-1");
    expect(await watched.audit()).toEqual([]);
    await watched.picture("new-experiment");
    await start.click();

    await page.getByRole("heading", { name: "Compare experiments" }).waitFor();
    const progress = page.getByRole("region", { name: "Progress of experiments" });
    await progress.getByText("Running").waitFor();
    // The rows that are done arrive while the model still holds the answer for country 7.
    await page
      .getByText(/city unknown/)
      .first()
      .waitFor();
    await expect.poll(() => progress.textContent()).toMatch(/[48] of 12 rows/);
    await expect.poll(() => progress.textContent()).toMatch(/\$0\.00\d+/);
    expect(await watched.audit()).toEqual([]);
    await watched.picture("experiment-progress");
    model.held.release();
    await progress.waitFor({ state: "detached" });
    const summary = page.getByRole("region", { name: "Summary by experiment" });
    await expect.poll(() => summary.textContent()).toContain("0.917");
    expect(await summary.textContent()).toContain("0.5");
    const readCosts = async () => summary.locator('[data-title="Cost"]').allTextContents();
    await expect.poll(readCosts).toEqual([expect.stringMatching(/^\$0\.0\d+$/)]);
    expect(await page.getByText(/city unknown/).count()).toBe(1);
    await watched.picture("experiment-done");
    expect(faults).toEqual([]);
  }, 60_000);

  test("several models are several experiments, and a model without a price is named", async () => {
    const { page, faults } = watched;
    await page.goto(`${datasetAddress}?tab=experiments`);
    await page.getByRole("link", { name: "New experiment" }).click();
    await page.getByPlaceholder("support").fill("capital");
    await page.keyboard.press("Enter");
    await page.getByRole("group", { name: "Model 1" }).getByLabel("Model").fill("m-1");
    await page.getByLabel("country").selectOption("inputs.land");
    await page.getByRole("button", { name: "Add a model" }).click();
    await page.getByRole("group", { name: "Model 2" }).getByLabel("Model").fill("m-2");
    await page.getByText(/The cost is unknown: .*m-2/).waitFor();
    await page.getByText("estimated from earlier experiments on this dataset").waitFor();
    await page.getByRole("button", { name: "Start 2 experiments" }).click();
    await page.getByRole("heading", { name: "Compare experiments" }).waitFor();
    const columns = page.getByRole("columnheader", { name: /capital · m-/ });
    await columns.nth(1).waitFor();
    expect(await columns.count()).toBe(2);
    expect(faults).toEqual([]);
  }, 60_000);

  test("a split and a tagged version are chosen, counted, recorded and shown", async () => {
    const { page, faults } = watched;
    const datasetId = datasetAddress.split("/").at(-1);
    const versions = (await (
      await fetch(`${server.url}/datasets/${datasetId}/versions`)
    ).json()) as readonly { readonly as_of: string }[];
    await send("PUT", `/datasets/${datasetId}/tags`, { as_of: versions[0]?.as_of, tag: "first" });
    const add = async (land: string, split: string): Promise<void> =>
      send("POST", "/examples", {
        dataset_id: datasetId,
        inputs: { land },
        outputs: { answer: "city" },
        split,
      });
    await add("country 20", "hard");
    await add("country 21", "hard");
    await page.goto(`${datasetAddress}/new-experiment?prompt=capital&split=hard`);
    await page.getByRole("group", { name: "Model 1" }).getByLabel("Model").fill("m-1");
    const estimate = page.getByLabel("Estimate");
    await page.getByLabel("country").selectOption("inputs.land");
    await expect.poll(() => estimate.textContent()).toContain("Runs2");
    const version = page.getByRole("combobox", { name: "Dataset version" });
    expect(await version.locator("option").first().textContent()).toBe("Latest version");
    expect(await version.inputValue()).toBe("");
    await version.selectOption("first");
    await page.getByText(/no examples in the split "hard"/).waitFor();
    // The browser logs that the server refused the estimate.
    faults.length = 0;
    await page.getByLabel("Split").selectOption("base");
    await expect.poll(() => estimate.textContent()).toContain("Runs12");
    expect(await watched.audit()).toEqual([]);
    await watched.picture("new-experiment-version");
    await page.getByRole("button", { name: "Start experiment" }).click();
    await page.getByRole("heading", { name: "Compare experiments" }).waitFor();
    const [id = ""] = (new URL(page.url()).searchParams.get("experiments") ?? "").split(",");
    const project: unknown = await (await fetch(`${server.url}/sessions/${id}`)).json();
    expect(project).toMatchObject({
      extra: {
        metadata: {
          dataset_splits: ["base"],
          dataset_version: versions[0]?.as_of,
          dataset_version_tag: "first",
        },
      },
    });
    // The calls show the prompt with the member of the example that was mapped to its variable.
    await expect
      .poll(
        async () => {
          const jobs = (await (await fetch(`${server.url}/ui/experiments/jobs`)).json()) as {
            readonly jobs: readonly { readonly experiment_id: string; readonly state: string }[];
          };
          return jobs.jobs.find((job) => job.experiment_id === id)?.state;
        },
        { timeout: 20_000 },
      )
      .toBe("succeeded");
    const { runs } = (await (
      await fetch(`${server.url}/runs/query`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ session: [id], run_type: "llm", limit: 1 }),
      })
    ).json()) as { readonly runs: readonly { readonly id: string; readonly trace_id: string }[] };
    const projectAddress = datasetAddress.replace(/\/datasets\/.*/, `/projects/p/${id}`);
    await page.goto(`${projectAddress}?trace=${runs[0]?.trace_id}&run=${runs[0]?.id}`);
    await page
      .getByRole("figure", { name: "Prompt" })
      .locator("mark")
      .filter({ hasText: /^country \d+$/ })
      .waitFor();
    await page.goto(`${datasetAddress}?tab=experiments`);
    const row = page.getByRole("row").filter({ hasText: "base" });
    await row.filter({ hasText: "first" }).waitFor();
    expect(faults).toEqual([]);
  }, 60_000);
});
