import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { press } from "../support/key-effects.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
/** A right-to-left override, which would reverse the text after it. */
const hostileTag = "\u202egat";

describe.skipIf(browser === undefined)("facets beside the run list, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "support");
    ({ client, page } = opened);
    for (let index = 0; index < 40; index += 1) {
      const run = client.startRun({
        name: index % 4 === 0 ? "plan" : "answer",
        tags: index % 2 === 0 ? ["beta", hostileTag] : [],
        metadata: {
          [index % 10 === 0 ? "langfuse_user_id" : "user_id"]: index % 5 === 0 ? "ann" : "ben",
          version: "1.2",
        },
      });
      if (index % 4 === 1) {
        run
          .startChild({ name: "model", runType: "llm", metadata: { ls_model_name: "gpt-5" } })
          .end({});
      }
      if (index % 8 === 0) {
        run.fail(new Error("no"));
      } else {
        run.end({ answer: "yes" });
      }
    }
    await client.flush();
    address = await opened.projectAddress();
  }, 60_000);

  beforeEach(async () => {
    opened.faults.length = 0;
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const facets = () => page.getByRole("complementary", { name: "Facets" });
  const value = (name: string) => facets().getByRole("button", { name });
  const shownFilter = () => new URL(page.url()).searchParams.get("filter");
  const rowCount = async () => page.locator("tbody tr").count();

  test("a click on a value filters the list, the counts follow, and a second click removes it", async () => {
    await page.goto(address);
    await page.getByRole("button", { name: "Facets" }).click();
    await facets().getByText("40 matching").waitFor();
    // Until the list has its rows, what is above the facets may still grow and move them.
    await page.locator("tbody tr").first().waitFor();
    await value("plan 10").click();
    await expect.poll(shownFilter).toBe('eq(name, "plan")');
    await facets().getByText("10 matching", { exact: true }).waitFor();
    await expect.poll(rowCount).toBe(10);
    await value("error 5").click();
    await expect.poll(shownFilter).toBe('and(eq(name, "plan"), eq(status, "error"))');
    await expect.poll(rowCount).toBe(5);
    expect(await value("plan 5").getAttribute("aria-pressed")).toBe("true");
    // The other values of a facet can be chosen in addition: their runs are counted without its own condition.
    await value("success 5").waitFor();
    expect(await value("success 5").getAttribute("aria-pressed")).toBe("false");
    await showScreen(page, "facets-filtered");
    await value("success 5").click();
    await expect.poll(shownFilter).toBe('and(eq(name, "plan"), in(status, ["error", "success"]))');
    await page.getByRole("button", { name: "Edit status in [error, success]" }).waitFor();
    await expect.poll(rowCount).toBe(10);
    await value("success 5").click();
    await expect.poll(rowCount).toBe(5);
    await value("answer 0").waitFor({ state: "detached" });
    await value("plan 5").click();
    await expect.poll(shownFilter).toBe('eq(status, "error")');
    expect(opened.faults).toEqual([]);
  });

  test("a count that does not reach all runs is followed by a longer one", async () => {
    const limits: unknown[] = [];
    await page.route("**/ui/runs/facets", async (route) => {
      const body = route.request().postDataJSON() as { readonly time_limit_ms: number };
      limits.push(body.time_limit_ms);
      const response = await route.fetch();
      const isShort = body.time_limit_ms < 2_000;
      await route.fulfill({
        response,
        json: {
          ...((await response.json()) as object),
          ...(isShort ? { runs: 7, counted_to: new Date().toISOString() } : {}),
        },
      });
    });
    onTestFinished(() => page.unroute("**/ui/runs/facets"));
    await page.goto(address);
    await facets().getByText("40 matching").waitFor();
    expect(limits.slice(0, 2)).toEqual([200, 2_000]);
    expect(opened.faults).toEqual([]);
  });

  test("the models of a trace are those of its model calls, and a click finds these traces", async () => {
    await page.goto(address);
    await facets().getByText("40 matching").waitFor();
    await value("gpt-5 10").click();
    await expect.poll(shownFilter).toBe('eq(model, "gpt-5")');
    await facets().getByText("10 matching", { exact: true }).waitFor();
    await expect.poll(rowCount).toBe(10);
    expect(await value("gpt-5 10").getAttribute("aria-pressed")).toBe("true");
    expect(await facets().getByRole("heading", { name: "Model" }).count()).toBe(1);
    await page.getByRole("button", { name: "Edit model = gpt-5" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("the facets stay open and collapsed as they were left, and work by keyboard", async () => {
    await page.goto(address);
    await facets().getByRole("button", { name: "User", exact: true }).focus();
    await value("ann 8").waitFor();
    await press(page, "Enter");
    await expect.poll(async () => value("ann 8").count()).toBe(0);
    await page.reload();
    await value("plan 10").waitFor();
    expect(await value("ann 8").count()).toBe(0);
    await facets().getByRole("button", { name: "User", exact: true }).focus();
    await press(page, "Enter");
    await value("ann 8").focus();
    await press(page, "Enter");
    await expect.poll(shownFilter).toBe('eq(user, "ann")');
    await expect.poll(rowCount).toBe(8);
    expect(opened.faults).toEqual([]);
  });

  test("hidden characters of a value are shown as escapes, and the value can be filtered by", async () => {
    await page.goto(address);
    await value("\\u202egat 20").click();
    await expect.poll(rowCount).toBe(20);
    expect(opened.faults).toEqual([]);
  });

  test.each([
    ["light", 1_440],
    ["dark", 1_024],
    ["dark", 390],
    ["light", 390],
  ] as const)("no fault for axe in the %s scheme, %i pixels wide", async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await page.goto(address);
    await value("plan 10").waitFor();
    await page.getByRole("link", { name: "answer", exact: true }).first().waitFor();
    await showScreen(page, `facets-${colorScheme}-${width}`);
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Facets" }).click();
    await expect.poll(async () => facets().count()).toBe(0);
    await page.getByRole("button", { name: "Facets" }).click();
    expect(opened.faults).toEqual([]);
  });
});
