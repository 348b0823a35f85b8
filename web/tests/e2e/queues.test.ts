import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync } from "node:fs";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { recordAnswer } from "../support/recordings.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();
const screenshots = "temp/web";

describe.skipIf(browser === undefined)("annotation queues, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let tenantId: string;
  /** Two reviewers. The second uses another host name of the server, so that their localStorage is separate. */
  let ann: Page;
  let bob: Page;
  let bobUrl: string;
  let watched: WatchedPage;

  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    server = await startServer({ port: 0, dataDir: ":memory:" });
    bobUrl = server.url.replace("127.0.0.1", "localhost");
    client = new Client({ endpoint: server.url, projectName: "ask-the-docs" });
    tenantId = (await client.tenant.settings()).id;
    watched = await WatchedPage.open(browser!, server.url);
    ann = watched.page;
    bob = (await WatchedPage.open(browser!, bobUrl)).page;
  }, 60_000);

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
  });

  /** Creates a queue with `count` runs and three questions. */
  async function createQueue(name: string, count: number, fields: object = {}): Promise<string> {
    const dataset = await client.datasets.create({ name: `${name} corrected` });
    const response = await fetch(`${server.url}/annotation-queues`, {
      method: "POST",
      body: JSON.stringify({
        name,
        description: "Answers that users doubted.",
        rubric_instructions:
          "Compare the answer with **the documents**.\n\n- Is it right?\n- Is it short?",
        rubric_items: [
          {
            // Without a configuration and without is_assertion: a question with yes and no.
            feedback_key: "correct",
            is_required: true,
            description: "Is the answer right?",
          },
          {
            feedback_key: "style",
            score_descriptions: { "0": "hard to read", "1": "fair", "2": "a pleasure" },
          },
          { feedback_key: "helpful", feedback_config: { type: "continuous", min: 0, max: 1 } },
        ],
        default_dataset: dataset.id,
        reservation_minutes: 5,
        ...fields,
      }),
    });
    const { id } = (await response.json()) as { readonly id: string };
    const runIds: string[] = [];
    for (let index = 0; index < count; index += 1) {
      runIds.push(await recordAnswer(client, index === 1 ? "fail" : "answer"));
    }
    await client.annotationQueues.addRuns(id, { runIds });
    return id;
  }

  const addressOf = (id: string, base = server.url): string =>
    `${base}/o/${tenantId}/annotation-queues/${id}`;

  /** Waits until the shown run can be reviewed: the page ignores the keys while it loads a run or saves a review. */
  const waitUntilReady = (page: Page): Promise<void> =>
    page.locator("button:not(:disabled):not([data-loading])", { hasText: "Done" }).waitFor();

  async function beginAs(page: Page, name: string, address: string): Promise<void> {
    await page.goto(address);
    // The field has the focus: no Tab is needed to reach it.
    await page.waitForFunction(() => document.activeElement?.matches("input") === true);
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Done d" }).waitFor();
  }
  /** Opens a URL as Ann, whose name is already stored in the browser. */
  async function openAsAnn(address: string): Promise<void> {
    await ann.goto(`${server.url}/favicon.svg`);
    await ann.evaluate(() => localStorage.setItem("millrace-reviewer", '"Ann"'));
    await ann.goto(address);
  }
  const runOf = (page: Page): string | null => new URL(page.url()).searchParams.get("run");
  const statusOf = (page: Page): Promise<string> =>
    page.locator(".queues-progress-text").innerText();

  test("two reviewers review a queue with the keyboard and never get the same run; their answers become feedback", async () => {
    const id = await createQueue("doubtful answers", 4);
    await beginAs(ann, "Ann", addressOf(id));
    await beginAs(bob, "Bob", addressOf(id, bobUrl));
    expect(runOf(ann)).not.toBe(runOf(bob));
    await bob.goto(`${addressOf(id, bobUrl)}?run=${runOf(ann)}`);
    await bob.getByText("The run is under review by Ann").waitFor();
    await bob.getByRole("button", { name: "Next run" }).click();
    await bob.getByRole("button", { name: "Done d" }).waitFor();
    const runIds: string[] = [];
    for (const page of [ann, bob, ann, bob]) {
      const before = runOf(page);
      await page.getByText("Is the answer right?").waitFor();
      await page.keyboard.press("1");
      await page.keyboard.press("3");
      await page.keyboard.press("8");
      await page.keyboard.press("d");
      await page.waitForFunction((runId) => !location.search.includes(String(runId)), before);
      runIds.push(before ?? "");
      await page.getByRole("button", { name: "Done d" }).or(page.locator(".state-title")).waitFor();
    }
    expect(new Set(runIds).size).toBe(4);
    await ann.getByText("All runs are reviewed").waitFor();
    await ann.getByText("4 of 4 reviewed · 2 by you").waitFor();
    const { run } = await client.annotationQueues.readRun(id, { index: 0 });
    const feedback = await client.feedback.list({ runIds: [run.id] }).toArray();
    expect(new Map(feedback.map(({ key, score }) => [key, score]))).toEqual(
      new Map([
        ["correct", 1],
        ["style", 2],
        ["helpful", 0.8],
      ]),
    );
    expect(feedback[0]?.source).toMatchObject({
      type: "app",
      metadata: { annotation_queue_id: id },
    });
    expect(watched.faults).toEqual([]);
  }, 90_000);

  test("a reload keeps the run and the entered answers; undo reopens the last run", async () => {
    const id = await createQueue("kept", 3);
    await openAsAnn(addressOf(id));
    await waitUntilReady(ann);
    const runId = runOf(ann);
    await ann.keyboard.press("2");
    await ann.keyboard.press("c");
    await ann.keyboard.type("half a thou");
    await ann.reload();
    await waitUntilReady(ann);
    expect(runOf(ann)).toBe(runId);
    expect(await ann.getByLabel("Note").inputValue()).toBe("half a thou");
    await ann.getByRole("button", { name: "No", pressed: true }).waitFor();
    await ann.getByLabel("Note").press("Control+Enter");
    await ann.waitForFunction((before) => !location.search.includes(String(before)), runId);
    await ann.getByText("1 of 3 reviewed").waitFor();
    await waitUntilReady(ann);
    expect(await ann.getByLabel("Note").inputValue()).toBe("");
    await ann.keyboard.press("u");
    await ann.waitForFunction((before) => location.search.includes(String(before)), runId);
    await ann.getByRole("button", { name: "No", pressed: true }).waitFor();
    expect(await ann.getByLabel("Note").inputValue()).toBe("half a thou");
    expect(await statusOf(ann)).toContain("0 of 3 reviewed");
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("skipped runs come back last, j and k move between runs, and required questions are marked", async () => {
    const id = await createQueue("skipping", 3);
    await openAsAnn(addressOf(id));
    await waitUntilReady(ann);
    const press = async (key: string): Promise<string | null> => {
      const before = runOf(ann);
      await ann.keyboard.press(key);
      await ann.waitForFunction((runId) => !location.search.includes(String(runId)), before);
      await waitUntilReady(ann);
      return runOf(ann);
    };
    const first = runOf(ann);
    const second = await press("s");
    const third = await press("j");
    expect(await press("k")).toBe(second);
    expect(new Set([first, second, third]).size).toBe(3);
    await ann.keyboard.press("d");
    await ann.getByText("Answer the required questions: correct.").waitFor();
    for (const runId of [second, third]) {
      expect(runOf(ann)).toBe(runId);
      await ann.keyboard.press("1");
      await press("d");
    }
    expect(runOf(ann)).toBe(first);
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("corrected outputs become feedback and an example", async () => {
    const id = await createQueue("corrections", 1);
    await openAsAnn(addressOf(id));
    await waitUntilReady(ann);
    await ann.keyboard.press("1");
    const editor = ann.getByRole("textbox", { name: "Corrected outputs" });
    const waitForFocus = () =>
      expect.poll(() => editor.evaluate((element) => element.matches(":focus"))).toBe(true);
    await ann.getByRole("button", { name: "Add correction" }).click();
    await waitForFocus();
    await ann.getByRole("button", { name: "Discard correction" }).click();
    await editor.waitFor({ state: "detached" });
    await ann.keyboard.press("e");
    await waitForFocus();
    await ann.keyboard.press("Control+A");
    // These keys would be shortcuts outside the editor.
    await ann.keyboard.type("sound");
    expect(await editor.textContent()).toBe("sound");
    await ann.getByLabel("Note").focus();
    await ann.getByRole("heading", { level: 2 }).click();
    await ann.keyboard.press("e");
    await waitForFocus();
    await ann.keyboard.press("Control+A");
    await ann.keyboard.insertText('{"answer": "timeoutMs: 12,000"}');
    await ann.getByRole("button", { name: "Add to dataset" }).click();
    await ann.getByRole("button", { name: "In dataset" }).waitFor();
    await ann.screenshot({ path: `${screenshots}/queues-correction.png` });
    await editor.press("Control+Enter");
    await ann.getByText("All runs are reviewed").waitFor();
    const { run } = await client.annotationQueues.readRun(id);
    const outputs = { answer: "timeoutMs: 12,000" };
    const [example] = await client.examples
      .list({ datasetName: "corrections corrected" })
      .toArray();
    expect(example).toMatchObject({ outputs, sourceRunId: run.id });
    const [correction] = await client.feedback
      .list({ runIds: [run.id], keys: ["correction"] })
      .toArray();
    expect(correction?.correction).toEqual(outputs);
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("a queue can be created, edited, filled, emptied and deleted in the UI", async () => {
    await openAsAnn(`${server.url}/o/${tenantId}/annotation-queues`);
    await ann.getByRole("button", { name: "New queue" }).click();
    const dialog = ann.getByRole("dialog");
    await dialog.getByLabel("Name").fill("from the page");
    await dialog.getByLabel("Answer type").selectOption("categorical");
    await dialog.getByLabel("Question", { exact: true }).fill("How good is it?");
    await ann.screenshot({ path: `${screenshots}/queues-form.png` });
    await dialog.getByRole("button", { name: "Create queue" }).click();
    await ann.getByRole("heading", { name: "from the page" }).waitFor();
    await ann.getByText("No runs in this queue yet").waitFor();
    await ann.getByRole("link", { name: "Runs" }).click();
    const runId = await recordAnswer(client);
    await ann.getByRole("button", { name: "Add runs" }).click();
    await dialog.getByLabel("Run IDs or URLs").fill(`see ${runId}, please`);
    await dialog.getByRole("button", { name: "Add 1 run" }).click();
    await ann.getByRole("link", { name: "ask" }).waitFor();
    await ann.screenshot({ path: `${screenshots}/queues-runs.png` });
    await ann.getByRole("link", { name: "Review" }).click();
    await ann.getByRole("button", { name: "good" }).waitFor();
    await ann.getByRole("link", { name: "Runs" }).click();
    await ann.getByRole("row").nth(1).getByRole("checkbox").check();
    await ann.getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("button", { name: "Remove 1 run" }).click();
    await ann.getByText("No runs in this queue yet").waitFor();
    await ann.getByRole("button", { name: "Queue actions" }).click();
    await ann.getByRole("menuitem", { name: "Edit queue" }).click();
    await dialog.getByLabel("Name").fill("renamed");
    await dialog.getByRole("button", { name: "Save" }).click();
    await ann.getByRole("heading", { name: "renamed" }).waitFor();
    await ann.getByRole("button", { name: "Queue actions" }).click();
    await ann.getByRole("menuitem", { name: "Delete queue" }).click();
    await dialog.getByRole("button", { name: "Delete queue" }).click();
    await ann.getByRole("heading", { name: "Annotation queues" }).waitFor();
    expect(await ann.getByRole("link", { name: "renamed" }).count()).toBe(0);
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("axe finds no serious violation in the review and the list, in both themes", async () => {
    const id = await createQueue("to look at", 3);
    await openAsAnn(addressOf(id));
    await ann.getByText("Set timeoutMs.").first().waitFor();
    await watched.picture("queues-review");
    expect(await watched.audit()).toEqual([]);
    await ann.emulateMedia({ colorScheme: "dark" });
    expect(await watched.audit()).toEqual([]);
    await openAsAnn(`${server.url}/o/${tenantId}/annotation-queues`);
    await ann.getByRole("link", { name: "to look at" }).waitFor();
    await watched.picture("queues-list");
    expect(await watched.audit()).toEqual([]);
    expect(watched.faults).toEqual([]);
  }, 120_000);
});
