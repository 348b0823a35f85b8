import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { fillExperiments, isFilledError, toFilledScore } from "../support/fill-experiments.ts";
import type { FilledExperiments } from "../support/fill-experiments.ts";
import { startBrowser } from "../support/browser.ts";
import { measureAction } from "../support/long-tasks.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";

const browser = await startBrowser();
/** With COMPARISON=full, the size that has to stay usable: 200,000 results, which take some minutes to write. */
const isFull = process.env["COMPARISON"] === "full";
const [experimentCount, exampleCount] = isFull ? [20, 10_000] : [9, 600];

interface Rating {
  readonly example: number;
  readonly worst: number;
  readonly best: number;
}

/** How each example has changed compared with the first experiment, computed one by one. */
const ratings = Array.from({ length: exampleCount }, (_, example): Rating => {
  const before = toFilledScore(0, example);
  const changes = Array.from({ length: experimentCount - 1 }, (_unused, index) => {
    const experiment = index + 1;
    // The score `brief` is 1 minus the score `correct`, so one of them is worse if the other is better.
    const change = toFilledScore(experiment, example) - before;
    const [wasError, isError] = [isFilledError(0, example), isFilledError(experiment, example)];
    const error = 2 * (Number(wasError) - Number(isError));
    return [change, -change, error];
  }).flat();
  return { example, worst: Math.min(0, ...changes), best: Math.max(0, ...changes) };
});

/** The number of the example that comes first in an order. Examples with equal ratings are in the order of their runs. */
const firstBy = (rate: (rating: Rating) => number): number =>
  ratings.toSorted((a, b) => rate(a) - rate(b) || a.example - b.example)[0]?.example ?? 0;

describe.skipIf(browser === undefined)("the comparison of many experiments, in Chromium", () => {
  let opened: OpenedPage;
  let filled: FilledExperiments;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "compared");
    filled = await fillExperiments(opened.server.url, {
      experiments: experimentCount,
      examples: exampleCount,
    });
    // The server indexes the new runs in the background. The first answer shows that it has time for reads again.
    const started = performance.now();
    const response = await fetch(
      `${opened.server.url}/ui/datasets/${filled.datasetId}/comparison`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ experiment_ids: filled.experimentIds }),
      },
    );
    if (!response.ok) {
      throw new Error(`the server can't compare the experiments: ${await response.text()}`);
    }
    await response.text();
    console.log(`first answer of the server: ${(performance.now() - started).toFixed(0)} ms`);
    address = `/o/${filled.tenantId}/datasets/${filled.datasetId}/compare?experiments=${filled.experimentIds.join(",")}`;
  }, 590_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened.close();
    await browser?.close();
  });

  const measure = (name: string, action: () => Promise<void>): Promise<void> =>
    measureAction(opened.page, name, action);

  const table = () => opened.page.getByRole("table", { name: "Compared examples" });
  const row = (index: number) => table().locator(`tr[aria-rowindex="${index + 2}"]`);
  const waitForFirst = (example: number) =>
    row(0).getByText(`Question ${example}:`).first().waitFor();

  test("it can be opened, sorted, filtered and scrolled, and shows the right examples", async () => {
    const { page, faults, server } = opened;
    await page.goto(server.url);
    await measure("open", async () => {
      await page.evaluate((to) => {
        history.pushState(undefined, "", to);
        dispatchEvent(new PopStateEvent("popstate"));
      }, address);
      await waitForFirst(firstBy(({ worst }) => worst));
    });
    expect(await table().getAttribute("aria-colcount")).toBe(String(experimentCount + 1));
    // A virtual table: only the rows and columns near the visible ones exist.
    expect(await table().getByRole("row").count()).toBeLessThan(30);
    expect(await table().getByRole("columnheader").count()).toBeLessThan(9);
    await measure("sort by improvement", async () => {
      await page.getByLabel("Sort order").selectOption("improvement");
      await waitForFirst(firstBy(({ best }) => -best));
    });
    await measure("run order", async () => {
      await page.getByLabel("Sort order").selectOption("run");
      await waitForFirst(0);
    });
    const first = toFilledScore(1, 0);
    await expect
      .poll(() => row(0).getByRole("cell").nth(2).textContent())
      .toContain(`correct${first === 0 ? "0" : String(Number(first.toFixed(3)))}`);
    const errors = ratings.filter(({ example }) => example % 97 < experimentCount);
    await measure("only errors", async () => {
      await page.getByLabel("Filter examples").selectOption("errors");
      await waitForFirst(errors[0]?.example ?? 0);
      await row(1).getByText(`Question ${errors[1]?.example}:`).first().waitFor();
    });
    await measure("all examples", async () => {
      await page.getByLabel("Filter examples").selectOption("all");
      await row(1).getByText("Question 1:").first().waitFor();
    });
    const readColumns = async (): Promise<readonly number[]> =>
      table()
        .locator("th")
        .evaluateAll((titles) => titles.map((title) => Number(title.ariaColIndex)));
    const lastRow = table().locator("tr[aria-rowindex]").last();
    const readLastIndex = async (): Promise<number> =>
      Number(await lastRow.getAttribute("aria-rowindex")) - 2;
    await measure("scroll over 200 rows", async () => {
      await table().hover();
      await expect
        .poll(
          async () => {
            await page.mouse.wheel(0, 4_000);
            return readLastIndex();
          },
          { timeout: 60_000, interval: 50 },
        )
        .toBeGreaterThan(200);
    });
    const index = await readLastIndex();
    // In run order, the row of an example is at its number.
    await row(index).getByText(`Question ${index}:`).first().waitFor();
    expect(await table().getByRole("row").count()).toBeLessThan(30);
    await measure("scroll to the last experiment", async () => {
      await table().hover();
      await expect
        .poll(
          async () => {
            await page.mouse.wheel(120, 0);
            return readColumns();
          },
          { timeout: 60_000, interval: 50 },
        )
        .toContain(experimentCount + 1);
    });
    const last = experimentCount - 1;
    const lastTitle = table().locator(`th[aria-colindex="${experimentCount + 1}"]`);
    expect(await lastTitle.textContent()).toContain(`experiment ${last} of`);
    // The wheel may have scrolled on vertically, too.
    const shown = await readLastIndex();
    const lastCell = row(shown).locator(`td[aria-colindex="${experimentCount + 1}"]`);
    const lastScore = toFilledScore(last, shown);
    expect(await lastCell.textContent()).toContain(
      `correct${String(Number(lastScore.toFixed(3)))}`,
    );
    // The example stays in view at the left, above the columns that were scrolled.
    const [box, scroller] = await Promise.all(
      [row(shown).locator("td").first(), page.locator(".compare-rows")].map(async (part) =>
        part.boundingBox(),
      ),
    );
    expect(Math.abs(box!.x - scroller!.x)).toBeLessThan(2);
    expect(await findFaults(page)).toEqual([]);
    const usedMegabytes = await page.evaluate(
      () =>
        (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize /
        1_048_576,
    );
    console.log(`memory of the page: ${usedMegabytes.toFixed(0)} MB`);
    expect(usedMegabytes).toBeLessThan(200);
    await lastCell.getByRole("link", { name: "Open trace" }).click();
    await page.getByRole("tree", { name: "Runs of the trace" }).waitFor();
    expect(new URL(page.url()).pathname).toContain(filled.experimentIds[last]);
    expect(faults).toEqual([]);
  }, 180_000);
});
