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

describe.skipIf(browser === undefined)("a trace of a list, in Chromium", () => {
  let opened: OpenedPage;
  let server: RunningServer;
  let client: Client;
  let page: Page;
  let faults: string[];
  let project: string;
  /** Newest first, as in the list. */
  const traceIds: string[] = [];

  beforeAll(async () => {
    opened = await openPage(browser!, "orders");
    ({ server, client, page, faults } = opened);
    for (let index = 0; index < 4; index += 1) {
      traceIds.push(recordTrace(index));
    }
    await client.flush();
    project = await opened.projectAddress();
  }, 60_000);

  beforeEach(async () => {
    faults.length = 0;
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  /** Records an agent with a tool and two model calls; the second trace has many steps. */
  function recordTrace(index: number): string {
    const startTime = Date.now() - (index + 1) * 60_000;
    const root = client.startRun({ name: `order ${index}`, inputs: { n: index }, startTime });
    root
      .startChild({
        name: "find-order",
        runType: "tool",
        inputs: { order_id: "48213" },
        startTime,
      })
      .end({ status: "shipped", carrier: "Vigilant Post" }, { endTime: startTime + 20 });
    for (const tokens of [300, 200]) {
      root
        .startChild({
          name: "model",
          runType: "llm",
          inputs: { messages: [{ role: "user", content: "Where is the parcel?" }] },
          metadata: { ls_model_name: "gpt-4o" },
          startTime: startTime + 30,
        })
        .end(
          {
            text: "With Vigilant Post.",
            usage_metadata: { input_tokens: tokens, output_tokens: 0, total_tokens: tokens },
          },
          { endTime: startTime + 400 },
        );
    }
    for (let step = 0; step < (index === 1 ? 10 : 0); step += 1) {
      root.startChild({ name: `step ${step}`, startTime }).end({}, { endTime: startTime + 5 });
    }
    root.end({ answer: "It is on its way." }, { endTime: startTime + 500 });
    return root.id;
  }

  const heading = (name: string) =>
    page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();
  const param = (name: string): string | null => new URL(page.url()).searchParams.get(name);
  const openTrace = async (index: number, extra = ""): Promise<void> => {
    await page.goto(`${project}?trace=${traceIds[index]}${extra}`);
    await heading(`order ${index}`);
  };
  const call = async (path: string): Promise<unknown> => (await fetch(server.url + path)).json();
  const treeRow = (name: string) =>
    page.getByRole("treeitem").filter({ has: page.getByText(name, { exact: true }) });

  test("the header has the facts of the trace, and each row its tokens and cost", async () => {
    await openTrace(0);
    const facts = page.getByRole("list", { name: "Facts of the trace" });
    await expect
      .poll(() => facts.getByRole("listitem").allInnerTexts())
      .toEqual(["Success", "500 ms", "gpt-4o", "500 tokens", "$0.00125", "4 runs", "1 min ago"]);
    const usageOf = (name: string, nth = 0): Promise<readonly string[]> =>
      treeRow(name).nth(nth).locator(".tree-usage").allInnerTexts();
    await expect.poll(() => usageOf("order 0")).toEqual(["500\ntokens", "$0.00125"]);
    expect(await usageOf("model")).toEqual(["300\ntokens", "$0.00075"]);
    expect(await usageOf("find-order")).toEqual(["", ""]);
    expect(await findFaults(page)).toEqual([]);
    await showScreen(page, "trace-header");
    expect(faults).toEqual([]);
  }, 40_000);

  test("the next and the previous trace of the list are one click or one key away", async () => {
    await page.goto(`${project}?filter=${encodeURIComponent('search("order")')}`);
    await page.getByRole("link", { name: "order 1", exact: true }).click();
    await heading("order 1");
    await page.getByRole("link", { name: "Next trace" }).click();
    await heading("order 2");
    expect(param("filter")).toBe('search("order")');
    await page.keyboard.press("k");
    await heading("order 1");
    await page.keyboard.press("k");
    await heading("order 0");
    await expect
      .poll(() => page.getByRole("button", { name: "Previous trace" }).isDisabled())
      .toBe(true);
    await page.keyboard.press("j");
    await heading("order 1");
    expect(faults).toEqual([]);
  }, 40_000);

  test("an object of one member shows the name of the member", async () => {
    await openTrace(0);
    await treeRow("find-order").click();
    await heading("find-order");
    const inputs = page.getByRole("figure", { name: "Inputs" });
    await expect
      .poll(() => inputs.locator(".payload-text").innerText())
      .toMatch(/^order_id\s+48213$/);
    expect(faults).toEqual([]);
  }, 40_000);

  test("a trace and a run can be shared, added to a dataset and to a queue, and its link copied", async () => {
    await openTrace(0);
    const bar = page.getByRole("toolbar", { name: "Actions on the run" });
    await bar.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Create link" }).click();
    const link = page.locator("dialog pre");
    await link.waitFor();
    const shared = await link.innerText();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    const response = await fetch(shared.replace(/\/r$/, "/run"));
    expect(await response.json()).toMatchObject({ name: "order 0" });
    const scope = await fetch(shared.replace(/\/public\/(.*)\/r$/, "/ui/public/$1"));
    expect(await scope.json()).toEqual({ kind: "trace", run_id: traceIds[0] });
    await bar.getByRole("button", { name: "Shared" }).click();
    await page.getByRole("button", { name: "Stop sharing" }).click();
    await page.getByRole("heading", { name: "Share trace" }).waitFor();
    expect((await fetch(shared.replace(/\/r$/, "/run"))).status).toBe(404);
    // The link to a single run is another one.
    await page.getByText("This run only").click();
    await page.getByRole("heading", { name: "Share run" }).waitFor();
    await page.getByRole("button", { name: "Create link" }).click();
    await link.waitFor();
    const ofRun = (await link.innerText()).split("/").at(-2);
    const read = await fetch(`${opened.server.url}/ui/public/${ofRun}`);
    expect(await read.json()).toEqual({ kind: "run", run_id: traceIds[0] });
    await page.getByRole("button", { name: "Stop sharing" }).click();
    await page.getByRole("button", { name: "Create link" }).waitFor();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    for (const [button, field, path] of [
      ["Add to dataset", "Search for a dataset or enter a new name", "datasets"],
      ["Add to annotation queue", "Search for a queue or enter a new name", "annotation-queues"],
    ] as const) {
      await bar.getByRole("button", { name: button }).click();
      await page.getByRole("textbox", { name: field }).fill("orders");
      await page.getByRole("button", { name: "Create and add 1" }).click();
      await page.getByText("1 run added to").waitFor();
      await page.getByRole("button", { name: "Close", exact: true }).click();
      expect(await call(`/${path}?name=orders`)).toMatchObject([{ name: "orders" }]);
    }
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await bar.getByRole("button", { name: "Copy link" }).click();
    await bar.getByRole("button", { name: "Link copied" }).waitFor();
    const copied = await page.evaluate(async () => navigator.clipboard.readText());
    expect(copied).toBe(`${project}/r/${traceIds[0]}`);
    expect(faults).toEqual([]);
  }, 60_000);

  test("thumbs rate a run as feedback, and a second click takes the rating back", async () => {
    await openTrace(2);
    const up = page.getByRole("button", { name: "Thumbs up" });
    const down = page.getByRole("button", { name: "Thumbs down" });
    const scores = async (): Promise<unknown> =>
      ((await call(`/feedback?run=${traceIds[2]}`)) as { score: unknown }[]).map(
        ({ score }) => score,
      );
    await up.click();
    await expect.poll(() => up.getAttribute("aria-pressed")).toBe("true");
    expect(await scores()).toEqual([1]);
    await down.click();
    await expect.poll(() => down.getAttribute("aria-pressed")).toBe("true");
    expect(await scores()).toEqual([0]);
    await down.click();
    await expect.poll(scores).toEqual([]);
    expect(faults).toEqual([]);
  }, 40_000);

  test("feedback has the name of the person who gave it, and nobody's thumb changes another one's", async () => {
    const signIn = async (name: string): Promise<void> => {
      await page.evaluate(
        (text) => localStorage.setItem("millrace-reviewer", JSON.stringify(text)),
        name,
      );
      await page.reload();
    };
    const up = page.getByRole("button", { name: "Thumbs up" });
    const down = page.getByRole("button", { name: "Thumbs down" });
    const readAll = async (): Promise<unknown> =>
      ((await call(`/feedback?run=${traceIds[1]}`)) as Record<string, unknown>[])
        .map(({ key, score, feedback_source: source }) => ({ key, score, source }))
        .toSorted((left, right) => JSON.stringify(left).localeCompare(JSON.stringify(right)));
    const byApp = (reviewer: string): unknown =>
      expect.objectContaining({ type: "app", metadata: { reviewer } });
    await openTrace(1);
    await signIn("Ann");
    await up.click();
    await expect.poll(() => up.getAttribute("aria-pressed")).toBe("true");
    await signIn("Ben");
    await down.waitFor();
    await expect.poll(() => up.isEnabled()).toBe(true);
    expect(await up.getAttribute("aria-pressed")).toBe("false");
    await down.click();
    await expect.poll(() => down.getAttribute("aria-pressed")).toBe("true");
    await page.getByRole("tab", { name: /^Feedback/ }).click();
    await page.getByRole("button", { name: "Add feedback" }).click();
    await page.getByLabel("Key").fill("tone");
    await page.getByLabel("Score").fill("1");
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.locator(".feedback-end .tag", { hasText: "Ann" }).waitFor();
    await expect.poll(readAll).toEqual([
      { key: "thumbs", score: 0, source: byApp("Ben") },
      { key: "thumbs", score: 1, source: byApp("Ann") },
      { key: "tone", score: 1, source: byApp("Ben") },
    ]);
    await page.evaluate(() => localStorage.removeItem("millrace-reviewer"));
    expect(faults).toEqual([]);
  }, 40_000);

  test("search works as one types, and marks the hits in names and in contents", async () => {
    await openTrace(0);
    await page.keyboard.press("/");
    await page.keyboard.type("find");
    await expect.poll(() => page.locator(".tree mark").allInnerTexts()).toEqual(["find"]);
    await page.getByRole("searchbox", { name: "Search this trace" }).fill("vigilant");
    await page.locator(".tree .tag", { hasText: "in content" }).first().waitFor();
    expect(await page.locator(".tree .tag", { hasText: "in content" }).count()).toBe(3);
    // The marks stay on one line where the rows are narrow, too.
    await page.setViewportSize({ width: 390, height: 900 });
    const heights = await page
      .locator(".tree .tag", { hasText: "in content" })
      .evaluateAll((tags) => tags.map((tag) => tag.getBoundingClientRect().height));
    expect(Math.max(...heights)).toBeLessThan(24);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press("Enter");
    await heading("find-order");
    const marks = (): Promise<readonly string[]> =>
      page.evaluate(() =>
        [...(CSS.highlights.get("search-match") ?? [])].map((range) => (range as Range).toString()),
      );
    await expect.poll(marks).toEqual(["Vigilant"]);
    await showScreen(page, "trace-search-marks");
    await page.getByRole("searchbox", { name: "Search this trace" }).fill("");
    await expect.poll(marks).toEqual([]);
    expect(faults).toEqual([]);
  }, 40_000);

  test("the splitter is moved with the pointer or the keyboard, and stays there after a reload", async () => {
    await openTrace(0);
    const splitter = page.getByRole("separator", { name: "Width of the tree" });
    const treeWidth = async (): Promise<number> =>
      (await page.locator(".tree-side").boundingBox())?.width ?? 0;
    const box = (await splitter.boundingBox())!;
    await page.mouse.move(box.x + 4, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(500, box.y + 200, { steps: 4 });
    await page.mouse.up();
    await expect
      .poll(async () => Math.abs(((await splitter.boundingBox())?.x ?? 0) - 500))
      .toBeLessThan(10);
    const dragged = await treeWidth();
    await splitter.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(treeWidth).toBeGreaterThan(dragged + 10);
    const width = await treeWidth();
    await page.reload();
    await heading("order 0");
    expect(await treeWidth()).toBeCloseTo(width, 0);
    await splitter.dblclick({ position: { x: 4, y: 300 } });
    await expect.poll(treeWidth).toBeGreaterThan(width + 100);
    expect(faults).toEqual([]);
  }, 40_000);

  test("only a trace of ten runs or more has a minimap", async () => {
    await openTrace(0);
    expect(await page.locator(".minimap").count()).toBe(0);
    await openTrace(1);
    await page.locator(".minimap").waitFor();
    expect(faults).toEqual([]);
  }, 40_000);

  test("the tools of a short value appear under the pointer or the focus, without moving its lines", async () => {
    await openTrace(0, "&as=json");
    const view = page.getByRole("figure", { name: "Outputs" }).locator(".json-view");
    const tools = view.locator(".json-tools");
    const opacity = (): Promise<string> =>
      tools.evaluate((element) => getComputedStyle(element).opacity);
    await view.waitFor();
    await page.mouse.move(5, 5);
    await expect.poll(opacity).toBe("0");
    const before = await view.getByRole("treeitem").first().boundingBox();
    await view.hover();
    await expect.poll(opacity).toBe("1");
    expect(await view.getByRole("treeitem").first().boundingBox()).toEqual(before);
    await tools.getByRole("searchbox").fill("its");
    await tools.getByText("1 of 1").waitFor();
    expect(faults).toEqual([]);
  }, 40_000);

  test("messages have an icon of their role, values are colored by their type, and the palette begins with pages", async () => {
    const openRun = async (name: string): Promise<void> => {
      await page
        .getByRole("treeitem", { name: new RegExp(name) })
        .first()
        .click();
      await page.getByRole("heading", { name, exact: true }).waitFor();
    };
    await page.goto(`${project}?trace=${traceIds[0]}`);
    await openRun("model");
    const message = page.locator('.chat-message[data-role="user"]').first();
    await message.locator(".chat-role svg path").waitFor();
    expect(await message.locator(".chat-role").innerText()).toBe("user");
    await openRun("find-order");
    const readColor = async (selector: string): Promise<string> =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => getComputedStyle(element).color);
    await page.locator(".json-key").first().waitFor();
    const colors = await Promise.all(
      [".json-key", '.json-value[data-kind="string"]', "main h1"].map(readColor),
    );
    expect(new Set(colors).size).toBe(3);
    await page.keyboard.press("Control+k");
    const groups = page.getByRole("option").locator(".palette-group");
    await groups.first().waitFor();
    const names = await groups.allInnerTexts();
    expect(names.filter((name) => name !== "")[0]).toBe("Pages");
    await page.keyboard.press("Escape");
    expect(faults).toEqual([]);
  }, 40_000);
});
