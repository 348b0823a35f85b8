import type { RunningServer } from "@millrace/server";
import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const traceCount = 120;
const hourMs = 3_600_000;

describe.skipIf(browser === undefined)("a list of traces, in Chromium", () => {
  let opened: OpenedPage;
  let server: RunningServer;
  let client: Client;
  let page: Page;
  let faults: string[];
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "support");
    ({ server, client, page, faults } = opened);
    for (let index = 0; index < traceCount; index += 1) {
      recordTrace(index);
    }
    await client.flush();
    address = await opened.projectAddress();
  }, 60_000);

  beforeEach(() => {
    faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  /** Records a trace with two model calls over the last week. Every fifth fails; every tenth is about a refund. */
  function recordTrace(index: number): void {
    const startTime = Date.now() - (index + 0.5) * hourMs * 1.4;
    const question = `${index % 10 === 0 ? "refund" : "order"} ${index}, please`;
    const root = client.startRun({ name: "answer", inputs: { question }, startTime });
    for (const model of ["gpt-4o", "house-model"]) {
      const call = root.startChild({
        name: "call",
        runType: "llm",
        inputs: { messages: [{ role: "user", content: question }] },
        metadata: { ls_model_name: model },
        startTime,
      });
      call.addEvent({ name: "new_token", time: new Date(startTime + 250).toISOString() });
      const usage_metadata = { input_tokens: 1_000, output_tokens: 0, total_tokens: 1_000 };
      call.end({ text: "Done.", usage_metadata }, { endTime: startTime + 900 });
    }
    const endTime = startTime + 1_000 + index * 100;
    if (index % 5 === 0) {
      root.fail(new RangeError("out of stock"), undefined, { endTime });
    } else {
      root.end({ answer: "It is on its way." }, { endTime });
    }
  }

  test("a column is made wider and narrower by keyboard, and keeps its width", async () => {
    await page.setViewportSize({ width: 1_440, height: 900 });
    await page.goto(address);
    await page.getByRole("link", { name: "answer", exact: true }).first().waitFor();
    const measureWidth = async (): Promise<number> =>
      Math.round((await page.locator('th[data-column="model"]').boundingBox())?.width ?? 0);
    const width = await measureWidth();
    await page.getByRole("button", { name: "Columns" }).focus();
    await page.keyboard.press("Enter");
    const menu = page.getByRole("dialog", { name: "Columns" });
    await menu.getByRole("button", { name: "Make Model wider" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await expect.poll(measureWidth).toBe(width + 48);
    await menu.getByRole("button", { name: "Make Model narrower" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(measureWidth).toBe(width + 24);
    await showScreen(page, "run-list-columns");
    expect(await findFaults(page)).toEqual([]);
    await page.reload();
    await page.getByRole("link", { name: "answer", exact: true }).first().waitFor();
    expect(await measureWidth()).toBe(width + 24);
    await page.getByRole("button", { name: "Columns" }).click();
    await menu.getByRole("button", { name: "Reset columns" }).click();
    await expect.poll(measureWidth).toBe(width);
    expect(faults).toEqual([]);
  });

  test("the preview has space, and the table fits, also on a small screen and beside the facets", async () => {
    const facets = page.getByRole("button", { name: "Facets" });
    for (const [width, hasFacets] of [
      [1_024, false],
      [1_440, false],
      [1_440, true],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(address);
      await rows().first().waitFor();
      if (((await facets.getAttribute("aria-expanded")) === "true") !== hasFacets) {
        await facets.click();
      }
      const table = page.locator(".data-table");
      await expect
        .poll(async () => table.evaluate((element) => element.scrollWidth - element.clientWidth))
        .toBeLessThanOrEqual(0);
      const preview = await cellsOf("preview").first().boundingBox();
      expect(preview?.width).toBeGreaterThan(240);
      await showScreen(page, `run-list-${width}${hasFacets ? "-facets" : ""}`);
    }
    await facets.click();
    await page.setViewportSize({ width: 1_280, height: 800 });
    expect(faults).toEqual([]);
  }, 60_000);

  const rows = () => page.locator("tbody tr");
  const cellsOf = (column: string) => page.locator(`tbody td[data-column="${column}"]`);
  const filter = () => page.getByRole("combobox", { name: "Filter" });
  const legend = async (): Promise<string> =>
    (await page.locator(".chart-legend").allTextContents()).join(" ");

  test("a row says what the run was about, which models it called, and what the whole trace used", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(address);
    await rows().first().waitFor();
    await expect
      .poll(async () => (await cellsOf("preview").allTextContents()).slice(0, 2))
      .toEqual([
        "refund 0, please → RangeError: out of stock",
        "order 1, please → It is on its way.",
      ]);
    const cells = async (column: string): Promise<string> => cellsOf(column).nth(1).innerText();
    expect(await cells("model")).toBe("gpt-4o +1");
    expect(await cells("tokens")).toBe("2,000");
    expect(await cells("cost")).toBe("$0.0025");
    expect(await cells("first_token")).toBe("250 ms");
    expect(await page.locator('th[data-column="error"]').count()).toBe(0);
    const start = cellsOf("start").nth(1).locator("time");
    expect(await start.innerText()).toBe("2 h ago");
    expect(await start.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
    expect(await findFaults(page)).toEqual([]);
    await showScreen(page, "run-list-light");
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await findFaults(page)).toEqual([]);
    await showScreen(page, "run-list-dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(faults).toEqual([]);
  }, 40_000);

  test("the cost and the status of a trace are shown whole on a small screen", async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    const startTime = Date.now() - 1_000;
    for (const total_cost of [0.000045, 12.5]) {
      const root = client.startRun({ name: "cheap", projectName: "cheap", inputs: {}, startTime });
      const call = root.startChild({ name: "call", runType: "llm", startTime });
      call.end({ usage_metadata: { input_tokens: 1, output_tokens: 1, total_cost } });
      root.end({});
    }
    client.startRun({ name: "open", projectName: "cheap", inputs: {} });
    await client.flush();
    const { id } = await client.projects.read({ projectName: "cheap" });
    await page.goto(address.replace(/[^/]+$/, id));
    await page.getByText("Running", { exact: true }).first().waitFor();
    await expect
      .poll(async () => (await cellsOf("cost").allInnerTexts()).toSorted())
      .toEqual(["", "$0.000045", "$12.500000"]);
    for (const column of ["cost", "status"]) {
      const cutPixels = await cellsOf(column).evaluateAll((cells) =>
        cells.map((cell) => cell.scrollWidth - cell.clientWidth),
      );
      expect([column, ...cutPixels]).toEqual([column, 0, 0, 0]);
    }
    expect(faults).toEqual([]);
  });

  test("a long input leaves room for the output", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    const root = client.startRun({
      name: "long",
      projectName: "long",
      inputs: { text: "Where is my parcel? ".repeat(20) },
    });
    root.end({ answer: "On its way, and due tomorrow before noon." });
    await client.flush();
    const { id } = await client.projects.read({ projectName: "long" });
    await page.goto(address.replace(/[^/]+$/, id));
    const output = page.locator(".run-preview > :last-child").first();
    await output.filter({ hasText: "On its way" }).waitFor();
    const share = await output.evaluate(
      (element) => element.clientWidth / (element.parentElement?.clientWidth ?? 1),
    );
    expect(share).toBeGreaterThan(0.35);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(faults).toEqual([]);
  });

  test("color marks only the status of runs that failed", async () => {
    await page.goto(address);
    await rows().first().waitFor();
    const colorOf = (status: string): Promise<string> =>
      page
        .locator(`tbody .status[data-status="${status}"]`)
        .first()
        .evaluate((element) => getComputedStyle(element).color);
    const quiet = await cellsOf("start")
      .first()
      .locator(".quiet")
      .evaluate((element) => getComputedStyle(element).color);
    expect(await colorOf("success")).toBe(quiet);
    expect(await colorOf("error")).not.toBe(quiet);
  });

  test("a click anywhere in a row opens the trace; Back restores the scroll position and the focus", async () => {
    await page.goto(address);
    await rows().first().waitFor();
    await page.locator(".data-table").hover();
    await page.mouse.wheel(0, 2_000);
    const table = page.locator(".data-table");
    await expect.poll(() => table.evaluate((element) => element.scrollTop)).toBe(2_000);
    const row = page.locator('tr[data-index="60"]');
    await row.waitFor();
    await row.locator('td[data-column="latency"]').click();
    await page.getByRole("tree", { name: "Runs of the trace" }).waitFor();
    expect(new URL(page.url()).searchParams.get("trace")).not.toBeNull();
    await page.goBack();
    await row.waitFor();
    await expect.poll(() => table.evaluate((element) => element.scrollTop)).toBe(2_000);
    await expect
      .poll(() =>
        page.evaluate(() => document.activeElement?.closest("tr")?.getAttribute("data-index")),
      )
      .toBe("60");
    expect(faults).toEqual([]);
  }, 40_000);

  test("words are searched for, and comparisons filter; the histogram counts what matches", async () => {
    await page.goto(address);
    await expect.poll(legend).toMatch(/Failed 24.*OK 96/);
    await filter().fill("refund");
    await filter().press("Enter");
    await expect.poll(() => rows().count()).toBe(12);
    await expect.poll(legend).toMatch(/Failed 12.*OK 0/);
    await page.getByText("Matching traces over time").waitFor();
    await filter().fill("latency > 5s");
    await filter().press("Enter");
    await page.getByRole("button", { name: "Edit latency > 5s" }).waitFor();
    await expect.poll(() => rows().count()).toBe(7);
    expect(new URL(page.url()).searchParams.get("filter")).toBe(
      'and(search("refund"), gt(latency, "5s"))',
    );
    await page.getByRole("button", { name: 'Remove "refund"' }).click();
    await expect.poll(() => rows().count()).toBeGreaterThan(12);
    await expect.poll(legend).toMatch(/Failed 15.*OK 64/);
    expect(faults).toEqual([]);
  }, 40_000);

  test("conditions in parentheses can follow `and`, and the list shows the runs that match all of them", async () => {
    await page.goto(address);
    await expect.poll(legend).toMatch(/Failed 24.*OK 96/);
    await filter().fill("latency > 5s and (status = error or status = success)");
    await filter().press("Enter");
    await page.getByRole("button", { name: "Edit status = error or status = success" }).waitFor();
    await expect.poll(legend).toMatch(/Failed 15.*OK 64/);
    expect(new URL(page.url()).searchParams.get("filter")).toBe(
      'and(gt(latency, "5s"), or(eq(status, "error"), eq(status, "success")))',
    );
    await page.goto(address);
    await filter().fill('latency > 11.9s and (status = error or "order 119")');
    await filter().press("Enter");
    await expect.poll(() => rows().count()).toBe(3);
    const inputs = (await cellsOf("preview").allTextContents()).map(
      (text) => /\d+(?=, please)/.exec(text)?.[0],
    );
    expect(inputs).toEqual(["110", "115", "119"]);
    expect(faults).toEqual([]);
  }, 40_000);

  test("an invalid filter is not applied: the rows stay, with one error", async () => {
    await page.goto(address);
    await rows().first().waitFor();
    const readRows = async (): Promise<readonly string[]> =>
      (await cellsOf("preview").allTextContents()).slice(0, 10);
    const before = await readRows();
    await filter().fill("latncy > 5s");
    await filter().press("Enter");
    await page.getByText("did you mean `latency`?").waitFor();
    await filter().press("Enter");
    expect(await page.getByRole("alert").count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("filter")).toBeNull();
    expect(await readRows()).toEqual(before);
    await showScreen(page, "run-list-invalid-filter");
    expect(faults).toEqual([]);
  }, 40_000);

  test("a link with words and operators opens the filtered list; one with an error says so once", async () => {
    await page.goto(`${address}?filter=${encodeURIComponent("refund and latency > 5s")}`);
    await expect.poll(() => rows().count()).toBe(7);
    await page.getByRole("button", { name: 'Edit "refund"' }).waitFor();
    await page.goto(`${address}?filter=${encodeURIComponent("and(and(and(")}`);
    await page.getByText("The filter in the URL is not valid").waitFor();
    expect(await page.getByRole("alert").count()).toBe(1);
    expect(await page.getByRole("button", { name: "Export all matches" }).count()).toBe(0);
    await page.goto(`${address}?filter=${encodeURIComponent('eq(nonsense,"x")')}`);
    const alert = page.getByRole("alert");
    await expect
      .poll(() => alert.allInnerTexts())
      .toEqual([
        'unknown field `nonsense`; write metadata.nonsense for metadata, or feedback_key = "nonsense" for feedback',
      ]);
    await page.getByRole("button", { name: "Clear filter" }).click();
    await rows().first().waitFor();
    expect(faults.filter((fault) => !fault.includes("422"))).toEqual([]);
  }, 40_000);

  test.each(["last=24h", "from=banana&to=x", "sort=nonsense&order=up", "columns=none&all=maybe"])(
    "a link with ?%s opens the list without the invalid values",
    async (search) => {
      await page.goto(`${address}?${search}`);
      await rows().first().waitFor();
      expect(await page.getByRole("alert").count()).toBe(0);
      expect(faults).toEqual([]);
    },
  );

  test("the statistics in the header say which time they cover, and follow new traces", async () => {
    await page.goto(address);
    await page.getByText("Last hour: 1 trace", { exact: true }).waitFor();
    client.startRun({ name: "answer", inputs: { question: "now" } }).end({});
    await client.flush();
    await page.getByText("Last hour: 2 traces").waitFor();
    expect((await fetch(`${server.url}/info`)).status).toBe(200);
    expect(faults).toEqual([]);
  }, 40_000);
});
