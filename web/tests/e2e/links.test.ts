import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client as LangSmith } from "langsmith";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();

/** Replaces the host of a printed link by that of this server. */
const toServerUrl = (server: RunningServer, link: string): string =>
  link.replace(/^https?:\/\/[^/]+/, server.url);

describe.skipIf(browser === undefined)("links that clients print, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let langsmith: LangSmith;
  let watched: WatchedPage;
  let page: Page;
  let runId: string;
  let datasetId: string;
  const experiments: string[] = [];

  beforeAll(async () => {
    server = await startServer({ port: 0, dataDir: ":memory:" });
    client = new Client({ endpoint: server.url, projectName: "printed links" });
    langsmith = new LangSmith({ apiUrl: server.url, apiKey: "none", webUrl: server.url });
    const root = client.startRun({ name: "outer question", inputs: { q: 1 } });
    const child = root.startChild({ name: "inner answer", inputs: { q: 2 } });
    child.end({ answer: "the answer inside" });
    root.end({ answer: "outside" });
    runId = child.id;
    await client.flush();
    const dataset = await client.datasets.create({ name: "compared questions" });
    datasetId = dataset.id;
    for (const name of ["before the change", "after the change"]) {
      const { id } = await langsmith.createProject({
        projectName: name,
        referenceDatasetId: datasetId,
      });
      experiments.push(id);
    }
    await client.prompts.push("greeting", { manifest: { text: "hello" } });
    watched = await WatchedPage.open(browser!, server.url);
    page = watched.page;
  }, 60_000);

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    langsmith.cleanup();
    await client.close();
    await browser?.close();
    await server.close();
  });

  /** Opens a link and waits for a text that only the right view contains. */
  const expectText = async (link: string, text: string): Promise<void> => {
    await page.goto(toServerUrl(server, link));
    await page.getByText(text).first().waitFor();
  };

  test("langsmith's link to a run opens that run in its trace", async () => {
    const run = await langsmith.readRun(runId);
    const link = await langsmith.getRunUrl({ run });
    expect(link).toMatch(/\/o\/[^/]+\/projects\/p\/[^/]+\/r\/[^/]+\?poll=true$/);
    await expectText(link, "the answer inside");
    await page.getByRole("heading", { name: "inner answer" }).waitFor();
    await expectText(await langsmith.getRunUrl({ runId }), "the answer inside");
    const { url = "" } = await langsmith.runs.getURL(runId, {
      project_id: run.session_id ?? "",
      trace_id: run.trace_id ?? "",
    });
    expect(url.startsWith(server.url)).toBe(true);
    await expectText(url, "the answer inside");
    expect(watched.faults).toEqual([]);
  }, 40_000);

  test("langsmith's links to a project, a dataset and shares open them", async () => {
    await expectText(
      await langsmith.getProjectUrl({ projectName: "printed links" }),
      "outer question",
    );
    await expectText(await langsmith.getDatasetUrl({ datasetId }), "compared questions");
    await expectText(await langsmith.shareRun(runId), "inner answer");
    const { url } = await langsmith.shareDataset(datasetId);
    await expectText(url, "compared questions");
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("the link under `View results` of an evaluation opens the comparison of its experiments", async () => {
    const dataset = await langsmith.getDatasetUrl({ datasetId });
    for (const selected of [experiments.slice(0, 1), experiments]) {
      await page.goto(
        toServerUrl(server, `${dataset}/compare?selectedSessions=${selected.join(",")}`),
      );
      for (const name of ["before the change", "after the change"].slice(0, selected.length)) {
        await page.getByText(name).first().waitFor();
      }
    }
    expect(watched.faults).toEqual([]);
  }, 40_000);

  test("the links of our client open: project, run, dataset, shares, prompts", async () => {
    await expectText(await client.projects.url({ projectName: "printed links" }), "outer question");
    await expectText(await client.datasets.url({ datasetId }), "compared questions");
    await expectText(await client.prompts.url("greeting"), "greeting");

    await expectText(await client.runs.url(runId), "the answer inside");
    expect(watched.faults).toEqual([]);
  }, 60_000);
});
