import type { Client } from "millrace";
import type { Page, Response } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const hourMs = 3_600_000;
/** A latency of 10 ms, which the server knows within 2 %. */
const durations = Array.from(
  { length: 3 },
  () => expect.stringMatching(/^(?:9\.[89]\d*|10(?:\.[0-2]\d*)?) ms$/) as unknown as string,
);
const empty = Array.from({ length: 7 }, () => "");

describe.skipIf(browser === undefined)("the home page, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let faults: string[];
  let url: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "quiet");
    ({ client, page, faults } = opened);
    ({ url } = opened.server);
    // The live figures cover five minutes: nothing of this is in them.
    for (const hoursAgo of [2, 3, 3, 100]) {
      const startTime = Date.now() - hoursAgo * hourMs;
      const run = client.startRun({ name: "ask", startTime });
      if (hoursAgo === 2) {
        run.fail(new Error("no"), undefined, { endTime: startTime + 10 });
      } else {
        run.end({}, { endTime: startTime + 10 });
      }
    }
    await client.flush();
  }, 60_000);

  beforeEach(() => {
    faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  test("all figures cover the chosen range, also of a project that is quiet now", async () => {
    await page.goto(url);
    const table = page.getByRole("region", { name: "Projects", exact: true });
    const row = table.getByRole("row", { name: /quiet/ });
    await row.locator(".sparkline").waitFor();
    const cells = async (): Promise<readonly string[]> =>
      (await row.getByRole("cell").allInnerTexts()).slice(1);
    await expect
      .poll(cells, { timeout: 10_000 })
      .toEqual(["2 h ago", "3", "", "33 %", ...durations, "", ""]);
    const tile = (label: string, name: string) =>
      page.getByLabel(label, { exact: true }).locator(".tile").filter({ hasText: name });
    await expect
      .poll(() => tile("Traces, last 24 h", "p99 latency").locator("dd").textContent())
      .toMatch(/^(?:9\.[89]|10)/);
    expect(await tile("Traces, last 24 h", "Error rate").locator("dd").textContent()).toMatch(
      /^33 %/,
    );
    const range = page.getByRole("radiogroup", { name: "Time range" });
    await range.getByText("7 d").click();
    await expect.poll(async () => (await cells())[1], { timeout: 10_000 }).toBe("4");
    await expect
      .poll(() => tile("Traces, last 7 d", "Traces").locator("dd").textContent())
      .toMatch(/^4/);
    for (const choice of ["30 d", "90 d"]) {
      await range.getByText(choice).click();
      await page.getByRole("columnheader", { name: `Last ${choice}` }).waitFor();
      await expect.poll(async () => (await cells())[1], { timeout: 10_000 }).toBe("4");
    }
    await range.getByText("1 h", { exact: true }).click();
    await expect.poll(cells, { timeout: 10_000 }).toEqual(["2 h ago", "0", ...empty]);
    await page.reload();
    await page.getByRole("columnheader", { name: "Last 1 h" }).waitFor();
    await range.getByText("24 h").click();
    // Each part names the time that it covers.
    for (const text of [
      "Live, last minute",
      "Throughput, last 5 min",
      "Trace latency, last 5 min",
    ]) {
      await page.getByText(text, { exact: true }).waitFor();
    }
    await page.getByRole("columnheader", { name: "Last 24 h" }).waitFor();
    // The small picture leads to the dashboard, which shows the same time range.
    await page.getByRole("link", { name: "Dashboard of " }).first().click();
    await page.waitForURL(/\/dashboard\?last=1d$/);
    await page.goBack();
    expect(faults).toEqual([]);
  }, 40_000);

  test("calls of the playground and of judges are included in the totals only if they are wanted", async () => {
    for (const projectName of ["playground", "evaluators"]) {
      const startTime = Date.now() - 5 * hourMs;
      const run = client.startRun({ name: "call", projectName, startTime });
      run.end({}, { endTime: startTime + 9_000 });
    }
    await client.flush();
    await page.goto(url);
    await page.getByRole("radiogroup", { name: "Time range" }).getByText("24 h").click();
    const box = page.getByRole("checkbox", {
      name: "Include the projects “playground” and “evaluators”",
    });
    await box.waitFor({ timeout: 15_000 });
    const traces = page
      .locator(".tile")
      .filter({ hasText: /^Traces/ })
      .locator("dd")
      .first();
    await expect.poll(async () => traces.innerText()).toMatch(/^3\b/);
    await showScreen(page, "overview-own-projects");
    expect(await findFaults(page)).toEqual([]);
    await box.check();
    await expect.poll(async () => traces.innerText()).toMatch(/^5\b/);
    await page.reload();
    await expect.poll(async () => traces.innerText()).toMatch(/^5\b/);
    await box.uncheck();
    await expect.poll(async () => traces.innerText()).toMatch(/^3\b/);
    expect(faults).toEqual([]);
  }, 40_000);

  test("a point of a chart leads to the traces behind it, by a choice if several projects have some", async () => {
    const picked = page.locator(".overview-picked");
    /** Picks one point after another, from the right, until one has an error. */
    const pickErrors = async (): Promise<void> => {
      await page.goto(`${url}/?last=1d`);
      await page.getByRole("slider", { name: "Error rate" }).focus();
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
      await picked.getByText("No traces with an error").waitFor();
      // Two hours ago is a few points to the left, however long a point is.
      for (
        let step = 0;
        step < 40 && (await picked.getByText("No traces").count()) > 0;
        step += 1
      ) {
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.press("Enter");
        await page.waitForTimeout(50);
      }
    };
    const expectErrors = async (): Promise<void> => {
      await page.getByRole("heading", { name: "quiet" }).waitFor();
      await expect.poll(() => page.locator(".data-rows > .data-row").count()).toBe(1);
      expect(new URL(page.url()).searchParams.get("filter")).toBe('eq(status, "error")');
    };
    await pickErrors();
    await expectErrors();
    const [failed] = await client.runs
      .list({ projectNames: ["quiet"], filter: 'eq(status, "error")' })
      .toArray();
    const startTime = Date.parse(failed?.startTime ?? "");
    const run = client.startRun({ name: "ask", projectName: "second", startTime });
    run.fail(new Error("no"), undefined, { endTime: startTime + 10 });
    await client.flush();
    // Until the server has counted the new run, the point leads directly to the only project with an error.
    await expect
      .poll(
        async () => {
          await pickErrors();
          return (await picked.getByRole("link").allInnerTexts()).toSorted();
        },
        { timeout: 20_000 },
      )
      .toEqual(["Traces with an error in quiet", "Traces with an error in second"]);
    await picked.getByRole("link", { name: "quiet" }).click();
    await expectErrors();
    expect(faults).toEqual([]);
  }, 40_000);

  test("a point of the previous period leads only to projects that had traces then", async () => {
    const startTime = Date.now() - 30 * hourMs;
    const run = client.startRun({ name: "ask", projectName: "earlier", startTime });
    run.end({}, { endTime: startTime + 10 });
    await client.flush();
    const chart = page.getByRole("slider", { name: "Traces" });
    /** Moves along the chart to the point with the trace. */
    const findPoint = async (): Promise<boolean> => {
      await page.goto(`${url}/?last=1d`);
      await chart.focus();
      await page.keyboard.press("Home");
      for (let step = 0; step < 100; step += 1) {
        if (/ 0, Previous 1(?:,|$)/.test((await chart.getAttribute("aria-valuetext")) ?? "")) {
          return true;
        }
        await page.keyboard.press("ArrowRight");
      }
      return false;
    };
    // The server counts the new trace a moment after it has stored it.
    await expect.poll(findPoint, { timeout: 20_000 }).toBe(true);
    await page.keyboard.press("Enter");
    // All other projects had none, so there is nothing to choose.
    await page.getByRole("heading", { name: "earlier" }).waitFor();
    await expect.poll(() => page.locator(".data-rows > .data-row").count()).toBe(1);
    expect(faults).toEqual([]);
  }, 40_000);

  test("the time range is in the URL, so that a link to the page shows it", async () => {
    await page.goto(url);
    const range = page.getByRole("radiogroup", { name: "Time range" });
    await range.getByText("7 d").click();
    await expect.poll(() => new URL(page.url()).searchParams.get("last")).toBe("7d");
    await page.goto(`${url}/?last=1h`);
    await page.getByRole("columnheader", { name: "Last 1 h" }).waitFor();
    await page.goto(url);
    await page.getByRole("columnheader", { name: "Last 7 d" }).waitFor();
    await range.getByText("24 h").click();
    expect(faults).toEqual([]);
  });

  test("the navigation is at the side, with an icon for each page, and behind a button on a phone", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(url);
      const nav = page.getByRole("navigation", { name: "Pages" });
      await nav.getByRole("link", { name: "Settings" }).waitFor();
      const links = await nav.getByRole("link").count();
      expect(await nav.locator("a svg").count()).toBe(links);
      const [rail, main] = [await nav.boundingBox(), await page.locator("main").boundingBox()];
      expect([rail!.x, rail!.width]).toEqual([0, main!.x]);
      expect(await findFaults(page)).toEqual([]);
      await showScreen(page, `home-days-${colorScheme}`);
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await nav.getByRole("link", { name: "Settings" }).isVisible()).toBe(false);
      await nav.getByRole("button", { name: "Menu" }).click();
      await nav.getByRole("link", { name: "Settings" }).waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await nav.getByRole("link", { name: "Settings" }).waitFor({ state: "hidden" });
      await nav.getByRole("button", { name: "Menu" }).click();
      await nav.getByRole("link", { name: "Settings" }).waitFor();
      await page.mouse.click(380, 800);
      await nav.getByRole("link", { name: "Settings" }).waitFor({ state: "hidden" });
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(faults).toEqual([]);
  }, 60_000);

  test("scripts and styles are sent compressed, the font is our own, and all of them are cached", async () => {
    const responses: Response[] = [];
    const onResponse = (response: Response): unknown => responses.push(response);
    page.on("response", onResponse);
    await page.goto(url);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    page.off("response", onResponse);
    const sent = responses.filter((response) => /\/assets\/.*\.(?:js|css)$/.test(response.url()));
    expect(sent.length).toBeGreaterThan(5);
    const large = await Promise.all(
      sent.map(async (response) => {
        const headers = await response.allHeaders();
        return [headers["content-encoding"], headers["cache-control"]] as const;
      }),
    );
    expect(large.filter(([encoding]) => encoding === "br").length).toBeGreaterThan(3);
    expect(large.every(([, caching]) => caching?.includes("immutable"))).toBe(true);
    await page.evaluate(async () => document.fonts.ready);
    const fonts = await page.evaluate(() =>
      [...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family),
    );
    expect(fonts).toContain("Inter Variable");
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const transferred = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.includes("/assets/"))
        .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).transferSize, 0),
    );
    expect(transferred).toBe(0);
    expect(faults).toEqual([]);
  }, 40_000);

  test("a point of a live chart leads to the runs that ended then", async () => {
    await page.goto(url);
    await page.getByText("Throughput, last 5 min", { exact: true }).waitFor();
    client.startRun({ name: "just now", projectName: "live" }).end({});
    await client.flush();
    const chart = page.getByRole("slider", { name: "Throughput, last 5 min", exact: true });
    const link = page.locator(".overview-picked").getByRole("link", { name: "1 run in live" });
    // Until the chart has the run, later points may have been added, so the run need not be in the last one.
    const pointCount = 15;
    await expect
      .poll(
        async () => {
          await chart.focus();
          await page.keyboard.press("End");
          for (let point = 0; point < pointCount; point += 1) {
            await page.keyboard.press("Enter");
            if ((await link.count()) === 1) {
              return true;
            }
            await page.keyboard.press("ArrowLeft");
          }
          return false;
        },
        { timeout: 15_000 },
      )
      .toBe(true);
    await link.click();
    await page.getByRole("link", { name: "just now", exact: true }).waitFor();
    expect(faults).toEqual([]);
  }, 40_000);
});
