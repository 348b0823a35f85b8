import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
/** On a busy machine, a response may be incomplete at first; the page then repeats its request. */
const patience = { timeout: 20_000 };
const hostileModel = "gpt\u202Egnp<script>alert(1)</script>";

describe.skipIf(browser === undefined)("the dashboard of a project, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "support");
    ({ client, page } = opened);
    const now = Date.now();
    // 24 traces of the last two hours, each with a model call; six failed. One trace is older than a day.
    for (let index = 0; index <= 24; index += 1) {
      const at = index === 24 ? now - 30 * 3_600_000 : now - index * 300_000 - 60_000;
      const metadata = { user_id: index % 3 === 0 ? "ann" : "bob" };
      const root = client.startRun({ name: "ask", metadata, startTime: at });
      const model = root.startChild({
        name: "model",
        runType: "llm",
        startTime: at + 10,
        metadata: { ls_model_name: index % 2 === 0 ? "m-large" : hostileModel },
      });
      const usage = { input_tokens: 8, output_tokens: 2, total_tokens: 10, total_cost: 0.01 };
      model.end({ usage_metadata: usage }, { endTime: at + 1_900 });
      if (index % 4 === 0) {
        root.fail(new Error("no answer"), { endTime: at + 2_000 });
      } else {
        root.end({ answer: "yes" }, { endTime: at + 2_000 });
      }
    }
    await client.flush();
    address = await opened.projectAddress();
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const tile = (name: string) =>
    page
      .locator(".tile")
      .filter({ has: page.getByText(name, { exact: true }) })
      .locator("dd");
  const chart = (name: string) => page.getByRole("slider", { name, exact: true });

  /** The number of runs that the server's list of runs has for the filter of the shown list. */
  async function countListed(): Promise<number> {
    await page.waitForURL((url) => !url.pathname.endsWith("/dashboard"));
    const search = new URL(page.url()).searchParams;
    const unquote = (name: string): string | undefined =>
      search.get(name)?.replaceAll(/^"|"$/g, "") ?? undefined;
    const body = {
      session: [new URL(page.url()).pathname.split("/").at(-1)],
      start_time: unquote("from"),
      end_time: unquote("to"),
      filter: search.get("filter") ?? undefined,
      ...(search.get("all") === null ? { is_root: true } : {}),
      limit: 100,
    };
    const response = await fetch(`${opened.server.url}/runs/query`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    const { runs } = (await response.json()) as { readonly runs: readonly unknown[] };
    await page.locator("tbody tr").first().waitFor();
    expect(await page.locator("tbody tr").count()).toBe(runs.length);
    return runs.length;
  }

  /** Converts a shown duration, such as "500 ms" or "2.0 s", to milliseconds. */
  const parseDuration = (text: string): number => {
    const [, number = "NaN", unit = ""] = /^([\d.]+) (ms|s)/.exec(text) ?? [];
    return Number(number) * (unit === "s" ? 1_000 : 1);
  };

  test("the page shows the totals of 24 hours, compared with the day before", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "Dashboard" }).click();
    await expect.poll(async () => tile("Runs").textContent(), patience).toBe("24+2,300 %");
    expect(await tile("Error rate").textContent()).toBe("25 %−75 points");
    expect(await tile("p50 latency").textContent()).toMatch(/^(?:1\.9[6-9]|2\.0[0-4]) s/);
    expect(await tile("Tokens").textContent()).toBe("240+2,300 %");
    expect(await tile("Cost").textContent()).toBe("$0.24+2,300 %");
    // No run of these traces was streamed, so nothing is shown instead of an empty figure.
    expect(await page.getByText(/first token/i).count()).toBe(0);
    await showScreen(page, "dashboard");
    const tops = await page
      .locator(".chart-plot")
      .evaluateAll((plots) => plots.map((plot) => plot.getBoundingClientRect().top));
    expect(tops.length).toBe(5);
    // Two or three plots are in each row.
    expect(new Set(tops.map(Math.round)).size).toBeLessThanOrEqual(3);
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  /** Counts the drawn pixels of a chart: those of a color, or all, in its first columns or everywhere. */
  const countPixels = async (
    name: string,
    { color, columns }: { readonly color?: string; readonly columns?: number },
  ): Promise<number> =>
    chart(name)
      .locator("canvas")
      .evaluate(
        (canvas: HTMLCanvasElement, wanted) => {
          const context = canvas.getContext("2d")!;
          // The browser turns the color into numbers.
          const probe = document.createElement("canvas").getContext("2d")!;
          probe.fillStyle =
            wanted.color === undefined
              ? "transparent"
              : getComputedStyle(canvas).getPropertyValue(wanted.color);
          probe.fillRect(0, 0, 1, 1);
          const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
          const { data } = context.getImageData(
            0,
            0,
            wanted.columns ?? canvas.width,
            canvas.height,
          );
          let count = 0;
          for (let index = 0; index < data.length; index += 4) {
            const isDrawn = data[index + 3]! > 0;
            const isColor =
              data[index] === red && data[index + 1] === green && data[index + 2] === blue;
            count += isDrawn && (wanted.color === undefined || isColor) ? 1 : 0;
          }
          return count;
        },
        { color, columns },
      );

  test("charts have room for long labels, and follow a change of the color scheme", async () => {
    await page.goto(`${address}/dashboard`);
    await expect.poll(async () => tile("Runs").textContent(), patience).toBe("24+2,300 %");
    // "27 h 46 m" begins to the right of the edge.
    await expect.poll(() => countPixels("Latency", { columns: 60 }), patience).toBeGreaterThan(50);
    expect(await countPixels("Latency", { columns: 1 })).toBe(0);
    const color = await page
      .locator("figure", { has: chart("Runs") })
      .locator(".chart-legend li")
      .first()
      .evaluate((item) => item.style.borderColor.replace(/^var\((.*)\)$/, "$1"));
    await expect.poll(() => countPixels("Runs", { color }), patience).toBeGreaterThan(500);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(() => countPixels("Runs", { color }), patience).toBeGreaterThan(500);
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(() => countPixels("Runs", { color }), patience).toBeGreaterThan(500);
  });

  test("model calls have a cost per run, and no column for what was not measured", async () => {
    await page.goto(`${address}/dashboard?scope=models&group=model`);
    const heads = page.getByRole("region", { name: "Groups" }).locator("th");
    await heads.first().waitFor(patience);
    const costs = page.locator('table tbody td[data-title="Cost per run"]');
    await expect
      .poll(async () => (await costs.allTextContents()).map((text) => text.slice(0, 5)), patience)
      .toEqual(["$0.01", "$0.01"]);
    expect(await heads.allTextContents()).toEqual([
      "Group",
      "Runs",
      "Error rate",
      "p50",
      "p95",
      "p99",
      "Tokens",
      "Cost",
      "Cost per run",
      "Alert",
    ]);
    expect(opened.faults).toEqual([]);
  });

  test("runs are grouped by a property; each row leads to the runs that it counts", async () => {
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${address}/dashboard`);
    await page.getByLabel("Group by").selectOption("user");
    const rows = page.locator("table tbody tr");
    await expect
      .poll(async () => rows.allTextContents(), patience)
      .toEqual([expect.stringMatching(/^bob16/), expect.stringMatching(/^ann8/)]);
    await showScreen(page, "dashboard-grouped");
    // The groups are named once, and the plots of a row begin at the same height.
    await page.getByRole("list", { name: "Groups of all charts" }).waitFor();
    expect(await page.locator("figure .chart-legend").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("link", { name: "ann", exact: true }).click();
    expect(await countListed()).toBe(8);
    await page.emulateMedia({ colorScheme: "light" });
    expect(opened.faults).toEqual([]);
  });

  test("traces have the first token of their runs, by the user of the root", async () => {
    const now = Date.now();
    const projectName = "streamed";
    // Ann waits for half a second, Bob for two seconds.
    for (const [user, waitMs] of [
      ["ann", 500],
      ["ann", 500],
      ["ann", 500],
      ["bob", 2_000],
      ["bob", 2_000],
    ] as const) {
      const startTime = now - 600_000;
      const time = new Date(startTime + waitMs).toISOString();
      const root = client.startRun({
        name: "ask",
        metadata: { user_id: user },
        startTime,
        projectName,
      });
      const call = root.startChild({ name: "model", runType: "llm", startTime: startTime + 100 });
      call.addEvent({ name: "new_token", time });
      call.end({ text: "yes" }, { endTime: startTime + 4_000 });
      root.end({ answer: "yes" }, { endTime: startTime + 4_000 });
    }
    await client.flush();
    const response = await fetch(`${opened.server.url}/sessions?name=${projectName}`);
    const [project] = (await response.json()) as readonly { readonly id: string }[];
    const dashboard = `${address.slice(0, address.lastIndexOf("/"))}/${project?.id}/dashboard`;
    await page.goto(`${dashboard}?group=user`);
    const rows = page.getByRole("region", { name: "Groups" }).locator("tr");
    const readColumn = async (title: string): Promise<readonly (string | null)[]> => {
      const [head, ...groups] = await rows.all();
      const heads = (await head?.locator("th").allTextContents()) ?? [];
      return Promise.all(
        groups.map(async (row) => row.locator("th, td").nth(heads.indexOf(title)).textContent()),
      );
    };
    await expect.poll(() => readColumn("Runs"), patience).toEqual(["3", "2"]);
    const close = (milliseconds: number): unknown => expect.closeTo(milliseconds, -1);
    expect((await readColumn("First token")).map((text) => parseDuration(text ?? ""))).toEqual([
      close(500),
      expect.closeTo(2_000, -2),
    ]);
    expect(parseDuration((await tile("p50 first token").textContent()) ?? "")).toEqual(close(500));
    await chart("p95 first token").waitFor();
    // The overview of all projects has the same figure: the other traces have no first token.
    await page.goto(opened.server.url);
    await expect
      .poll(async () => {
        const text = (await tile("p50 first token").allTextContents()).join();
        return Math.abs(parseDuration(text) - 500);
      }, patience)
      .toBeLessThan(11);
    expect(opened.faults).toEqual([]);
  });

  test("model calls are grouped by model; a hostile name is shown as a text", async () => {
    await page.goto(`${address}/dashboard?scope=models&group=model`);
    const link = page.getByRole("link", { name: /^gpt\\u202egnp<script>/ });
    await link.waitFor();
    expect(await tile("Tokens").textContent()).toContain("240");
    // The plots are created again for other groups.
    await page.getByLabel("Group by").selectOption("status");
    await page.getByRole("link", { name: "success" }).first().waitFor();
    // One percentile of each group is shown, compared with that of all groups in the period before.
    await chart("p95 latency").waitFor();
    await page.getByLabel("Percentile of durations").selectOption("p50");
    await chart("p50 latency").waitFor();
    expect(new URL(page.url()).searchParams.get("percentile")).toBe("p50");
    for (const name of ["p50 latency", "Error rate"]) {
      await chart(name).focus();
      await page.keyboard.press("End");
      await expect
        .poll(async () => chart(name).getAttribute("aria-valuetext"))
        .toContain("Previous, all groups");
    }
    await page.getByLabel("Group by").selectOption("model");
    await link.waitFor();
    await link.click();
    expect(await countListed()).toBe(12);
    expect(opened.faults).toEqual([]);
  });

  /** Moves through a chart until the values of a point match. Returns the point's share of the chart's width. */
  async function seek(name: string, values: RegExp): Promise<number> {
    const readNumber = async (attribute: string) =>
      Number(await chart(name).getAttribute(attribute));
    const last = await readNumber("aria-valuemax");
    await chart(name).focus();
    for (let step = 0; step <= last; step += 1) {
      await page.keyboard.press(step === 0 ? "Home" : "ArrowRight");
      if (values.test((await chart(name).getAttribute("aria-valuetext")) ?? "")) {
        return (await readNumber("aria-valuenow")) / last;
      }
    }
    throw new Error(`no point of ${name} matches ${values.source}`);
  }

  test("a click on a mark, and Enter, open the runs behind it", async () => {
    await page.goto(`${address}/dashboard?last=6h&group=status`);
    await chart("Runs").waitFor();
    const canvas = chart("Runs").locator(".u-over");
    const box = (await canvas.boundingBox())!;
    const share = await seek("Runs", /success 0, error 1(?:,|$)/);
    await canvas.click({
      position: { x: Math.min(share * box.width, box.width - 1), y: box.height - 4 },
    });
    expect(await countListed()).toBe(1);
    expect(new URL(page.url()).searchParams.get("filter")).toBe('eq(status, "error")');
    await page.goto(`${address}/dashboard?last=6h`);
    await chart("Runs").waitFor();
    await seek("Runs", /Current 1(?:,|$)/);
    await page.keyboard.press("Enter");
    expect(await countListed()).toBe(1);
    expect(new URL(page.url()).searchParams.get("filter")).toBeNull();
    expect(opened.faults).toEqual([]);
  });

  test("a click on the line of the previous period opens the runs behind it", async () => {
    await page.goto(`${address}/dashboard?last=1d`);
    await chart("Runs").waitFor();
    const canvas = chart("Runs").locator(".u-over");
    const share = await seek("Runs", /Current 0, Previous 1(?:,|$)/);
    const box = (await canvas.boundingBox())!;
    await canvas.click({
      position: { x: Math.min(share * box.width, box.width - 1), y: box.height - 4 },
    });
    expect(await countListed()).toBe(1);
    const to = new URL(page.url()).searchParams.get("to") ?? "";
    expect(Date.parse(to.replaceAll('"', ""))).toBeLessThan(Date.now() - 24 * 3_600_000);
    expect(opened.faults).toEqual([]);
  });

  test("Shift and Enter open the runs of the previous period, also where there are current ones", async () => {
    await page.goto(`${address}/dashboard?last=6h`);
    await chart("Runs").waitFor();
    await seek("Runs", /Current 1(?:,|$)/);
    const before = new URL(page.url()).pathname;
    await page.keyboard.press("Shift+Enter");
    await page.waitForURL((url) => url.pathname !== before);
    const to = new URL(page.url()).searchParams.get("to") ?? "";
    expect(Date.parse(to.replaceAll('"', ""))).toBeLessThan(Date.now() - 6 * 3_600_000);
    expect(opened.faults).toEqual([]);
  });

  test("a filter narrows all numbers; an invalid one says why", async () => {
    const filter = encodeURIComponent('eq(metadata.user_id, "ann")');
    await page.goto(`${address}/dashboard?filter=${filter}`);
    await expect.poll(async () => tile("Runs").textContent(), patience).toMatch(/^8/);
    await page.goto(`${address}/dashboard?filter=${encodeURIComponent("eq(name")}`);
    const failure = page.getByRole("alert", { name: "Could not load the metrics" });
    await failure.filter({ hasText: "expected , after the field" }).waitFor();
    opened.faults.length = 0;
  });

  test("/ and f focus the filter; unknown parameters of the URL count as absent", async () => {
    await page.goto(`${address}/dashboard?scope=nonsense&group=none`);
    await expect.poll(async () => tile("Runs").textContent(), patience).toMatch(/^24/);
    expect(await page.getByLabel("Runs", { exact: true }).first().inputValue()).toBe("traces");
    for (const key of ["/", "f"]) {
      await page.locator("h1").click();
      await page.keyboard.press(key);
      await expect
        .poll(
          () =>
            page
              .getByLabel("Filter", { exact: true })
              .evaluate((input) => input === document.activeElement),
          patience,
        )
        .toBe(true);
      await page.keyboard.press("Escape");
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    }
    expect(opened.faults).toEqual([]);
  });

  test("every range of one hour to ninety days can be selected; the numbers are those of the server", async () => {
    await page.goto(`${address}/dashboard`);
    for (const [label, runs] of [
      ["Last hour", 12],
      ["Last 6 hours", 24],
      ["Last 7 days", 25],
      ["Last 30 days", 25],
      ["Last 90 days", 25],
    ] as const) {
      await page.getByLabel("Time range").selectOption({ label });
      await expect
        .poll(async () => tile("Runs").textContent(), patience)
        .toMatch(new RegExp(`^${runs}(?:\\D|$)`));
    }
    expect(opened.faults).toEqual([]);
  });

  test("run list and dashboard have the same time ranges, and links between them keep the selected one", async () => {
    const choices = page.getByLabel("Time range", { exact: true });
    const readRange = (): readonly (string | null)[] => {
      const { searchParams } = new URL(page.url());
      return ["last", "from", "to"].map((name) => searchParams.get(name));
    };
    // The table renders only the rows in view. Its header is a row, too.
    const count = async () =>
      Number(await page.locator(".data-table-grid").getAttribute("aria-rowcount")) - 1;
    await page.goto(address);
    await expect.poll(count, patience).toBe(25);
    const listChoices = await choices.locator("option").allTextContents();
    await choices.selectOption({ label: "Last hour" });
    await expect.poll(count, patience).toBe(12);
    await page.getByRole("link", { name: "Dashboard" }).click();
    await expect.poll(async () => tile("Runs").textContent(), patience).toMatch(/^12/);
    expect(readRange()).toEqual(["1h", null, null]);
    expect(await choices.inputValue()).toBe("1h");
    expect(["All time", ...(await choices.locator("option").allTextContents())]).toEqual(
      listChoices,
    );
    await choices.selectOption({ label: "Custom range" });
    // A custom range begins a day ago and has no end.
    await expect.poll(async () => tile("Runs").textContent(), patience).toMatch(/^24/);
    const range = readRange();
    expect(range).toEqual([null, expect.stringMatching(/^"?20/), null]);
    await page.getByRole("link", { name: "support", exact: true }).click();
    await expect.poll(count, patience).toBe(24);
    expect(readRange()).toEqual(range);
    expect(await choices.inputValue()).toBe("custom");
    expect(opened.faults).toEqual([]);
  }, 40_000);
});
