import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { recordAnswer, recordHostile, recordLarge, recordMany } from "../support/recordings.ts";

const browser = await startBrowser();
const screenshots = "temp/web";
const pageOptions = { timeout: 10_000 };

describe.skipIf(browser === undefined)("the main views, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let dataDir: string;
  let page: Page;
  /** Exceptions, violations of the Content-Security-Policy, and requests to other hosts. */
  const faults: string[] = [];

  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    server = await startServer({ port: 0, dataDir });
    client = new Client({ endpoint: server.url, projectName: "ask-the-docs" });
    page = await browser!.context.newPage();
    page.setDefaultTimeout(pageOptions.timeout);
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (line) => line.type() === "error" && faults.push(line.text()));
    page.on("dialog", (dialog) => {
      faults.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url)) {
        faults.push(`a request to ${request.url()}`);
      }
    });
  });

  beforeEach(() => {
    faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const projectAddress = async (): Promise<string> => {
    const response = await fetch(`${server.url}/sessions?name=ask-the-docs`);
    const [project] = (await response.json()) as readonly { id: string; tenant_id: string }[];
    return `${server.url}/o/${project?.tenant_id}/projects/p/${project?.id}`;
  };

  test("an empty server explains how to record a run, and then shows its project", async () => {
    await page.goto(server.url);
    await page.getByText("No runs yet").waitFor();
    expect(await page.locator("pre").nth(1).textContent()).toContain(server.url);
    await recordAnswer(client);
    await page.getByRole("link", { name: "ask-the-docs", exact: true }).click();
    await page.getByRole("link", { name: "ask", exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  test("a trace opens from the list with its tree and the inputs of the clicked run", async () => {
    await page.goto(await projectAddress());
    await page.getByRole("link", { name: "ask", exact: true }).click();
    const rows = page.getByRole("tree", { name: "Runs of the trace" }).getByRole("treeitem");
    await rows.nth(4).waitFor();
    expect(await rows.count()).toBe(5);
    await rows.filter({ hasText: "search" }).click();
    await page.getByText("How do I set a timeout?").first().waitFor();
    expect(new URL(page.url()).searchParams.get("run")).not.toBeNull();
    await page.screenshot({ path: `${screenshots}/trace.png` });
    await page.reload();
    await page.getByRole("heading", { name: "search" }).waitFor();
    expect(faults).toEqual([]);
  });

  test("the arrow keys move through the tree, and a failed run shows its error", async () => {
    const traceId = await recordAnswer(client, "fail");
    await page.goto(`${await projectAddress()}?trace=${traceId}`);
    await page.getByRole("heading", { name: "ask" }).waitFor();
    for (const _ of [1, 2, 3]) {
      await page.keyboard.press("ArrowDown");
    }
    await page.getByRole("heading", { name: "answer" }).waitFor();
    await page.getByText("the model did not answer").waitFor();
    await page.keyboard.press("ArrowUp");
    await page.getByRole("heading", { name: "assemble-prompt" }).waitFor();
    expect(faults).toEqual([]);
  });

  test("new traces appear automatically and older ones on scrolling, with few rows rendered", async () => {
    await recordMany(client, 250);
    await page.goto(await projectAddress());
    await page.getByRole("link", { name: "many 249" }).waitFor();
    client.startRun({ name: "just now" }).end();
    await client.flush();
    await page.getByRole("link", { name: "just now" }).waitFor();
    await page.locator(".data-table").hover();
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, 4_000);
          return page.getByRole("link", { name: "many 0", exact: true }).count();
        },
        { timeout: 10_000 },
      )
      .toBe(1);
    expect(await page.locator("tbody tr").count()).toBeLessThan(80);
    expect(faults).toEqual([]);
  });

  test("any content of a run is shown as plain text", async () => {
    const traceId = await recordHostile(client);
    await page.goto(`${await projectAddress()}?trace=${traceId}`);
    await page.getByText("<img src=x onerror=alert(1)>").waitFor();
    await page.getByText("javascript:alert(2)").waitFor();
    const name = String.raw`<script>alert(0)</script>\u202egnp.exe`;
    expect(await page.getByRole("heading").textContent()).toBe(name);
    expect(await page.locator("main script, main img, a[href^='javascript']").count()).toBe(0);
    await page.goto(await projectAddress());
    await page.getByRole("link", { name }).waitFor();
    expect(faults).toEqual([]);
  });

  test("a trace of 10,000 runs opens, and one key selects its last run", async () => {
    const traceId = await recordLarge(client, 10_000);
    await page.goto(`${await projectAddress()}?trace=${traceId}`);
    await page.getByText("10,000 runs").waitFor();
    await page.keyboard.press("End");
    await page.getByRole("heading", { name: "step 9999" }).waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(100);
    expect(faults).toEqual([]);
  }, 30_000);

  test("a missing trace and an unreachable server are reported", async () => {
    const unknown = "00000000-0000-4000-8000-000000000000";
    await page.goto(`${await projectAddress()}?trace=${unknown}`);
    await page.getByText("Trace not found").waitFor();
    await page.route("**/sessions*", (route) => route.abort());
    await page.goto(server.url);
    await page.getByRole("alert").getByText("The server is not responding.").waitFor();
    await page.unroute("**/sessions*");
    await page
      .getByRole("button", { name: "Try again" })
      .click({ timeout: 1_000 })
      // The UI may already have reconnected by itself, which removes the button.
      .catch(() => undefined);
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    await expect.poll(async () => page.getByRole("alert").count()).toBe(0);
  });
});
