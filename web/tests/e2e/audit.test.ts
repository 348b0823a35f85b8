import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const hostileName = `\u202Egnp.exe <img src=x onerror=alert(1)>`;

describe.skipIf(browser === undefined)("the audit log, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  let address: string;

  const send = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(opened.server.url + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  beforeAll(async () => {
    opened = await openPage(browser!, "p");
    ({ page } = opened);
    await send("POST", "/sessions", { name: "p" });
    await send("POST", "/datasets", { name: hostileName });
    await send("POST", "/datasets", { name: hostileName });
    await send("PUT", "/ui/retention", { days: 30 });
    const projectAddress = await opened.projectAddress();
    address = `${projectAddress.split("/projects/")[0]}/settings`;
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const table = () => page.getByRole("table", { name: "audit entries" });
  /** The actions of the rows, from the top. */
  const actions = async (): Promise<readonly string[]> => {
    const rows = await table().getByRole("row").allInnerTexts();
    return rows.slice(1).map((text) => text.split("\n")[0] ?? "");
  };

  test("it lists who changed what, reached from the settings, with hostile names as text", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "Open audit log" }).click();
    await table().getByText("Set retention settings").waitFor();
    expect(await actions()).toEqual([
      "Set retention settings",
      "Create dataset",
      "Create dataset",
      "Create project",
    ]);
    const refused = table().getByRole("row").filter({ hasText: "Failed (409)" });
    expect(await refused.textContent()).toContain("No key");
    expect(await table().getByRole("row").nth(3).textContent()).toContain(
      "\\u202egnp.exe <img src=x onerror=alert(1)>",
    );
    await page.getByText("Entries are kept for 365 days").waitFor();
    await showScreen(page, "audit");
    expect(await page.title()).toBe("Audit log · Millrace");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("filters are in the URL, and a link with filters shows the same entries", async () => {
    await page.goto(`${address}/audit`);
    await page.getByLabel("Outcome").selectOption("Failed");
    await expect.poll(actions).toEqual(["Create dataset"]);
    expect(new URL(page.url()).search).toBe("?outcome=failed");
    await page.reload();
    await expect.poll(actions).toEqual(["Create dataset"]);
    await page.getByLabel("Action").selectOption("create project");
    await page.getByText("No matching entries").waitFor();
    await page.goto(`${address}/audit?action=fromAnotherVersion`);
    await page.getByText("422").first().waitFor();
    expect(await page.getByLabel("Action").inputValue()).toBe("fromAnotherVersion");
  });

  test("the name of an actor filters by the actor, and the filter can be removed", async () => {
    await page.goto(`${address}/audit`);
    await table().getByRole("link", { name: "No key" }).first().click();
    const chip = page.getByRole("button", { name: "Actor: open" });
    await chip.waitFor();
    expect(new URL(page.url()).search).toBe("?actor=open");
    await chip.click();
    await chip.waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("");
  });

  test("the entries that match the filters can be saved as JSON Lines", async () => {
    await page.goto(`${address}/audit?outcome=succeeded&action=createProject`);
    await table().getByText("Create project").waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export JSONL" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("audit.jsonl");
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { action: "createProject", actor: { kind: "open" }, outcome: "succeeded" },
    ]);
    expect(opened.faults).toEqual([]);
  });

  test("it fits a phone, and the dark theme has enough contrast", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${address}/audit`);
    await table().getByText("Set retention settings").waitFor();
    await showScreen(page, "audit-phone-dark");
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
    expect(await findFaults(page)).toEqual([]);
  });
});
