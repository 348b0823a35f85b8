import type { Request } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordAssistant } from "../support/trace-recordings.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)("the trace view, in Chromium", () => {
  let opened: OpenedPage;
  let traceId: string;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "travel");
    traceId = await recordAssistant(opened.client);
    address = `${await opened.projectAddress()}?trace=${traceId}`;
  });

  beforeEach(async () => {
    opened.faults.length = 0;
    await opened.page.setViewportSize({ width: 1280, height: 800 });
  });

  afterAll(async () => {
    await opened.close();
    await browser?.close();
  });

  test("tree, waterfall and details are shown in both themes, on wide and narrow screens", async () => {
    const { page, faults } = opened;
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 720 });
        await page.goto(address);
        await page.getByRole("treeitem").filter({ hasText: "answer" }).first().click();
        await page.getByText("light shirts").first().waitFor();
        await page.screenshot({ path: `${screenshots}/trace-${colorScheme}-${width}.png` });
        expect(await findFaults(page)).toEqual([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide).toBeLessThanOrEqual(width);
      }
    }
    expect(faults).toEqual([]);
  });

  const tree = () => opened.page.getByRole("tree", { name: "Runs of the trace" });
  const names = async (): Promise<readonly string[]> => tree().locator(".name").allTextContents();
  const heading = (name: string) =>
    opened.page.getByRole("heading", { name, exact: true }).waitFor();
  const param = (name: string): string | null => new URL(opened.page.url()).searchParams.get(name);

  test("a row has the type of its run: as a word, or as an icon of its own where there is no space", async () => {
    const { page } = opened;
    await page.goto(address);
    await heading("travel-assistant");
    const row = (name: string) => tree().getByRole("treeitem").filter({ hasText: name }).first();
    await row("embed-query").getByText("embedding", { exact: true }).waitFor();
    expect(await tree().getByRole("img").count()).toBe(0);
    await page.setViewportSize({ width: 390, height: 800 });
    const types = ["chain", "retriever", "embedding", "llm", "tool", "parser"];
    const shapes: (string | null)[] = [];
    for (const type of types) {
      const icon = tree().getByRole("img", { name: type }).first();
      await icon.waitFor();
      shapes.push(await icon.locator("path").getAttribute("d"));
    }
    expect(new Set(shapes).size).toBe(types.length);
    expect(await row("embed-query").getByText("embedding", { exact: true }).isVisible()).toBe(
      false,
    );
  });

  test("keyboard shortcuts work: collapsing, errors, slowest runs, search, zoom and critical path", async () => {
    const { page, faults } = opened;
    await page.goto(address);
    await heading("travel-assistant");
    await page.keyboard.press("ArrowDown");
    await heading("search-guides");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(names).not.toContain("embed-query");
    await page.keyboard.press("ArrowRight");
    await expect.poll(names).toContain("embed-query");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await heading("travel-assistant");
    await page.keyboard.press("e");
    await heading("http-get");
    await page.getByText("Caused by").waitFor();
    await page.getByText("connect ECONNREFUSED").first().waitFor();
    await page.keyboard.press("s");
    await heading("answer");
    await page.keyboard.press("/");
    await page.keyboard.type("embed");
    await page.keyboard.press("Enter");
    await heading("embed-query");
    await page.keyboard.press("Escape");
    await tree().focus();
    await page.keyboard.press("z");
    await expect.poll(() => param("zoom")).not.toBeNull();
    await page.keyboard.press("0");
    await expect.poll(() => param("zoom")).toBeNull();
    await page.keyboard.press("p");
    await page.locator(".bar-path").first().waitFor();
    await page.keyboard.press("x");
    await expect.poll(names).toEqual(["travel-assistant", "weather", "http-get"]);
    await page.reload();
    await expect.poll(names).toEqual(["travel-assistant", "weather", "http-get"]);
    expect(faults).toEqual([]);
  });

  test("the wheel, the ruler and the minimap set the visible time", async () => {
    const { page, client } = opened;
    const startTime = Date.now() - 4_200;
    // Only a trace of ten runs or more has a minimap.
    const root = client.startRun({ name: "many-steps", startTime });
    for (let step = 1; step < 10; step += 1) {
      root.startChild({ name: "step", startTime }).end({}, { endTime: startTime + step * 400 });
    }
    root.end({}, { endTime: startTime + 4_200 });
    await client.flush();
    await page.goto(`${await opened.projectAddress()}?trace=${root.id}`);
    await heading("many-steps");
    const bars = await tree().locator(".tree-bar").first().boundingBox();
    await page.mouse.move(bars!.x + bars!.width / 2, bars!.y + 5);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await expect.poll(() => param("zoom")).not.toBeNull();
    await page.getByRole("button", { name: "Reset zoom" }).click();
    await expect.poll(() => param("zoom")).toBeNull();
    for (const selector of [".ruler-scale", ".minimap"]) {
      const box = await page.locator(selector).boundingBox();
      await page.mouse.move(box!.x + box!.width * 0.3, box!.y + 8);
      await page.mouse.down();
      await page.mouse.move(box!.x + box!.width * 0.6, box!.y + 8, { steps: 4 });
      await page.mouse.up();
      await expect.poll(() => param("zoom")).not.toBeNull();
      const [from = 0, to = 0] = (param("zoom") ?? "").split("-").map(Number);
      expect((to - from) / 1_000).toBeGreaterThan(1_000);
      expect((to - from) / 1_000).toBeLessThan(1_500);
      await tree().focus();
      await page.keyboard.press("0");
      await expect.poll(() => param("zoom")).toBeNull();
    }
  });

  test("the menu collapses and hides run types, and the URL stores it", async () => {
    const { page } = opened;
    await page.goto(address);
    await heading("travel-assistant");
    await page.getByRole("button", { name: "Types" }).click();
    const choice = page.getByRole("radiogroup", { name: "Runs of type tool" });
    await choice.getByText("Hide").click();
    await expect.poll(names).not.toContain("weather");
    await choice.getByText("Collapse").click();
    await expect.poll(names).toContain("weather");
    await expect.poll(names).not.toContain("http-get");
    expect(param("close")).toBe("tool");
  });

  test("events, files, metadata, timing and code of a run each have a tab", async () => {
    const { page, faults } = opened;
    await page.goto(address);
    await tree().getByText("answer", { exact: true }).click();
    await heading("answer");
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText("first token").waitFor();
    await page.getByRole("tab", { name: "Files" }).click();
    await expect
      .poll(() =>
        page
          .getByRole("img", { name: "forecast" })
          .evaluate((image) => (image as HTMLImageElement).naturalWidth),
      )
      .toBe(10);
    await page.getByRole("button", { name: "Show as text" }).click();
    await page.getByText("sunny", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Timing" }).click();
    await page.getByText("Self time", { exact: true }).waitFor();
    await page.getByText("172").first().waitFor();
    await page.getByRole("tab", { name: "Code" }).click();
    await page.getByText("new OpenAI().chat.completions.create").waitFor();
    expect(param("panel")).toBe("code");
    await page.getByRole("tab", { name: "Compare" }).click();
    await page.getByLabel("ID of the run to compare with").fill(traceId);
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByText("compared to 1.70 s").waitFor();
    expect(param("vs")).toBe(traceId);
    await page.screenshot({ path: `${screenshots}/trace-compare.png` });
    expect(faults).toEqual([]);
  });

  test("feedback can be added, edited and deleted in the run panel", async () => {
    const { page, faults } = opened;
    await page.goto(`${address}&panel=feedback`);
    await page.getByRole("button", { name: "Add feedback" }).click();
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByText("Enter a key").waitFor();
    await page.getByLabel("Key").fill("correctness");
    await page.getByLabel("Score").fill("0.5");
    await page.getByLabel("Comment", { exact: true }).fill("half right");
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByText("half right").waitFor();
    await page.getByRole("button", { name: "Actions of correctness" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await page.getByLabel("Score").fill("1");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".feedback-line b").getByText("1", { exact: true }).waitFor();
    await page.screenshot({ path: `${screenshots}/trace-feedback.png` });
    await page.getByRole("button", { name: "Actions of correctness" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete feedback" }).click();
    await page.getByText("No feedback yet").waitFor();
    expect(faults).toEqual([]);
  });

  test("a running trace is updated until it ends", async () => {
    const { page, client, faults } = opened;
    const root = client.startRun({ name: "slow-agent" });
    await client.flush();
    await page.goto(`${await opened.projectAddress()}?trace=${root.id}`);
    await heading("slow-agent");
    await page.getByText("Running").first().waitFor();
    const step = root.startChild({ name: "first-step", runType: "tool" });
    await client.flush();
    await tree().getByText("first-step").waitFor();
    step.fail(new Error("no"));
    root.end({ done: true });
    await client.flush();
    await tree().getByText("Error").waitFor();
    await expect.poll(() => page.getByText("Running").count()).toBe(0);
    expect(await names()).toEqual(["slow-agent", "first-step"]);
    expect(faults).toEqual([]);
  });

  test("the SDK's URL of a run opens the run, and a shared run has a public page", async () => {
    const { page, client, server, faults } = opened;
    let runId = "";
    for await (const run of client.runs.list({ traceId, filter: 'eq(name, "answer")' })) {
      runId = run.id;
    }
    await page.goto(`${await opened.projectAddress()}/r/${runId}`);
    await heading("answer");
    expect([param("trace"), param("run")]).toEqual([traceId, runId]);
    const { shareToken } = await client.runs.share(runId);
    await page.goto(`${server.url}/public/${shareToken}/r`);
    await heading("answer");
    await page.getByText("light shirts").first().waitFor();
    await page.screenshot({ path: `${screenshots}/trace-shared.png` });
    await client.runs.unshare(runId);
    await page.reload();
    await page.getByText("The run may no longer be shared").waitFor();
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  test.each([390, 1_024, 1_440])(
    "the tabs of a run are one row, with the open one in view, %i pixels wide",
    async (width) => {
      const { page } = opened;
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${address}&panel=code`);
      await page.getByText("Replay this run").waitFor();
      const tabs = page.getByRole("tablist").getByRole("tab");
      const boxes = await tabs.evaluateAll((elements) =>
        elements.map((element) => element.getBoundingClientRect().top),
      );
      expect(boxes).toHaveLength(9);
      expect(new Set(boxes).size).toBe(1);
      const [row, tab] = await Promise.all([
        page.getByRole("tablist").boundingBox(),
        page.getByRole("tab", { name: "Code" }).boundingBox(),
      ]);
      expect(tab!.x).toBeGreaterThanOrEqual(row!.x - 1);
      expect(tab!.x + tab!.width).toBeLessThanOrEqual(row!.x + row!.width + 1);
      expect(await page.evaluate(() => window.scrollY)).toBe(0);
      expect(opened.faults).toEqual([]);
    },
  );

  test.each([390, 1_024, 1_440])(
    "no name in the tree is cut off, while searching either, %i pixels wide",
    async (width) => {
      const { page } = opened;
      const findCutNames = async (): Promise<readonly string[]> =>
        tree()
          .locator(".name")
          .evaluateAll((elements) =>
            elements
              .filter((element) => element.scrollWidth > element.clientWidth)
              .map((element) => element.textContent ?? ""),
          );
      await page.setViewportSize({ width, height: 800 });
      await page.goto(address);
      await heading("travel-assistant");
      expect(await findCutNames()).toEqual([]);
      const usage = tree().getByRole("treeitem").first().locator(".tree-usage").first();
      expect(await usage.isVisible()).toBe(true);
      // On a phone, the bar of a row is a line below its name, within the row.
      const first = tree().getByRole("treeitem").first();
      const [row, bar] = await Promise.all([
        first.boundingBox(),
        first.locator(".tree-bar").boundingBox(),
      ]);
      expect(bar!.width > row!.width * 0.9).toBe(width === 390);
      expect(bar!.y + bar!.height).toBeLessThanOrEqual(row!.y + row!.height);
      await page.getByRole("searchbox", { name: "Search this trace" }).fill("rome");
      await tree().getByText("in content").first().waitFor();
      expect(await findCutNames()).toEqual([]);
      expect(await findFaults(page)).toEqual([]);
    },
  );

  test("a shared trace shows its whole tree, read only, and reads nothing else of the tenant", async () => {
    const { page, server } = opened;
    const share = { method: "PUT", body: "{}" };
    const response = await fetch(`${server.url}/ui/traces/${traceId}/share`, share);
    const { share_token: token } = (await response.json()) as { readonly share_token: string };
    const requests: string[] = [];
    const onRequest = (request: Request): unknown => requests.push(new URL(request.url()).pathname);
    const faultCount = opened.faults.length;
    // The page that was open before still sends requests of its own.
    await page.goto("about:blank");
    page.on("request", onRequest);
    try {
      await page.goto(`${server.url}/public/${token}/r`);
      await page.locator(".trace-heading").getByText("Shared trace").waitFor();
      await heading("travel-assistant");
      expect(await names()).toEqual([
        "travel-assistant",
        "search-guides",
        "embed-query",
        "plan",
        "weather",
        "http-get",
        "http-get",
        "answer",
        "parse",
      ]);
      await tree().getByRole("treeitem").filter({ hasText: "weather" }).click();
      await heading("weather");
      expect(param("run")).not.toBeNull();
      const tabs = page.getByRole("tab");
      expect(await tabs.allInnerTexts()).toEqual(["Data", "Events", "Metadata", "Files", "Timing"]);
      for (const tab of await tabs.all()) {
        await tab.click();
      }
      await page.getByRole("searchbox", { name: "Search this trace" }).fill("plan");
      await expect.poll(() => page.locator(".tree mark").allInnerTexts()).toEqual(["plan"]);
      expect(await page.getByRole("toolbar", { name: "Actions on the run" }).count()).toBe(0);
      expect(await page.getByRole("navigation").count()).toBe(0);
      await page.screenshot({ path: `${screenshots}/trace-shared-tree.png` });
      expect(opened.faults.slice(faultCount)).toEqual([]);
      await fetch(`${server.url}/ui/traces/${traceId}/share`, { method: "DELETE" });
      await page.reload();
      await page.getByText("The run may no longer be shared").waitFor();
    } finally {
      page.off("request", onRequest);
    }
    const foreign = requests.filter(
      (path) => !/^\/(?:assets\/|public\/|ui\/public\/|favicon)/.test(path),
    );
    expect(foreign).toEqual([]);
  }, 40_000);
});
