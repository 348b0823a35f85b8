import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { measureAction } from "../support/long-tasks.ts";
import { openPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordForest } from "../support/trace-recordings.ts";

const browser = await startBrowser();
const runs = 50_000;

/**
 * Notes in the page how many milliseconds after the next click it has painted a tree. A clock outside of the page would
 * also count how long this test takes to click and to look.
 */
function noteOpening(): void {
  let clickMs: number | undefined;
  addEventListener("click", () => (clickMs ??= performance.now()), { capture: true, once: true });
  const observer = new MutationObserver(() => {
    if (clickMs !== undefined && document.querySelector("[role=tree] [role=treeitem]") !== null) {
      observer.disconnect();
      // The callback of a second frame runs after the first one, which contains the tree, was painted.
      requestAnimationFrame(() =>
        requestAnimationFrame((paintedMs) => {
          document.body.dataset["openMs"] = `${paintedMs - (clickMs ?? 0)}`;
        }),
      );
    }
  });
  observer.observe(document.body, { subtree: true, childList: true });
}

describe.skipIf(browser === undefined)("a trace of 50,000 runs, in Chromium", () => {
  let opened: OpenedPage;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "forest");
    const traceId = await recordForest(opened.client, runs);
    address = `${await opened.projectAddress()}?trace=${traceId}`;
    // The server indexes the new runs in the background. The first answer shows that it has time for reads again.
    const response = await fetch(`${opened.server.url}/ui/traces/${traceId}`);
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`the server can't read the trace: ${text}`);
    }
  }, 180_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened.close();
    await browser?.close();
  });

  const measure = (name: string, action: () => Promise<void>): Promise<void> =>
    measureAction(opened.page, name, action);

  const tree = () => opened.page.getByRole("tree", { name: "Runs of the trace" });
  const heading = (name: string) =>
    opened.page.getByRole("heading", { name, exact: true }).waitFor();

  const leaveTrace = async (): Promise<void> => {
    await opened.page
      .goto(`${opened.server.url}/settings`, { waitUntil: "commit" })
      .catch(() => undefined);
    await opened.page.goto(opened.server.url);
    await opened.page.getByRole("heading", { name: "Overview" }).waitFor();
  };

  const waitUntilOpen = async (): Promise<void> => {
    await opened.page.getByText("50,000 runs").waitFor({ timeout: 60_000 });
    await tree().getByRole("treeitem").first().waitFor();
  };

  /** Opens the trace as a link in the UI does. */
  const openTrace = async (): Promise<void> => {
    await opened.page.evaluate((to) => {
      history.pushState(undefined, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
    }, address);
    await waitUntilOpen();
  };

  test("it can be used a second after it was opened", async ({ annotate }) => {
    // Without the browser's tracing, which slows the page down.
    await opened.page.goto(await opened.projectAddress());
    const row = opened.page.getByRole("link", { name: "forest", exact: true });
    await row.waitFor({ timeout: 60_000 });
    // The time in which a person finds the row.
    await setTimeout(1_000);
    await opened.page.evaluate(noteOpening);
    const startMs = performance.now();
    await row.click();
    await waitUntilOpen();
    const openMs = Number(
      await opened.page.locator("body[data-open-ms]").getAttribute("data-open-ms"),
    );
    await opened.page.keyboard.press("End");
    await heading("call 49999");
    const usedMs = performance.now() - startMs;
    await annotate(
      `painted ${openMs.toFixed(0)} ms after the click; the test sees the last run after ${usedMs.toFixed(0)} ms`,
    );
    expect(openMs).toBeGreaterThan(0);
    // A second on a machine that does nothing else; other tests run beside this one.
    expect(openMs).toBeLessThan(5_000);
    expect(opened.faults).toEqual([]);
  }, 120_000);

  test("it can be opened, scrolled, searched, zoomed and collapsed without long tasks", async () => {
    const { page, faults } = opened;
    await leaveTrace();
    await measure("open", openTrace);
    expect(await tree().getByRole("treeitem").count()).toBeLessThan(80);
    await measure("scroll", async () => {
      await tree().hover();
      for (let turn = 0; turn < 40; turn += 1) {
        // Sequential, like the events of a wheel.
        await page.mouse.wheel(0, 20_000);
      }
    });
    await measure("last run by key", async () => {
      await page.keyboard.press("End");
      await heading("call 49999");
    });
    await measure("search a name", async () => {
      await page.getByLabel("Search this trace").fill("step 40");
      await page.getByText("23", { exact: true }).waitFor();
    });
    await measure("search what runs hold", async () => {
      await page.getByLabel("Search this trace").fill("needle-in-the-payload");
      await page.getByText("1", { exact: true }).waitFor();
      await page.keyboard.press("Enter");
      await heading("call 43210");
    });
    await tree().focus();
    await measure("zoom", async () => {
      for (const key of ["z", "-", "-", "-", "[", "]", "+"]) {
        await page.keyboard.press(key);
      }
      await expect.poll(() => new URL(page.url()).searchParams.has("zoom")).toBe(true);
    });
    await page.screenshot({ path: `${screenshots}/trace-large-zoomed.png` });
    await measure("errors alone, next error, critical path", async () => {
      await page.keyboard.press("0");
      await page.keyboard.press("x");
      await page.keyboard.press("p");
      await page.keyboard.press("e");
      await heading("call 43868");
    });
    await page.screenshot({ path: `${screenshots}/trace-large-errors.png` });
    await measure("fold by type", async () => {
      await page.keyboard.press("x");
      await page.getByRole("button", { name: "Types" }).click();
      await page.getByText("Hide").first().click();
      await expect.poll(() => new URL(page.url()).searchParams.has("hide")).toBe(true);
    });
    expect(faults).toEqual([]);
  }, 240_000);
});
