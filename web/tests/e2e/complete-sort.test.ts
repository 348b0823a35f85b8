import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { callApi } from "../support/call-api.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";
import { dottedOrderOf } from "../support/sorted-runs.ts";

const browser = await startBrowser();
const project = "sorted threads";
/** More than two pages of 50. */
const itemCount = 130;
const hourMs = 3_600_000;
const patience = { timeout: 20_000 };

type Row = Readonly<Record<string, unknown>>;
type Order = "asc" | "desc";
type SortKey = number | string | undefined;

/** Numbers from 0 to 129 in another order. */
const shuffle = (index: number, step: number): number => (index * step) % itemCount;

/** Sorts rows as the list should: equal rows stay in the order of the API, rows without a value come last. */
function sortNames(rows: readonly Row[], read: (row: Row) => SortKey, order: Order): string[] {
  const keyed = rows.map((row) => ({ name: String(row["name"] ?? row["id"]), key: read(row) }));
  const withKey = keyed.filter(({ key }) => key !== undefined);
  const compare = (left: SortKey, right: SortKey): number =>
    typeof left === "number" && typeof right === "number"
      ? left - right
      : String(left).localeCompare(String(right), "en", { numeric: true });
  withKey.sort((left, right) => compare(left.key, right.key) * (order === "asc" ? 1 : -1));
  return [...withKey, ...keyed.filter(({ key }) => key === undefined)].map(({ name }) => name);
}

const toNumber = (value: unknown): number | undefined =>
  value === null || value === undefined ? undefined : Number(value);

describe.skipIf(browser === undefined)("sorted lists of several pages, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  let projectId: string;
  let threadsAddress: string;
  let experimentsAddress: string;
  let datasetId: string;

  const call = (path: string, body?: unknown): Promise<unknown> =>
    callApi(opened.server.url + path, body);

  beforeAll(async () => {
    opened = await openPage(browser!, project);
    ({ page } = opened);
    await fillThreads();
    const address = await opened.projectAddress();
    threadsAddress = `${address}/threads`;
    projectId = address.split("/").at(-1) ?? "";
    datasetId = await fillExperiments();
    const tenant = /\/o\/[^/]+/.exec(address)?.[0] ?? "";
    experimentsAddress = `${opened.server.url}${tenant}/datasets/${datasetId}?tab=experiments`;
  }, 90_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const createRun = (name: string, at: number, usage: Row | undefined): Record<string, unknown> => {
    const id = randomUUID();
    return {
      id,
      trace_id: id,
      dotted_order: dottedOrderOf(at, id),
      session_name: name,
      name: "answer",
      run_type: "llm",
      start_time: new Date(at).toISOString(),
      end_time: new Date(at + 1_000).toISOString(),
      inputs: { question: "?" },
      outputs: { answer: "!", ...(usage === undefined ? {} : { usage_metadata: usage }) },
    };
  };

  /** Writes threads whose orders by id, turns, errors, tokens, cost and last turn all differ. */
  async function fillThreads(): Promise<void> {
    const fromMs = Date.now() - 3 * hourMs;
    const post = Array.from({ length: itemCount }, (_, index) =>
      Array.from({ length: 1 + (index % 4) }, (_turn, turn) => {
        const tokens = 10 + shuffle(index, 53);
        const usage = { input_tokens: tokens, output_tokens: 1, total_tokens: tokens + 1 };
        const totalCost = 0.001 * (1 + shuffle(index, 71));
        const run = createRun(
          project,
          fromMs + shuffle(index, 37) * 60_000 + turn * 5_000,
          // Each ninth thread has no usage.
          index % 9 === 0 ? undefined : { ...usage, total_cost: totalCost },
        );
        return {
          ...run,
          extra: { metadata: { thread_id: `thread ${shuffle(index, 19)}` } },
          ...(turn < index % 3 ? { error: "Error: no" } : {}),
        };
      }),
    ).flat();
    await call("/runs/batch", { post });
  }

  /** Writes experiments whose orders differ by each column. Only the oldest of them have the score "late". */
  async function fillExperiments(): Promise<string> {
    const { id } = (await call("/datasets", { name: "sorted" })) as { readonly id: string };
    const fromMs = Date.now() - 40 * 24 * hourMs;
    const runs: Row[] = [];
    for (let index = 0; index < itemCount; index += 1) {
      const name = `experiment ${shuffle(index, 19)}`;
      const startMs = fromMs + index * hourMs;
      await call("/sessions", {
        name,
        reference_dataset_id: id,
        start_time: new Date(startMs).toISOString(),
        // Each fifth experiment has no end.
        ...(index % 5 === 0 ? {} : { end_time: new Date(startMs + 60_000).toISOString() }),
      });
      for (let row = 0; row < 1 + (index % 4); row += 1) {
        const tokens = 10 + shuffle(index, 53);
        const usage = {
          input_tokens: tokens,
          output_tokens: 1,
          total_tokens: tokens + 1,
          total_cost: 0.001 * (1 + shuffle(index, 71)),
        };
        const run = createRun(name, startMs + row, index % 9 === 0 ? undefined : usage);
        runs.push({
          ...run,
          end_time: new Date(startMs + row + 100 + shuffle(index, 37) * 10).toISOString(),
          ...(row < index % 3 ? { error: "Error: no" } : {}),
          score: shuffle(index, 83) / itemCount,
          isLate: index < 20,
        });
      }
    }
    await call("/runs/batch", { post: runs.map(({ score: _, isLate: _late, ...run }) => run) });
    for (const { id: runId, score, isLate } of runs) {
      await call("/feedback", { run_id: runId, key: "correct", score });
      if (isLate === true) {
        await call("/feedback", { run_id: runId, key: "late", score: 1 - Number(score) });
      }
    }
    return id;
  }

  /** All threads, from all pages of the API. */
  async function readThreads(): Promise<readonly Row[]> {
    const threads: Row[] = [];
    let cursor = "";
    do {
      const query = new URLSearchParams({ session: projectId, limit: "50", cursor });
      const response = (await call(`/ui/threads?${query}`)) as Row;
      threads.push(...(response["threads"] as readonly Row[]));
      cursor = (response["cursors"] as { readonly next: string | null }).next ?? "";
    } while (cursor !== "");
    expect(threads).toHaveLength(itemCount);
    return threads;
  }

  /** All experiments, from all pages of the API. */
  async function readExperiments(): Promise<readonly Row[]> {
    const experiments: Row[] = [];
    for (let offset = 0; offset < itemCount; offset += 50) {
      const query = new URLSearchParams({
        reference_dataset: datasetId,
        include_stats: "true",
        sort_by: "start_time",
        limit: "50",
        offset: String(offset),
      });
      experiments.push(...((await call(`/sessions?${query}`)) as readonly Row[]));
    }
    expect(experiments).toHaveLength(itemCount);
    return experiments;
  }

  const title = (column: string) => page.locator(`th[data-column="${column}"]`);

  /** Clicks the title of a column until the list is sorted by it in this order. */
  const sortBy = async (column: string, order: Order): Promise<void> => {
    const wanted = order === "asc" ? "ascending" : "descending";
    await title(column).waitFor();
    for (let click = 0; click < 2; click += 1) {
      if ((await title(column).getAttribute("aria-sort")) !== wanted) {
        await title(column).getByRole("button").click();
        await expect
          .poll(() => title(column).getAttribute("aria-sort"), patience)
          .toMatch(/^(?:ascending|descending)$/);
      }
    }
    expect(await title(column).getAttribute("aria-sort")).toBe(wanted);
  };

  /**
   * The names in the first column of all rows, which are read while the list is scrolled from its top to its end. A list
   * that the server sorts loads its pages meanwhile.
   */
  const readNames = async (count: number): Promise<readonly string[]> =>
    page.locator(".data-table").evaluate(async (scroller, rowCount) => {
      const names: string[] = [];
      const waitForFrames = () =>
        new Promise((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(resolve));
        });
      const deadline = performance.now() + 20_000;
      let top = 0;
      for (;;) {
        scroller.scrollTop = top;
        await waitForFrames();
        for (const row of scroller.querySelectorAll<HTMLElement>("tbody tr")) {
          const index = Number(row.dataset["index"]);
          const name = row.querySelector("td bdi")?.textContent ?? "";
          // A row that has another name than before shows that the order changed.
          names[index] =
            names[index] === undefined || names[index] === name
              ? name
              : `${names[index]}, then ${name}`;
        }
        const isAtEnd = top + scroller.clientHeight >= scroller.scrollHeight;
        if ((isAtEnd && names.length >= rowCount) || performance.now() > deadline) {
          return names;
        }
        top = isAtEnd ? top : top + Math.ceil(scroller.clientHeight / 2);
      }
    }, count);

  const expectOrder = async (names: readonly string[]): Promise<void> => {
    const firstNames = page.locator("tbody .data-link bdi");
    await expect
      .poll(async () => (await firstNames.allTextContents()).slice(0, 3), patience)
      .toEqual(names.slice(0, 3));
    expect(await readNames(names.length)).toEqual(names);
    expect(opened.faults).toEqual([]);
  };

  const threadKeys: Readonly<Record<string, (thread: Row) => SortKey>> = {
    id: ({ id }) => String(id),
    turns: ({ turn_count: count }) => Number(count),
    errors: ({ error_count: count }) => Number(count),
    tokens: ({ total_tokens: tokens }) => toNumber(tokens),
    cost: ({ total_cost: cost }) => toNumber(cost),
    last: ({ last_start_time: time }) => Date.parse(String(time)),
  };

  /** The columns whose titles sort the list. A column that is missing here has no test of its order. */
  const listSortable = (): Promise<readonly string[]> =>
    page
      .locator("th[aria-sort]")
      .evaluateAll((heads) => heads.map((head) => (head as HTMLElement).dataset["column"] ?? ""));

  test("the order of the threads is that of all threads, by each column", async () => {
    const threads = await readThreads();
    await page.goto(threadsAddress);
    await title("turns").waitFor();
    expect((await listSortable()).toSorted()).toEqual(Object.keys(threadKeys).toSorted());
    for (const [column, read] of Object.entries(threadKeys)) {
      for (const order of ["desc", "asc"] as const) {
        // Each order begins with the first page only, as for a user who has not scrolled.
        await page.goto("about:blank");
        await page.goto(threadsAddress);
        await sortBy(column, order);
        await expectOrder(sortNames(threads, read, order));
      }
    }
  }, 180_000);

  const feedback = (key: string) => (experiment: Row) =>
    toNumber(((experiment["feedback_stats"] as Row)[key] as Row | undefined)?.["avg"]);

  /** What the list shows as the status of an experiment. */
  const statusOf = ({ end_time: end, run_count: count, error_rate: rate }: Row): string => {
    if (end === null || end === undefined) {
      return "Not finished";
    }
    const failedCount = Math.round(Number(count) * Number(rate));
    return failedCount === 0
      ? "Done"
      : `${failedCount} of ${Number(count)} ${count === 1 ? "row" : "rows"} failed`;
  };

  const experimentKeys: Readonly<Record<string, (experiment: Row) => SortKey>> = {
    name: ({ name }) => String(name),
    status: statusOf,
    "score correct": feedback("correct"),
    "score late": feedback("late"),
    errors: ({ error_rate: rate }) => toNumber(rate),
    latency: ({ latency_p50: latency }) => toNumber(latency),
    tokens: ({ total_tokens: tokens }) => toNumber(tokens),
    cost: ({ total_cost: cost }) => toNumber(cost),
    runs: ({ run_count: count }) => toNumber(count),
    start: ({ start_time: time }) => Date.parse(String(time)),
  };

  test("the order of the experiments is that of all experiments, by each column", async () => {
    const experiments = await readExperiments();
    await page.goto(`${experimentsAddress}&sort=name&order=asc`);
    await title("score late").waitFor();
    expect(await listSortable()).toEqual(Object.keys(experimentKeys));
    for (const [column, read] of Object.entries(experimentKeys)) {
      for (const order of ["desc", "asc"] as const) {
        await page.goto("about:blank");
        const isLate = column === "score late";
        // The column of a score that only the last page has is not there to be clicked. A link can name it.
        await page.goto(isLate ? `${experimentsAddress}&sort=score late` : experimentsAddress);
        await sortBy(column, order);
        await expectOrder(sortNames(experiments, read, order));
      }
    }
  }, 240_000);

  test("until all rows are loaded, the list says so and keeps the server's order", async () => {
    const threads = await readThreads();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/ui/threads?*", async (route) => {
      // The second page waits.
      if (new URL(route.request().url()).searchParams.has("cursor")) {
        await released;
      }
      await route.continue();
    });
    onTestFinished(() => page.unroute("**/ui/threads?*"));
    await page.goto(threadsAddress);
    await title("turns").waitFor();
    const before = await title("turns").boundingBox();
    await title("turns").getByRole("button").click();
    await page.getByText("Loading all threads to sort them …").waitFor();
    // The title stays in its place, so that a second click meets it too.
    expect(await title("turns").boundingBox()).toEqual(before);
    expect(await title("turns").getAttribute("aria-sort")).toBe("none");
    const firstRow = page.locator("tbody tr").first().locator("bdi").first();
    expect(await firstRow.textContent()).toBe(threads[0]?.["id"]);
    await showScreen(page, "sort-loading");
    expect(await findFaults(page)).toEqual([]);
    release();
    await expect.poll(() => title("turns").getAttribute("aria-sort"), patience).toBe("descending");
    expect(await page.getByText("Loading all threads").count()).toBe(0);
    await expectOrder(sortNames(threads, ({ turn_count: count }) => Number(count), "desc"));
  }, 60_000);

  test("if a page can't be loaded, the list is not sorted until it is", async () => {
    let isFailing = true;
    await page.route("**/ui/threads?*cursor=*", async (route) =>
      isFailing ? route.fulfill({ status: 500, json: { detail: "broken" } }) : route.continue(),
    );
    onTestFinished(() => page.unroute("**/ui/threads?*cursor=*"));
    await page.goto(`${threadsAddress}?sort=cost&order=desc`);
    await page.getByText("Could not load all threads to sort them").waitFor();
    expect(await title("cost").getAttribute("aria-sort")).toBe("none");
    isFailing = false;
    opened.faults.length = 0;
    await page.getByRole("button", { name: "Try again" }).first().click();
    await expect.poll(() => title("cost").getAttribute("aria-sort"), patience).toBe("descending");
    await expectOrder(
      sortNames(await readThreads(), ({ total_cost: cost }) => toNumber(cost), "desc"),
    );
  }, 60_000);

  test("a list that is too long to be loaded can't be sorted, and says how to shorten it", async () => {
    const pageSize = 50;
    let requestCount = 0;
    await page.route("**/ui/threads?*", async (route) => {
      const query = new URL(route.request().url()).searchParams;
      requestCount += 1;
      const first = Number(query.get("cursor") ?? "0");
      // A search matches fewer threads.
      const count = query.has("text") ? 60 : 100_000;
      const ids = Array.from({ length: Math.min(pageSize, count - first) }, (_, i) => first + i);
      const end = first + pageSize;
      await route.fulfill({
        json: {
          threads: ids.map((id) => ({
            id: `long ${id}`,
            turn_count: id,
            error_count: 0,
            last_start_time: new Date().toISOString(),
          })),
          cursors: { next: end < count ? String(end) : null },
          is_partial: false,
        },
      });
    });
    onTestFinished(() => page.unroute("**/ui/threads?*"));
    await page.goto(threadsAddress);
    await title("turns").getByRole("button").click();
    const reason = page.getByText(
      "There are too many threads to sort by a column. Search by thread ID, so that at most 2,000 match.",
    );
    await reason.waitFor();
    expect(requestCount).toBe(2_000 / pageSize);
    expect(await title("turns").getByRole("button").count()).toBe(0);
    expect(await page.locator("th[aria-sort]").count()).toBe(0);
    expect(await page.locator("tbody tr bdi").first().textContent()).toBe("long 0");
    await showScreen(page, "sort-too-long");
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("searchbox", { name: "Search by thread ID" }).fill("l");
    await expect.poll(() => title("turns").getAttribute("aria-sort"), patience).toBe("descending");
    await expectOrder(Array.from({ length: 60 }, (_, i) => `long ${59 - i}`));
    expect(await reason.count()).toBe(0);
  }, 60_000);

  test("of experiments that are too many, only the order of the server is offered", async () => {
    const [example] = await readExperiments();
    const queries: URLSearchParams[] = [];
    await page.route("**/sessions?*reference_dataset=*", async (route) => {
      const query = new URL(route.request().url()).searchParams;
      queries.push(query);
      const first = Number(query.get("offset"));
      const rows = Array.from({ length: 50 }, (_, index) => ({
        ...example,
        id: randomUUID(),
        name: `many ${query.get("sort_by_desc")} ${first + index}`,
      }));
      await route.fulfill({ json: rows });
    });
    onTestFinished(() => page.unroute("**/sessions?*reference_dataset=*"));
    await page.goto(experimentsAddress);
    await title("cost").getByRole("button").click();
    await page.getByText("There are more than 2,000 experiments.").waitFor();
    expect(queries.filter((query) => query.get("include_stats") === "true")).toHaveLength(40);
    expect(await listSortable()).toEqual(["start"]);
    await showScreen(page, "sort-too-long-experiments");
    await sortBy("start", "asc");
    const firstName = page.locator("tbody tr bdi").first();
    await expect.poll(() => firstName.textContent(), patience).toBe("many false 0");
    expect(opened.faults).toEqual([]);
  }, 60_000);
});
