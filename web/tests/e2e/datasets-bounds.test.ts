import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)("datasets with any content and size, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let dataDir: string;
  let watched: WatchedPage;
  let tenantId: string;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    server = await startServer({ port: 0, dataDir });
    client = new Client({ endpoint: server.url });
    const settings = (await (await fetch(`${server.url}/settings`)).json()) as { id: string };
    tenantId = settings.id;
    watched = await WatchedPage.open(browser!, server.url);
  });

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const addressOf = (datasetId: string): string =>
    `${server.url}/o/${tenantId}/datasets/${datasetId}`;

  test("any content of an example is shown as plain text", async () => {
    const { page, faults } = watched;
    const { id } = await client.datasets.create({ name: "<img src=x onerror=alert(1)>\u202Exe" });
    const inputs = {
      html: "<script>alert(2)</script>",
      link: "javascript:alert(3)",
      mark: "\u202E",
    };
    await client.examples.create({ datasetId: id, inputs, split: ["<b>bold</b>"] });
    await page.goto(addressOf(id));
    await page.getByRole("link", { name: "<script>alert(2)</script>" }).click();
    const panel = page.getByRole("complementary", { name: "Example" });
    await panel.getByText("javascript:alert(3)").waitFor();
    const name = String.raw`<img src=x onerror=alert(1)>\u202exe`;
    expect(await page.getByRole("heading", { level: 1 }).first().textContent()).toBe(name);
    expect(await page.locator("main script, main img, main b, a[href^='javascript']").count()).toBe(
      0,
    );
    expect(faults).toEqual([]);
  });

  test("a dataset of 100,000 examples opens, shows its count, and scrolls with few rendered rows", async () => {
    const { page, faults } = watched;
    const { id } = await client.datasets.create({ name: "100,000" });
    for (let part = 0; part < 20; part += 1) {
      const rows = Array.from({ length: 5_000 }, (_, index) => ({
        inputs: { question: `Question ${part * 5_000 + index}?` },
      }));
      const body = JSON.stringify(rows);
      await fetch(`${server.url}/ui/datasets/${id}/import`, { method: "POST", body });
    }
    await page.goto(addressOf(id));
    await page.getByText("100,000 examples").waitFor();
    await page.locator(".data-table").hover();
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, 20_000);
          return page.getByRole("link", { name: /Question 9[5-9]\d{3}\?/ }).count();
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(0);
    expect(await page.locator(".data-rows .data-row").count()).toBeLessThan(80);
    expect(faults).toEqual([]);
  }, 90_000);
});
