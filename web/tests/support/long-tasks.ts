import { expect } from "vitest";
import type { Page } from "playwright-core";
import { traceTasks } from "./task-trace.ts";

/**
 * Users notice tasks of 100 ms. The limit is for the CPU time of a task, because other tests run at the same time; it is
 * higher, because they also slow the task down while it runs.
 */
const longestTaskCpuMs = 400;

/**
 * Prints how long an action takes until its result is shown, and limits the CPU time of the longest task of the page
 * during it.
 */
export async function measureAction(
  page: Page,
  name: string,
  action: () => Promise<void>,
): Promise<void> {
  let tookMs = 0;
  const tasks = await traceTasks(page, async () => {
    const start = performance.now();
    await action();
    tookMs = performance.now() - start;
  });
  const longestMs = Math.max(0, ...tasks.map(({ wallMs }) => wallMs));
  const longestCpuMs = tasks[0]?.cpuMs ?? 0;
  console.log(
    `${name}: ${tookMs.toFixed(0)} ms, longest task ${longestMs.toFixed(0)} ms (CPU time at most ${longestCpuMs.toFixed(0)} ms)`,
  );
  expect(longestCpuMs).toBeLessThan(longestTaskCpuMs);
}
