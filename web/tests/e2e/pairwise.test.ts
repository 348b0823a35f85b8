import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";
import type { OpenedPage } from "../support/opened-page.ts";

const browser = await startBrowser();
/** More experiments than one page of the list contains. */
const experimentCount = 60;

describe.skipIf(browser === undefined)("the experiments of a dataset, in Chromium", () => {
  let opened: OpenedPage;
  let address: string;
  let datasetId: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "experiments");
    const { client, server } = opened;
    const dataset = await client.datasets.create({ name: "questions" });
    datasetId = dataset.id;
    for (let index = 0; index < experimentCount; index += 1) {
      // The names are not in the order of creation.
      const body = {
        name: `variant ${(index * 37) % experimentCount}, number ${index}`,
        start_time: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
        reference_dataset_id: datasetId,
      };
      await fetch(`${server.url}/sessions`, { method: "POST", body: JSON.stringify(body) });
    }
    const tenant = (await (await fetch(`${server.url}/settings`)).json()) as { id: string };
    address = `${server.url}/o/${tenant.id}/datasets/${datasetId}`;
  }, 60_000);

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  }, 60_000);

  test("the newest come first, and the oldest load on scrolling", async () => {
    const { page, faults } = opened;
    await page.goto(`${address}?tab=experiments`);
    const rows = page.locator(".data-rows tr");
    await rows
      .first()
      .getByText(`number ${experimentCount - 1}`)
      .waitFor();
    await page.locator(".data-table").hover();
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, 4_000);
          return rows.getByText(/number 0$/).count();
        },
        { timeout: 10_000 },
      )
      .toBe(1);
    expect(faults).toEqual([]);
  }, 60_000);

  test("two selected experiments become a pairwise comparison, which opens and is listed", async () => {
    const { page, faults, server } = opened;
    await page.goto(`${address}?tab=experiments`);
    await page.getByRole("checkbox").nth(1).check();
    expect(await page.getByRole("button", { name: "New pairwise comparison" }).count()).toBe(0);
    await page.getByRole("checkbox").nth(2).check();
    await page.getByRole("button", { name: "New pairwise comparison" }).click();
    await page.getByLabel("Name").fill("which is kinder");
    await page.screenshot({ path: `${screenshots}/pairwise-new.png` });
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL((url) => url.searchParams.has("comparative"));
    await page.getByRole("heading", { name: "Pairwise comparison" }).waitFor();
    const created = (await (
      await fetch(`${server.url}/datasets/${datasetId}/comparative`)
    ).json()) as readonly { id: string; name: string; experiments_info: object[] }[];
    expect(created).toMatchObject([{ name: "which is kinder", reference_dataset_id: datasetId }]);
    expect(created[0]?.experiments_info).toHaveLength(2);
    expect(new URL(page.url()).searchParams.get("comparative")).toBe(created[0]?.id);
    await page.goto(`${address}?tab=comparisons`);
    await page.getByRole("link", { name: "which is kinder" }).waitFor();
    expect(faults).toEqual([]);
  }, 60_000);
});
