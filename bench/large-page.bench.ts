// How long does the UI take on a large store, and how long are the tasks of its page?
//
//   npm --prefix bench run large-page -- --data FOLDER                 a folder that fill-sqlite has filled
//   npm --prefix bench run large-page -- --store postgres://…          a database that fill-postgres has filled
//
// Needs Chromium, as the tests of the UI do. `--rounds 3` is the number of pages that are opened, one after the other;
// `--save` writes RESULTS.md. Run large-store first: it waits until the server has counted all metrics.
import { parseArgs } from "node:util";
import { startBrowser } from "../web/tests/support/browser.ts";
import type { TestBrowser } from "../web/tests/support/browser.ts";
import { traceTasks } from "../web/tests/support/task-trace.ts";
import { rareWord } from "./fill-shape.ts";
import { findFilledProject, startLargeServer, storeOptions } from "./large-server.ts";
import { formatNumber, median, publish, table } from "./results.ts";

/** Users notice tasks of this length, in milliseconds. */
const goalMs = 100;

const { values: options } = parseArgs({
  options: {
    ...storeOptions,
    rounds: { type: "string", default: "3" },
    save: { type: "boolean", default: false },
  },
});

type Page = Awaited<ReturnType<TestBrowser["context"]["newPage"]>>;

/** The number of runs that the dashboard shows. */
let shownRuns = "unknown";

interface Figures {
  readonly tookMs: number[];
  readonly longestMs: number[];
}

const server = await startLargeServer(options);
try {
  const project = await findFilledProject(server.url);
  const browser = await startBrowser();
  if (browser === undefined) {
    throw new Error("no Chromium can start here");
  }
  const figures = new Map<string, Figures>();
  try {
    for (let round = 0; round < Number(options.rounds); round += 1) {
      const page = await browser.context.newPage();
      await page.setViewportSize({ width: 1_440, height: 900 });
      await useProject(page, `/o/${project.tenant_id}/projects/p/${project.id}`, figures);
      await page.close();
    }
  } finally {
    await browser.close();
  }
  report(figures);
} finally {
  await server.close();
}

/** Uses the list, the dashboard and the threads of a project, as people do. */
async function useProject(
  page: Page,
  address: string,
  figures: Map<string, Figures>,
): Promise<void> {
  const measure = async (name: string, action: () => Promise<void>): Promise<void> => {
    let tookMs = 0;
    const tasks = await traceTasks(page, async () => {
      const startMs = performance.now();
      await action();
      tookMs = performance.now() - startMs;
    });
    const longestMs = Math.max(0, ...tasks.map(({ wallMs }) => wallMs));
    const all = figures.get(name) ?? { tookMs: [], longestMs: [] };
    all.tookMs.push(tookMs);
    all.longestMs.push(longestMs);
    figures.set(name, all);
    console.error(
      `${name}: ${formatNumber(tookMs)} ms, longest task ${formatNumber(longestMs)} ms`,
    );
  };
  const open = (path: string): Promise<void> =>
    page.evaluate(
      `history.pushState(undefined, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"));`,
    );
  const rows = page.locator("tbody tr");
  const filterBy = async (text: string): Promise<void> => {
    const shown = page.waitForResponse((response) => response.url().endsWith("/ui/runs/search"));
    await page.getByRole("combobox", { name: "Filter" }).fill(text);
    await page.getByRole("combobox", { name: "Filter" }).press("Enter");
    await shown;
    await rows.first().waitFor();
  };
  const runsTile = page
    .locator(".tile")
    .filter({ has: page.getByText("Runs", { exact: true }) })
    .locator("dd");

  await page.goto(server.url);
  await page.getByRole("link", { name: "Settings" }).first().waitFor();
  await measure("open the list of all runs", async () => {
    await open(`${address}?all=true`);
    await rows.first().waitFor();
  });
  await measure("scroll through 3,000 runs", async () => {
    const list = page.locator(".data-table");
    await list.hover();
    for (let last = 100; last < 3_000; last += 100) {
      await page.mouse.wheel(0, 100_000);
      await page.locator(`tr[data-index="${last}"]`).waitFor();
    }
  });
  await measure("filter by name, status and latency", () =>
    filterBy("name = ask and status = error and latency > 4s"),
  );
  await measure("open the page of a rare word", async () => {
    await open(`${address}?all=true&filter=${encodeURIComponent(`search("${rareWord}")`)}`);
    await rows.first().waitFor();
  });
  await measure("sort by latency", async () => {
    await open(`${address}?all=true`);
    await rows.first().waitFor();
    await page.getByRole("button", { name: "Latency" }).click();
    await page.waitForURL((url) => url.searchParams.has("sort"));
    await rows.first().waitFor();
  });
  for (const group of ["", "model", "user"]) {
    await measure(`dashboard of 90 days${group && `, by ${group}`}`, async () => {
      const shown = page.waitForResponse(
        (response) =>
          response.url().includes("/ui/metrics?") &&
          (new URL(response.url()).searchParams.get("group") ?? "") === group,
      );
      await open(`${address}/dashboard?last=90d&scope=all${group && `&group=${group}`}`);
      await shown;
      await page.evaluate(
        "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))",
      );
      await runsTile.filter({ hasText: /[1-9]/ }).waitFor();
    });
  }
  shownRuns = /^[\d.,]+\s?[KMB]?/.exec((await runsTile.textContent()) ?? "")?.[0] ?? "unknown";
  await measure("threads", async () => {
    const shown = page.waitForResponse((response) => response.url().includes("/ui/threads?"));
    await open(`${address}/threads`);
    await shown;
    await rows.first().waitFor();
  });
}

function report(figures: ReadonlyMap<string, Figures>): void {
  publish({
    script: "large-page",
    section: `large-page-${server.engine.toLowerCase()}`,
    question: `How fast is the UI with ${shownRuns} runs in 90 days on ${server.engine}?`,
    body: table(
      ["", "until shown, ms", "longest task, ms", `goal of ${goalMs} ms a task`],
      [...figures].map(([name, { tookMs, longestMs }]) => [
        name,
        formatNumber(median(tookMs)),
        formatNumber(Math.max(...longestMs)),
        Math.max(...longestMs) <= goalMs ? "met" : "**missed**",
      ]),
    ),
  });
}
