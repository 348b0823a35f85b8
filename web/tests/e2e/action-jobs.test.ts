import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";
import { recordForest } from "../support/trace-recordings.ts";

const browser = await startBrowser();
/** So many that a job takes seconds. */
const runCount = 20_000;

describe.skipIf(browser === undefined)("jobs on tens of thousands of runs, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "forest");
    ({ page } = opened);
    await recordForest(opened.client, runCount);
    address = await opened.projectAddress();
  }, 240_000);

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  async function countTagged(): Promise<number> {
    const response = await fetch(`${opened.server.url}/runs/stats`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ session: [address.split("/").at(-1)], filter: 'has(tags, "later")' }),
    });
    const { run_count: count } = (await response.json()) as { readonly run_count: number };
    return count;
  }

  test("a running job shows its progress; canceled, it leaves the other runs as they were", async () => {
    await page.goto(`${address}?all=true`);
    const bar = page.locator("footer.selection-bar");
    await bar.getByRole("button", { name: "Select all 20,000 that match" }).click();
    await bar.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Change tags" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Tag", { exact: true }).fill("later");
    await dialog.getByRole("button", { name: "Add tag to 20,000 runs" }).click();
    await page.getByRole("button", { name: "1 running" }).click();
    const job = page.locator(".job-menu .job").first();
    await job.getByText(/^[1-9][\d,]* of 20,000/).waitFor({ timeout: 90_000 });
    await job.getByRole("progressbar").waitFor();
    await showScreen(page, "tag-job-running");
    await job.getByRole("button", { name: /^Cancel / }).click();
    await job.getByText("Canceled").waitFor();
    expect(await findFaults(page)).toEqual([]);
    const [, done = ""] = /([\d,]+) of 20,000/.exec((await job.textContent()) ?? "") ?? [];
    const doneCount = Number(done.replaceAll(",", ""));
    expect(doneCount).toBeGreaterThan(0);
    expect(doneCount).toBeLessThan(runCount);
    expect(await countTagged()).toBe(doneCount);
    expect(opened.faults).toEqual([]);
  }, 240_000);
});
