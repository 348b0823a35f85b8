import type { RunningServer } from "@millrace/server";
import { readFileSync } from "node:fs";
import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { questionRuns } from "../support/question-runs.ts";
import { recordAnswer } from "../support/recordings.ts";

const browser = await startBrowser();
const project = "support desk";

describe.skipIf(browser === undefined)("the runs of a project, in Chromium", () => {
  let opened: OpenedPage;
  let server: RunningServer;
  let client: Client;
  let page: Page;
  let address: string;
  let faults: string[];

  beforeAll(async () => {
    opened = await openPage(browser!, project);
    ({ server, client, page, faults } = opened);
    await record();
    address = await opened.projectAddress();
  }, 60_000);

  beforeEach(() => {
    faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(server.url + path, {
      method: body === undefined ? "GET" : "POST",
      body: body === undefined ? null : JSON.stringify(body),
    });
    return response.json();
  };

  /** Records traces with the SDK, and over REST traces with fixed times and feedback. */
  async function record(): Promise<void> {
    const answered = await recordAnswer(client);
    await recordAnswer(client, "fail");
    await call("/feedback", { run_id: answered, key: "helpful", score: 0.9 });
    const post = questionRuns(project);
    await call("/runs/batch", { post });
  }

  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  const rowCount = async (): Promise<number> => page.locator("tbody tr").count();
  const filter = () => page.getByRole("combobox", { name: "Filter" });
  const shot = (name: string) => page.screenshot({ path: `${screenshots}/runs-${name}.png` });

  test("the list shows traces, newest first, with a histogram; in both themes, wide and narrow", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "ask", exact: true }).first().waitFor();
    await page.locator(".chart canvas").waitFor();
    await shot("light-1280");
    expect(await findFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    await shot("dark-1280");
    expect(await findFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await row("ask").first().waitFor();
    await shot("dark-390");
    await page.emulateMedia({ colorScheme: "light" });
    await shot("light-390");
    expect(await findFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(faults).toEqual([]);
  }, 60_000);

  test("new traces appear at the top; while the list is scrolled, they are only counted", async () => {
    await page.goto(address);
    await page.getByText("Live", { exact: true }).waitFor();
    client.startRun({ name: "came in live" }).end();
    await client.flush();
    await row("came in live").waitFor();
    // A row that has just arrived fades in; one that was there before does not.
    const readMotion = async (name: string) =>
      row(name)
        .first()
        .evaluate((element) => getComputedStyle(element).animationName);
    expect(await readMotion("came in live")).toBe("row-arrives");
    expect(await readMotion("Question 239")).toBe("none");
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await readMotion("came in live")).toBe("none");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.locator(".data-table").hover();
    await page.mouse.wheel(0, 900);
    await page.getByText("Paused", { exact: true }).waitFor();
    const before = await page.locator("tbody tr").allTextContents();
    client.startRun({ name: "came in later" }).end();
    await client.flush();
    await page.getByRole("button", { name: "1 new" }).waitFor();
    expect(await page.locator("tbody tr").allTextContents()).toEqual(before);
    await page.getByRole("button", { name: "1 new" }).click();
    await row("came in later").waitFor();
    expect(faults).toEqual([]);
  }, 40_000);

  test("the filter suggests values of runs, marks errors, and is stored in the URL", async () => {
    await page.goto(address);
    await filter().fill('eq(nam, "x")');
    await page.getByRole("alert").getByText("did you mean `name`?").waitFor();
    await shot("fault");
    await filter().fill("eq(metadata.us");
    await page.getByRole("option", { name: "user", exact: true }).waitFor();
    await shot("completion");
    await filter().press("ArrowDown");
    await filter().press("Enter");
    await page.getByRole("option", { name: "user-3" }).click();
    expect(await filter().inputValue()).toBe('eq(metadata.user, "user-3")');
    await filter().press("Enter");
    // The server checks a typed filter before it is applied.
    await expect.poll(() => new URL(page.url()).searchParams.get("filter")).toContain("user-3");
    await row("Question 233").waitFor();
    await expect.poll(rowCount).toBeLessThan(60);
    await page.getByRole("button", { name: "Filter by status" }).click();
    await page.getByRole("menuitemradio", { name: "Error" }).click();
    await expect.poll(rowCount).toBe(4);
    expect(new URL(page.url()).searchParams.get("filter")).toContain("status");
    await page.reload();
    await page.getByRole("button", { name: "Remove status = error" }).click();
    await expect.poll(rowCount).toBeGreaterThan(10);
    expect(faults.filter((fault) => !fault.includes("422"))).toEqual([]);
  }, 40_000);

  test("full-text search, the switch between traces and all runs, and sorting by latency work", async () => {
    await page.goto(address);
    await filter().fill('"my order 117"');
    await filter().press("Enter");
    await row("Question 117").waitFor();
    await expect.poll(rowCount).toBe(1);
    await page.getByRole("button", { name: 'Remove "my order 117"' }).click();
    await page.getByRole("button", { name: "All runs" }).click();
    await row("assemble-prompt").first().waitFor();
    await page.getByRole("button", { name: "Traces", exact: true }).click();
    await page.getByRole("button", { name: "Latency", exact: true }).click();
    await expect
      .poll(async () => page.locator("tbody tr").first().textContent())
      .toContain("Question 239");
    expect(new URL(page.url()).searchParams.get("sort")).toBe("latency-desc");
    expect(faults).toEqual([]);
  }, 40_000);

  test("dragging across the histogram selects the time range", async () => {
    await page.goto(address);
    const plot = page.locator(".chart .u-over");
    await plot.waitFor();
    const box = await plot.boundingBox();
    await page.mouse.move(box!.x + box!.width * 0.25, box!.y + 20);
    await page.mouse.down();
    await page.mouse.move(box!.x + box!.width * 0.5, box!.y + 20, { steps: 6 });
    await page.mouse.up();
    await expect.poll(() => new URL(page.url()).searchParams.get("from")).not.toBeNull();
    await row("Question").first().waitFor();
    await expect.poll(() => row("ask").count()).toBe(0);
    await page.getByRole("button", { name: "All time" }).click();
    await row("ask").first().waitFor();
    expect(faults).toEqual([]);
  }, 40_000);

  test("two runs can be compared with the keyboard and by their URL", async () => {
    await page.goto(`${address}?filter=${encodeURIComponent('eq(run_type, "llm")')}`);
    await row("Question 237").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("2 selected").waitFor();
    await page.getByRole("button", { name: "Compare runs" }).click();
    await page.getByRole("heading", { name: "Compare runs" }).waitFor();
    await page.getByText("order 237", { exact: false }).first().waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Compare runs" }).waitFor();
    await page.getByText("order 234", { exact: false }).first().waitFor();
    await shot("compare");
    await page.getByRole("button", { name: "Back to the run list" }).click();
    await page.getByText("2 selected").waitFor();
    expect(faults).toEqual([]);
  }, 40_000);

  test("a comparison begins with the differences of latency, tokens and cost, then those of the texts", async () => {
    const startTime = Date.now() - 5_000;
    const ids = [1_000, 3_000].map((tokens) => {
      const root = client.startRun({
        name: "compared",
        projectName: "compared runs",
        inputs: { tokens },
        startTime,
      });
      const usage_metadata = { input_tokens: tokens, output_tokens: 0, total_tokens: tokens };
      root
        .startChild({
          name: "model",
          runType: "llm",
          metadata: { ls_model_name: "gpt-4o" },
          startTime,
        })
        .end({ usage_metadata }, { endTime: startTime + tokens });
      if (tokens === 1_000) {
        root.end({ answer: "short" }, { endTime: startTime + tokens });
      } else {
        root.fail(new Error("outer", { cause: new TypeError("inner") }), undefined, {
          endTime: startTime + tokens,
        });
      }
      return root.id;
    });
    await client.flush();
    const selected = encodeURIComponent(JSON.stringify(ids));
    const [found] = (await call("/sessions?name=compared%20runs")) as readonly { id: string }[];
    const list = address.replace(/[^/]+$/, found?.id ?? "");
    await page.goto(`${list}?selected=${selected}&compare=true`);
    await page.locator(".compare-facts-table").waitFor();
    const cells = (label: string) =>
      page
        .locator(".compare-facts-table tr")
        .filter({ has: page.getByRole("rowheader", { name: label, exact: true }) })
        .locator("td")
        .allInnerTexts();
    await expect.poll(() => cells("Latency")).toEqual(["1.00 s", "3.00 s", "+2.00 s (+200 %)"]);
    await expect.poll(() => cells("Tokens")).toEqual(["1,000", "3,000", "+2,000 (+200 %)"]);
    expect(await cells("Cost")).toEqual(["$0.0025", "$0.0075", "+$0.005 (+200 %)"]);
    await page.locator(".cm-deletedChunk").first().waitFor();
    const diff = await page.locator(".compare-body .text-diff").first().boundingBox();
    const copies = await page.locator(".compare-pair").boundingBox();
    expect(diff!.y).toBeLessThan(copies!.y);
    await page.locator(".compare-pair").getByText("Caused by").waitFor();
    expect(await page.locator(".compare-pair details").count()).toBeGreaterThan(0);
    expect(await findFaults(page)).toEqual([]);
    await shot("compare-facts");
    expect(faults).toEqual([]);
  }, 40_000);

  test("a comparison shows the stacks of two errors line by line", async () => {
    const ids = ["first", "second"].map((name) => {
      const run = client.startRun({ name: "failed", projectName: "compared errors" });
      const error = new TypeError(`the ${name} reason`);
      error.stack = `TypeError: the ${name} reason\n    at parse (file:///app/parse.js:3:1)\n    at main (file:///app/main.js:9:1)`;
      run.fail(error);
      return run.id;
    });
    await client.flush();
    const [found] = (await call("/sessions?name=compared%20errors")) as readonly { id: string }[];
    const selected = encodeURIComponent(JSON.stringify(ids));
    await page.goto(
      `${address.replace(/[^/]+$/, found?.id ?? "")}?selected=${selected}&compare=true`,
    );
    const diff = page.locator(".text-diff", { has: page.getByText("Error", { exact: true }) });
    await diff.locator(".cm-deletedChunk").first().waitFor();
    await diff.getByRole("button", { name: "Show unchanged lines" }).click();
    const lines = await diff.locator(".cm-line").allInnerTexts();
    expect(lines.map((line) => line.trim())).toEqual([
      "TypeError: the second reason",
      "at parse (file:///app/parse.js:3:1)",
      "at main (file:///app/main.js:9:1)",
    ]);
    expect(await diff.locator(".cm-deletedChunk").innerText()).toContain("the first reason");
    expect(faults).toEqual([]);
  }, 40_000);

  test("selected runs can be added to a dataset and to a queue", async () => {
    await page.goto(`${address}?filter=${encodeURIComponent('eq(name, "Refund request")')}`);
    await row("Refund request").first().waitFor();
    await page.getByRole("checkbox", { name: "Select row 1", exact: true }).click();
    await page
      .getByRole("checkbox", { name: "Select row 3", exact: true })
      .click({ modifiers: ["Shift"] });
    await page.getByRole("button", { name: "Add to dataset" }).click();
    await page
      .getByRole("textbox", { name: "Search for a dataset or enter a new name" })
      .fill("refunds");
    await page.getByRole("button", { name: "Create and add 3" }).click();
    await page.getByText("3 runs added to").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    const [dataset] = (await call("/datasets?name=refunds")) as readonly { id: string }[];
    const examples = (await call(`/examples?dataset=${dataset?.id}`)) as readonly {
      inputs: { question: string };
      outputs: { answer: string };
    }[];
    expect(examples.map(({ inputs }) => inputs.question).toSorted()).toHaveLength(3);
    expect(examples.every(({ outputs }) => outputs.answer.startsWith("It is on"))).toBe(true);
    await page.getByRole("button", { name: "Add to annotation queue" }).click();
    await page
      .getByRole("textbox", { name: "Search for a queue or enter a new name" })
      .fill("check");
    await page.getByRole("button", { name: "Create and add 3" }).click();
    await page.getByText("3 runs added to").waitFor();
    await shot("added");
    const [queue] = (await call("/annotation-queues?name=check")) as readonly { id: string }[];
    expect(await call(`/annotation-queues/${queue?.id}/size`)).toMatchObject({ size: 3 });
    expect(faults).toEqual([]);
  }, 40_000);

  test("all matching runs, or the selected ones, can be exported to a file", async () => {
    await page.goto(`${address}?filter=${encodeURIComponent('eq(status, "error")')}`);
    await row("TimeoutError").first().waitFor();
    const save = async (button: string, form: string): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page
          .getByRole("button", { name: button })
          .click()
          .then(() => page.getByRole("menuitem", { name: form }).click()),
      ]);
      return readFileSync(await download.path(), "utf8");
    };
    const lines = (await save("Export all matches", "JSON Lines")).trim().split("\n");
    expect(lines).toHaveLength(23);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ status: "error" });
    await page.getByRole("checkbox", { name: "Select row 2", exact: true }).click();
    const table = await save("Export selected", "CSV");
    expect(table.trim().split("\r\n")).toHaveLength(2);
    expect(table).toContain("TimeoutError");
    expect(faults).toEqual([]);
  }, 40_000);

  test("a project can be renamed, and deleted after typing its name", async () => {
    await call("/sessions", { name: "short-lived" });
    const [found] = (await call("/sessions?name=short-lived")) as readonly { id: string }[];
    await page.goto(address.replace(/[^/]+$/, found?.id ?? ""));
    await page.getByText("No traces yet").waitFor();
    await page.getByRole("button", { name: "Project actions" }).click();
    await page.getByRole("menuitem", { name: "Edit project" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("renamed");
    await page.getByRole("textbox", { name: "Description" }).fill("what it is for");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "renamed" }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText("what it is for").waitFor();
    await page.getByRole("button", { name: "Project actions" }).click();
    await page.getByRole("menuitem", { name: "Delete project" }).click();
    await page.getByRole("textbox", { name: /Type renamed/ }).fill("renamed");
    await page.getByRole("button", { name: "Delete project and runs" }).click();
    await expect.poll(async () => call("/sessions?name=renamed")).toEqual([]);
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  }, 40_000);
});
