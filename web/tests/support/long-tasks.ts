import { expect } from "vitest";
import type { Page } from "playwright-core";

/** Users notice tasks of 100 ms. The limit is higher because the machine that runs the tests may be busy. */
const longestTaskMs = 1_000;

/** Prints how long an action takes until its result is shown, and limits the page's longest task during it. */
export async function measureAction(
  page: Page,
  name: string,
  action: () => Promise<void>,
): Promise<void> {
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) => {
      list.getEntries().forEach(({ duration }) => tasks.push(duration));
    }).observe({ type: "longtask", buffered: false });
  });
  const start = performance.now();
  await action();
  const took = performance.now() - start;
  const tasks = await page.evaluate(async () => {
    // The observer receives a task only after the task has ended.
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
    return (window as unknown as { tasks: number[] }).tasks;
  });
  const longest = Math.max(0, ...tasks);
  console.log(
    `${name}: ${took.toFixed(0)} ms, longest task ${longest === 0 ? "under 50" : longest.toFixed(0)} ms, ${tasks.length} over 50 ms`,
  );
  expect(longest).toBeLessThan(longestTaskMs);
}
