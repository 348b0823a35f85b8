import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { press } from "../support/key-effects.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { plainFilters } from "../support/plain-filters.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const project = "support";
const failed = 'eq(status, "error")';
/** The same filter as people see it. */
const plainFailed = "status = error";

/** Whether a click on the lower edge of each element would reach the element. */
const areHit = (elements: readonly Element[]): readonly boolean[] =>
  elements.map((element) => {
    const { left, width, bottom } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(left + width / 2, bottom - 2));
  });

describe.skipIf(browser === undefined)("the saved views of a project, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, project);
    ({ client, page } = opened);
    client.startRun({ name: "good" }).end({ answer: "yes" });
    client.startRun({ name: "bad" }).fail(new Error("no"));
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

  const storedViews = async (): Promise<readonly (readonly [string, string | undefined])[]> => {
    const views = await client.views.list({ projectName: project }).toArray();
    return views.map(({ name, filter }) => [name, filter]);
  };
  const table = () => page.getByRole("table", { name: "saved views" });
  const row = (name: string) => table().getByRole("row").filter({ hasText: name });
  const dialog = (name: string) => page.getByRole("dialog", { name });

  test("a project without views says so, on a page that its run list links to", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "Saved views" }).click();
    await page.getByText("No saved views yet").waitFor();
    await showScreen(page, "views-empty");
    expect(await page.title()).toBe("Saved views · Millrace");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("the filter of the run list can be saved under a name", async () => {
    await page.goto(`${address}?filter=${encodeURIComponent(failed)}`);
    await page.getByRole("link", { name: "bad", exact: true }).waitFor();
    await page.getByRole("link", { name: "Saved views" }).click();
    await page.getByRole("button", { name: "Save current view" }).click();
    const form = dialog("New view");
    expect(await form.getByLabel("Filter").inputValue()).toBe(plainFailed);
    expect(await form.getByRole("button", { name: "Create view" }).isDisabled()).toBe(true);
    await form.getByLabel("Name").fill("Failed runs");
    await form.getByLabel("Description").fill("For the daily review");
    await showScreen(page, "views-form");
    await press(page, "Enter");
    await row("Failed runs").filter({ hasText: plainFailed }).waitFor();
    expect(await row("Failed runs").textContent()).toContain("For the daily review");
    expect(await storedViews()).toEqual([["Failed runs", failed]]);
    expect(opened.faults).toEqual([]);
  });

  test("the keyboard opens a view: the run list shows the runs that match, and no others", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "good", exact: true }).waitFor();
    await press(page, "g", "v");
    await row("Failed runs").waitFor();
    await press(page, "j", "Enter");
    await page.getByRole("link", { name: "bad", exact: true }).waitFor();
    await expect.poll(async () => page.locator("tbody tr").count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("filter")).toBe(failed);
    // The list names the view, and says when it no longer shows it.
    const mark = page.locator(".open-view");
    await expect.poll(async () => mark.textContent()).toBe("View: Failed runs");
    await page.goto(`${page.url()}&last=7d`);
    await expect.poll(async () => mark.textContent()).toBe("View: Failed runs (changed)");
    await mark.getByRole("button", { name: "Close view" }).click();
    await page.getByRole("link", { name: "good", exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    expect(opened.faults).toEqual([]);
  });

  test("a view has an address that others can open, and that follows its changes", async () => {
    await page.goto(`${address}/views`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await row("Failed runs").getByRole("button", { name: "Actions on Failed runs" }).click();
    await page.getByRole("menuitem", { name: "Copy link" }).click();
    await page.getByText("Link copied").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const [view] = await client.views.list({ projectName: project }).toArray();
    expect(link).toBe(`${address}/views/${view?.id}`);
    await page.goto(link);
    await page.getByRole("link", { name: "bad", exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("filter")).toBe(failed);
    const viewId = view?.id ?? "";
    const changed = 'eq(name, "good")';
    await client.views.update({ projectName: project, viewId, filter: changed });
    await page.goto(link);
    await page.getByRole("link", { name: "good", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "bad", exact: true }).count()).toBe(0);
    await client.views.update({ projectName: project, viewId, filter: failed });
    await page.goto(`${address}/views/8a1c3c70-0000-4000-8000-000000000001`);
    await page.getByText("This view does not exist. It may have been deleted.").waitFor();
    opened.faults.length = 0; // The browser reports the answer 404 as a fault.
  });

  test("a view keeps which runs the list shows, of which time and in which order", async () => {
    await page.goto(`${address}?all=true&last=7d&sort=latency-desc&filter=good`);
    await page.getByRole("link", { name: "good", exact: true }).waitFor();
    await page.getByRole("link", { name: "Saved views" }).click();
    await page.getByRole("button", { name: "Save current view" }).click();
    const form = dialog("New view");
    await form.getByText("all runs, last 7 days, slowest first").waitFor();
    await form.getByLabel("Name").fill("Slow good");
    await form.getByRole("button", { name: "Create view" }).click();
    await row("Slow good").filter({ hasText: "(all runs, last 7 days, slowest first)" }).waitFor();
    await row("Slow good").getByRole("link").click();
    await page.getByRole("link", { name: "good", exact: true }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({
      all: "true",
      last: "7d",
      sort: "latency-desc",
      filter: 'search("good")',
      view: expect.any(String) as unknown,
    });
    const [view] = await client.views
      .list({ projectName: project })
      .toArray()
      .then((views) => views.filter(({ name }) => name === "Slow good"));
    await client.views.delete({ projectName: project, viewId: view?.id ?? "" });
    expect(opened.faults).toEqual([]);
  });

  test("a view with a condition on other runs is listed, but does not open a list that ignores it", async () => {
    const traceFilter = 'eq(name, "bad")';
    await client.views.create({ projectName: project, name: "Below bad", traceFilter });
    await page.goto(`${address}/views`);
    await row("Below bad")
      .filter({ hasText: "(usable only from the SDK)root run: name = bad" })
      .waitFor();
    await showScreen(page, "views");
    expect(await row("Below bad").getByRole("link").count()).toBe(0);
    expect(await row("Failed runs").getByRole("link").count()).toBe(1);
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("a view can be renamed; an invalid filter is refused with the reason, and the entries stay", async () => {
    await page.goto(`${address}/views`);
    await page.getByRole("button", { name: "Actions on Failed runs" }).click();
    await page.getByRole("menuitem", { name: "Edit view" }).click();
    const form = dialog("Edit view");
    await form.getByLabel("Name").fill("Errors");
    await form.getByLabel("Filter").fill("eq(status");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText(/^Expected .*, found the end of the filter/).waitFor();
    await form.getByRole("alert").filter({ hasText: "Check the marked field." }).waitFor();
    await showScreen(page, "views-invalid-filter");
    expect(await form.getByLabel("Name").inputValue()).toBe("Errors");
    expect(await storedViews()).toContainEqual(["Failed runs", failed]);
    opened.faults.length = 0;
    await form.getByLabel("Filter").fill(plainFailed);
    await form.getByRole("button", { name: "Save" }).click();
    await row("Errors").waitFor();
    expect(await row("Failed runs").count()).toBe(0);
    expect(await storedViews()).toContainEqual(["Errors", failed]);
    expect(opened.faults).toEqual([]);
  });

  test("the server reads a filter in the form that people see as the same filter", async () => {
    const readFunctions = async (filter: string): Promise<unknown> => {
      const body = JSON.stringify({ of: "runs", filter });
      const response = await fetch(`${opened.server.url}/ui/filters/check`, {
        method: "POST",
        body,
      });
      return response.json();
    };
    for (const [functions, plain] of plainFilters) {
      const read = await readFunctions(plain);
      expect(read).toMatchObject({ fault: null });
      expect(read).toEqual(await readFunctions(functions));
    }
  });

  const deleteErrors = async (): Promise<void> => {
    await page.getByRole("button", { name: "Actions on Errors" }).click();
    await page.getByRole("menuitem", { name: "Delete view" }).click();
  };

  test("no other row and no edge of the list covers an item of a row's menu", async () => {
    await page.goto(`${address}/views`);
    // The first view has no link, because the run list can't open it.
    for (const [name, count] of [
      ["Below bad", 2],
      ["Errors", 3],
    ] as const) {
      await page.getByRole("button", { name: `Actions on ${name}` }).click();
      const items = page.getByRole("menuitem");
      await items.first().waitFor();
      // The menu is placed after it is rendered.
      await expect
        .poll(() => items.evaluateAll(areHit))
        .toEqual(Array.from({ length: count }, () => true));
      await page.keyboard.press("Escape");
      await items.first().waitFor({ state: "detached" });
    }
  });

  test("a view is deleted after a confirmation, and the runs stay", async () => {
    await page.goto(`${address}/views`);
    await deleteErrors();
    await dialog("Delete Errors?").getByRole("button", { name: "Cancel" }).click();
    expect(await storedViews()).toHaveLength(2);
    await deleteErrors();
    await dialog("Delete Errors?").getByRole("button", { name: "Delete view" }).click();
    await row("Errors").waitFor({ state: "detached" });
    expect((await storedViews()).map(([name]) => name)).toEqual(["Below bad"]);
    await page.getByRole("link", { name: project }).click();
    await page.getByRole("link", { name: "bad", exact: true }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("a stored filter that is invalid now is named so, and its view opens no list that ignores it", async () => {
    await client.views.create({ projectName: project, name: "Old", filter: failed });
    await page.route("**/sessions/*/views*", async (route) => {
      const response = await route.fetch();
      const text = JSON.stringify(await response.json());
      const stored = JSON.stringify(failed);
      const body = text.replaceAll(stored, JSON.stringify("eq(colour, 1)"));
      await route.fulfill({ response, body });
    });
    await page.goto(`${address}/views`);
    const mark = row("Old").getByText("Invalid filter");
    await mark.waitFor();
    expect(await mark.getAttribute("title")).toContain("colour");
    expect(await row("Below bad").getByText("Invalid filter").count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await row("Old").getByRole("link").click();
    await page.getByText("The filter in the URL is not valid").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(0);
    await page.unroute("**/sessions/*/views*");
    // The browser logs the expected response 422 of the list's first request.
    expect(opened.faults.filter((fault) => !fault.includes("422"))).toEqual([]);
  });
});
