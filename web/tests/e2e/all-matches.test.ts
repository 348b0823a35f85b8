import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { press } from "../support/key-effects.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const failed = 'eq(status, "error")';
/** More than one page of the list loads. */
const failedCount = 250;

describe.skipIf(browser === undefined)("actions on all runs that match, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "support");
    ({ client, page } = opened);
    for (let index = 0; index < failedCount; index += 1) {
      client.startRun({ name: "bad", inputs: { index } }).fail(new Error("no"));
      client.startRun({ name: "good", inputs: { index } }).end({ answer: "yes" });
    }
    await client.flush();
    address = await opened.projectAddress();
  }, 60_000);

  beforeEach(async () => {
    opened.faults.length = 0;
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const bar = () => page.locator("footer.selection-bar");
  const dialog = () => page.getByRole("dialog");
  const notice = (text: string) => page.locator(".job-notices").getByText(text);

  async function selectAllFailed(): Promise<void> {
    await page.goto(`${address}?filter=${encodeURIComponent(failed)}`);
    await bar().getByRole("button", { name: "Select all 250 that match" }).click();
    await bar().getByText("All 250 runs that match are selected").waitFor();
  }

  const countRuns = async (filter: string): Promise<number> =>
    (await client.runs.list({ projectNames: ["support"], filter }).toArray()).length;

  test("when all that match are selected, all rows are marked; unmarking one selects the others that are shown", async () => {
    await selectAllFailed();
    const marks = () => page.locator(".data-rows > .data-row input[type=checkbox]");
    // The number of matches can arrive before the rows.
    await marks().nth(5).waitFor();
    const shown = await marks().count();
    await expect
      .poll(() => page.locator(".data-rows > .data-row input:checked").count())
      .toBe(shown);
    await marks().nth(1).click();
    await bar()
      .getByText(/^\d+ selected$/)
      .waitFor();
    await expect
      .poll(() => page.locator(".data-rows > .data-row input:checked").count())
      .toBe(shown - 1);
    await bar().getByRole("button", { name: "Clear selection" }).click();
    await bar().getByText("No runs selected").waitFor();
  });

  test("a tag is added to all that match, also to those that are not loaded, and to no others", async () => {
    await selectAllFailed();
    await bar().getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Change tags" }).click();
    await dialog().getByText("Runs that begin later are not included").waitFor();
    await dialog().getByLabel("Tag", { exact: true }).fill("to-check");
    await showScreen(page, "all-matches-tag");
    expect(await findFaults(page)).toEqual([]);
    await dialog().getByRole("button", { name: "Add tag to 250 runs" }).click();
    await notice("Changed 250 runs.").waitFor();
    await showScreen(page, "all-matches-notice");
    expect(await countRuns('has(tags, "to-check")')).toBe(failedCount);
    expect(await countRuns(`and(has(tags, "to-check"), ${failed})`)).toBe(failedCount);
    expect(opened.faults).toEqual([]);
  });

  test("all that match become examples of a new dataset, to which the job leads", async () => {
    await selectAllFailed();
    await bar().getByRole("button", { name: "Add to dataset" }).click();
    await dialog().getByLabel("Search for a dataset or enter a new name").fill("bad answers");
    await dialog().getByRole("button", { name: "Create and add 250 runs" }).click();
    await dialog().getByText("250 runs are being added to bad answers.").waitFor();
    await dialog().getByRole("button", { name: "Close" }).click();
    await notice("Added 250 examples.").waitFor();
    const { exampleCount } = await client.datasets.read({ datasetName: "bad answers" });
    expect(exampleCount).toBe(failedCount);
    await page.getByRole("button", { name: "Jobs", exact: true }).click();
    const menu = page.getByRole("dialog", { name: "Jobs" });
    await menu.getByText("Add 250 runs to the dataset “bad answers”").waitFor();
    await showScreen(page, "jobs-menu");
    expect(await findFaults(page)).toEqual([]);
    await menu.getByRole("link", { name: "Open dataset" }).click();
    await page.getByRole("heading", { name: "bad answers" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("all that match are added to a new annotation queue, to which the job leads", async () => {
    await selectAllFailed();
    await bar().getByRole("button", { name: "Add to annotation queue" }).click();
    await dialog().getByLabel("Search for a queue or enter a new name").fill("failures");
    await dialog().getByRole("button", { name: "Create and add 250 runs" }).click();
    await dialog().getByText("250 runs are being added to failures.").waitFor();
    await dialog().getByRole("button", { name: "Close" }).click();
    await notice("250 runs are in the queue.").waitFor();
    const [queue] = await client.annotationQueues.list({ name: "failures" }).toArray();
    const queued = await client.annotationQueues.listRuns(queue!.id).toArray();
    expect(queued).toHaveLength(failedCount);
    expect(queued.every(({ run }) => run.name === "bad")).toBe(true);
    await page.getByRole("button", { name: "Jobs", exact: true }).click();
    const menu = page.getByRole("dialog", { name: "Jobs" });
    await menu.getByText("Add 250 runs to the queue “failures”").waitFor();
    await menu.getByRole("link", { name: "View queue" }).click();
    await page.getByRole("heading", { name: "failures" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("feedback is given to all that match, in the name of the person", async () => {
    await page.evaluate(() => localStorage.setItem("millrace-reviewer", '"Ann"'));
    await selectAllFailed();
    await bar().getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Add feedback" }).click();
    await dialog().getByLabel("Key").fill("triaged");
    await dialog().getByLabel("Score").fill("1");
    await dialog().getByRole("button", { name: "Add to 250 runs" }).click();
    await notice("Added feedback “triaged”.").waitFor();
    expect(await countRuns('eq(feedback_key, "triaged")')).toBe(failedCount);
    const [given] = await client.feedback.list({ keys: ["triaged"], limit: 1 }).toArray();
    expect(given?.source).toMatchObject({ type: "app", metadata: { reviewer: "Ann" } });
    expect(opened.faults).toEqual([]);
  });

  test("deletion asks for a word, deletes what matches, and leaves the rest", async () => {
    await selectAllFailed();
    await bar().getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    const confirm = dialog().getByRole("button", { name: "Delete 250 runs" });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog().getByLabel("Type delete to confirm").fill("delete");
    await showScreen(page, "all-matches-delete");
    await confirm.click();
    await notice("Deleted 250 runs").waitFor();
    await page.getByText("No matching traces").waitFor();
    expect(await countRuns(failed)).toBe(0);
    expect(await countRuns('eq(name, "good")')).toBe(failedCount);
    expect(opened.faults).toEqual([]);
  });

  test.each([
    ["light", 1_440],
    ["dark", 1_024],
    ["dark", 390],
  ] as const)("the page of jobs in the %s scheme, %i pixels wide", async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.goto(address);
    await page.getByRole("link", { name: "good", exact: true }).first().waitFor();
    await press(page, "g", "j");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    const jobs = page.locator("main .job");
    await expect.poll(async () => jobs.count()).toBe(5);
    expect(await jobs.first().textContent()).toContain("Delete 250 runs");
    expect(await jobs.first().textContent()).toContain("250 of 250");
    await showScreen(page, `jobs-${colorScheme}-${width}`);
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });
});
