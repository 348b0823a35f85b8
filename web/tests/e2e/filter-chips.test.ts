import type { Client } from "millrace";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";

const browser = await startBrowser();
/** Eleven conditions, of which the second one is long. */
const conditions = [
  'neq(status, "pending")',
  'neq(name, "a long name of a run that nobody would type into a filter by hand")',
  'gt(latency, "1s")',
  'lt(latency, "30s")',
  "gt(tokens, 5)",
  'has(tags, "beta")',
  'eq(metadata.user_id, "ann")',
  'eq(metadata.version, "1.2")',
  'neq(run_type, "tool")',
  'eq(feedback_key, "helpful")',
  'search("order")',
];

describe.skipIf(browser === undefined)("the conditions of a filter, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "support");
    ({ client, page } = opened);
    const at = Date.now() - 60_000;
    for (let index = 0; index < 12; index += 1) {
      const run = client.startRun({
        name: "answer",
        tags: ["beta"],
        metadata: { user_id: "ann", version: "1.2" },
        startTime: at + index,
      });
      run.end({ answer: "yes" }, { endTime: at + index + 250 * (index + 1) });
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

  const bar = () => page.getByRole("search", { name: "Filter runs" });
  const chips = () => bar().getByRole("list", { name: "Filter conditions" }).getByRole("listitem");
  const withFilter = (filter: string) => `${address}?filter=${encodeURIComponent(filter)}`;
  const shownFilter = () => new URL(page.url()).searchParams.get("filter");

  const readBox = async (locator: Locator) => {
    const box = await locator.boundingBox();
    expect(box).not.toBeNull();
    return { left: box!.x, right: box!.x + box!.width, top: box!.y, bottom: box!.y + box!.height };
  };

  /** Whether the whole element is in view: it is hit at both of its ends. */
  const isInView = (locator: Locator): Promise<boolean> =>
    locator.evaluate((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const middle = (top + bottom) / 2;
      return [left + 2, right - 2].every((x) =>
        element.contains(document.elementFromPoint(x, middle)),
      );
    });

  test.each([1440, 1024, 390])(
    "are one row that scrolls sideways, %i pixels wide",
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(withFilter(`and(${conditions.join(", ")})`));
      await expect.poll(() => chips().count()).toBe(conditions.length);
      const boxes = await Promise.all((await chips().all()).map(readBox));
      expect(new Set(boxes.map(({ top }) => top)).size).toBe(1);
      const line = await readBox(bar().locator(".filter-line"));
      expect(line.bottom - line.top).toBeLessThan(40);
      const input = await readBox(bar().getByRole("combobox", { name: "Filter" }));
      const clear = await readBox(bar().getByRole("button", { name: "Clear filter" }));
      expect(input.right - input.left).toBeGreaterThan(100);
      expect(clear.right).toBeLessThanOrEqual(width);
      expect(await isInView(bar().getByRole("button", { name: "Clear filter" }))).toBe(true);
      // The chips end before the input, and the page itself does not scroll sideways.
      const row = await readBox(bar().locator(".filter-chips-row"));
      expect(row.right).toBeLessThanOrEqual(input.left + 1);
      expect(row.right - row.left).toBeGreaterThan(100);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      // A mark shows that there is more at the right.
      expect(await isInView(bar().locator('.filter-chips-more[data-side="end"]'))).toBe(true);
      expect(await bar().locator('.filter-chips-more[data-side="start"]').count()).toBe(0);
      await page.screenshot({ path: `${screenshots}/filter-chips-${width}.png` });
      expect(await findFaults(page)).toEqual([]);
      // A click on the mark scrolls; at the end there is no more.
      const endMark = bar().locator('.filter-chips-more[data-side="end"]');
      await expect
        .poll(async () => {
          // Evaluated, because the mark disappears at the end.
          await endMark.evaluateAll((marks) =>
            marks.forEach((mark) => (mark as HTMLElement).click()),
          );
          return endMark.count();
        })
        .toBe(0);
      await expect.poll(() => isInView(chips().last())).toBe(true);
      await bar().locator('.filter-chips-more[data-side="start"]').waitFor();
      await page.screenshot({ path: `${screenshots}/filter-chips-end-${width}.png` });
      expect(opened.faults).toEqual([]);
    },
    40_000,
  );

  test.each([1440, 390])(
    "come into view when the keyboard reaches them, %i pixels wide",
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(withFilter(`and(${conditions.join(", ")})`));
      await expect.poll(() => chips().count()).toBe(conditions.length);
      const buttons = await chips().getByRole("button").all();
      expect(buttons).toHaveLength(2 * conditions.length);
      await buttons[0]?.focus();
      for (const button of buttons) {
        await expect.poll(() => button.evaluate((it) => it === document.activeElement)).toBe(true);
        await expect.poll(() => isInView(button)).toBe(true);
        await page.keyboard.press("Tab");
      }
      const input = bar().getByRole("combobox", { name: "Filter" });
      expect(await input.evaluate((it) => it === document.activeElement)).toBe(true);
      expect(opened.faults).toEqual([]);
    },
    40_000,
  );

  test("a new condition comes into view", async () => {
    await page.goto(withFilter(`and(${conditions.slice(0, -1).join(", ")})`));
    await expect.poll(() => chips().count()).toBe(conditions.length - 1);
    const input = bar().getByRole("combobox", { name: "Filter" });
    await input.fill("cost < 1");
    await input.press("Enter");
    await expect.poll(() => chips().count()).toBe(conditions.length);
    await expect.poll(() => isInView(chips().last())).toBe(true);
    expect(await chips().last().textContent()).toContain("cost < 1");
    expect(opened.faults).toEqual([]);
  });

  const menu = (name: string) => bar().getByRole("button", { name: `Filter by ${name}` });
  const menuTexts = () => menu("").allTextContents();
  const activeMenus = () =>
    bar()
      .locator("button[data-active]")
      .evaluateAll((buttons) => buttons.map((button) => button.textContent));
  const checkedItems = () =>
    page.locator('[role="menuitemradio"][aria-checked="true"]').allTextContents();

  test("only the chip has the text of a condition; the quick filter is marked, and keeps its label", async () => {
    const labels = ["Status", "Run type", "Latency", "Tag", "Metadata", "Feedback"];
    await page.goto(withFilter('gt(latency, "1s")'));
    await bar().getByRole("button", { name: "Edit latency > 1s" }).waitFor();
    await expect.poll(activeMenus).toEqual(["Latency"]);
    expect(await menuTexts()).toEqual(labels);
    expect(await bar().textContent()).not.toContain("≥ 1 s");
    await page.screenshot({ path: `${screenshots}/quick-filters.png` });
    // The menu has no item for this condition, so none is checked.
    await menu("latency").click();
    await page.getByRole("menuitemradio", { name: "≥ 1 s" }).waitFor();
    expect(await checkedItems()).toEqual([]);
    await page.getByRole("menuitemradio", { name: "≥ 1 s" }).click();
    await expect.poll(shownFilter).toBe('gte(latency, "1s")');
    await bar().getByRole("button", { name: "Edit latency >= 1s" }).waitFor();
    await menu("latency").click();
    await page.getByRole("menuitemradio", { name: "≥ 1 s" }).waitFor();
    expect(await checkedItems()).toEqual(["≥ 1 s"]);
    await page.screenshot({ path: `${screenshots}/quick-filters-menu.png` });
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("menuitemradio", { name: "Any" }).click();
    await expect.poll(shownFilter).toBeNull();
    expect(await activeMenus()).toEqual([]);
    expect(await menuTexts()).toEqual(labels);
    expect(opened.faults).toEqual([]);
  });

  test("each condition marks the quick filter of its field, however it was entered", async () => {
    await page.goto(withFilter('in(status, ["error", "success"])'));
    await expect.poll(activeMenus).toEqual(["Status"]);
    await page.goto(
      withFilter(
        'and(eq(metadata.user_id, "ann"), has(tags, "beta"), and(eq(feedback_key, "ok"), gte(feedback_score, 0.5)))',
      ),
    );
    await expect.poll(activeMenus).toEqual(["Tag", "Metadata", "Feedback"]);
    // The facet of a chosen value stays marked: it is a list in which several values can be chosen.
    await page.goto(withFilter('eq(status, "success")'));
    await page.getByRole("button", { name: "Facets" }).click();
    const facets = page.getByRole("complementary", { name: "Facets" });
    const success = facets.getByRole("button", { name: /^success 12/ });
    await success.waitFor();
    expect(await success.getAttribute("aria-pressed")).toBe("true");
    expect(await activeMenus()).toEqual(["Status"]);
    expect(opened.faults).toEqual([]);
  });

  test("the quick filters work with the keyboard", async () => {
    await page.goto(address);
    await menu("status").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitemradio", { name: "Error" }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Any");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(shownFilter).toBe('eq(status, "success")');
    await expect
      .poll(() => menu("status").evaluate((it) => it === document.activeElement))
      .toBe(true);
    expect(opened.faults).toEqual([]);
  });
});
