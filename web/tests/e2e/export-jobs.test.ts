import { readFileSync } from "node:fs";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client } from "millrace";
import type { Download, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { startFaultyProxy } from "../support/faulty-proxy.ts";
import type { FaultyProxy } from "../support/faulty-proxy.ts";
import { showScreen } from "../support/screenshots.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();
const runCount = 300;
/** The file is larger than the buffers between server and browser. */
const largeText = "x".repeat(100_000);

describe.skipIf(browser === undefined)("exports as jobs, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let proxy: FaultyProxy;
  let watched: WatchedPage;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    server = await startServer({ port: 0, dataDir: ":memory:" });
    client = new Client({ endpoint: server.url, projectName: "exported" });
    proxy = await startFaultyProxy(server.url);
    watched = await WatchedPage.open(browser!, proxy.url);
    ({ page } = watched);
    for (let index = 0; index < runCount; index += 1) {
      client.startRun({ name: "large", inputs: { index, largeText } }).end({});
      if (index % 50 === 49) {
        // Flush in between: the queue of a client is limited in bytes.
        await client.flush();
      }
    }
    const { id, tenantId } = await client.projects.read({ projectName: "exported" });
    address = `${proxy.url}/o/${tenantId}/projects/p/${id}`;
  }, 120_000);

  beforeEach(async () => {
    watched.faults.length = 0;
    await page.goto(address);
    await page
      .getByRole("link", { name: "large", exact: true })
      .first()
      .waitFor({ timeout: 60_000 });
  }, 90_000);

  afterAll(async () => {
    await client?.close();
    await browser?.close();
    await proxy?.close();
    await server?.close();
  });

  const title = "Export 300 runs as JSON Lines";
  const notice = (text: string) => page.locator(".job-notices").getByText(text);

  async function startExport(): Promise<Download> {
    const bar = page.locator("footer.selection-bar");
    const started = page.waitForEvent("download");
    await bar.getByRole("button", { name: "Export all matches" }).click();
    await bar.getByRole("menuitem", { name: "JSON Lines" }).click();
    return started;
  }

  test("all matching runs are exported as a job, which the menu and the page of jobs show", async () => {
    const download = await startExport();
    await notice("Exported 300 runs.").waitFor({ timeout: 30_000 });
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n");
    expect(lines).toHaveLength(runCount);
    await page.getByRole("button", { name: "Jobs", exact: true }).click();
    const menu = page.getByRole("dialog", { name: "Jobs" });
    await menu.getByText(title).waitFor();
    await menu.getByRole("link", { name: "All jobs" }).click();
    const job = page.locator("main .job").first();
    await job.getByText(title).waitFor();
    expect(await job.textContent()).toContain("300 of 300");
    expect(await job.getByRole("button").count()).toBe(0);
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("a running export shows its progress, and canceling it fails the download", async () => {
    proxy.downloadPauseMs = 100;
    const download = await startExport();
    await page.getByRole("button", { name: "1 running" }).click();
    // The menu shows the latest job first, but at the start still the list without it: the job of the test before.
    const job = page.locator(".job-menu .job").first();
    await job.getByText(/^(?!300)[1-9]\d* of 300/).waitFor({ timeout: 30_000 });
    await job.getByText(title).waitFor();
    await job.getByRole("progressbar", { name: `Progress of ${title}` }).waitFor();
    await showScreen(page, "export-running");
    expect(await findFaults(page)).toEqual([]);
    await job.getByRole("button", { name: `Cancel ${title}` }).click();
    proxy.downloadPauseMs = 0;
    await notice("Canceled").waitFor();
    expect(await download.failure()).not.toBeNull();
    await job.getByText("Canceled").waitFor();
    const [, done] = /(\d+) of 300/.exec((await job.textContent()) ?? "") ?? [];
    expect(Number(done)).toBeLessThan(runCount);
    expect(await job.getByRole("button").count()).toBe(0);
    expect(watched.faults).toEqual([]);
  }, 60_000);
});
