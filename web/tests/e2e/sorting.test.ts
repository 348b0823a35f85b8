import type { RunningServer } from "@millrace/server";
import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { callApi } from "../support/call-api.ts";
import { openPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import {
  latencyOf,
  dottedOrderOf,
  runId,
  sortedProject,
  sortedRun,
  sortedRuns,
} from "../support/sorted-runs.ts";

const browser = await startBrowser();
const shown = 12;

type Row = Readonly<Record<string, unknown>>;
type Order = "asc" | "desc";

describe.skipIf(browser === undefined)("sorted lists, in Chromium", () => {
  let opened: OpenedPage;
  let server: RunningServer;
  let client: Client;
  let page: Page;
  let runsAddress: string;
  let tenant: string;
  let datasetId: string;

  beforeAll(async () => {
    opened = await openPage(browser!, sortedProject);
    ({ server, client, page } = opened);
    await call("/runs/batch", { post: sortedRuns() });
    runsAddress = await opened.projectAddress();
    tenant = /\/o\/([^/]+)/.exec(runsAddress)?.[1] ?? "";
    datasetId = await fillDatasets();
    await fillPrompts();
    for (const name of ["second queue", "first queue", "third queue"]) {
      await call("/annotation-queues", { name });
    }
    for (const [index, score] of [0.5, 0.1, 0.9].entries()) {
      await call("/feedback", { run_id: runId(index), key: "quality", score });
    }
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const call = (path: string, body?: unknown): Promise<unknown> => callApi(server.url + path, body);

  /** Creates three datasets with examples, one of them with experiments. */
  async function fillDatasets(): Promise<string> {
    let id = "";
    for (const [name, count] of [
      ["beta", 3],
      ["alpha", 1],
      ["gamma", 2],
    ] as const) {
      const dataset = (await call("/datasets", { name })) as { readonly id: string };
      id = name === "beta" ? dataset.id : id;
      for (let index = 0; index < count; index += 1) {
        await call("/examples", { dataset_id: dataset.id, inputs: { n: `${name} ${index}` } });
      }
    }
    const [, second] = (await call(`/examples?dataset=${id}&order=recently_created`)) as Row[];
    // The second example is modified last, so the orders by creation and by modification differ.
    await fetch(`${server.url}/examples/${String(second?.["id"])}`, {
      method: "PATCH",
      body: JSON.stringify({ outputs: { changed: true } }),
    });
    for (const [name, start] of [
      ["old experiment", "2026-01-01T00:00:00Z"],
      ["new experiment", "2026-01-03T00:00:00Z"],
      ["middle experiment", "2026-01-02T00:00:00Z"],
    ]) {
      await call("/sessions", { name, reference_dataset_id: id, start_time: start });
    }
    return id;
  }

  async function fillPrompts(): Promise<void> {
    for (const [index, name] of ["melon", "apple", "zucchini"].entries()) {
      await client.prompts.push(name, { manifest: { index } });
      for (let read = 0; read < (index + 1) % 3; read += 1) {
        await call(`/commits/-/${name}/latest`);
      }
    }
    await call("/likes/-/apple", { like: true });
  }

  const cells = (column: string): Promise<readonly string[]> =>
    page.locator(`tbody td[data-column="${column}"]`).allInnerTexts();

  /** Expects the rows in view to have the server's order. */
  const expectRows = async (column: string, names: readonly string[]): Promise<void> => {
    expect(names.length).toBeGreaterThan(1);
    const wanted = names.slice(0, shown);
    await expect
      .poll(async () => (await cells(column)).slice(0, wanted.length), { timeout: 10_000 })
      .toEqual(wanted);
  };

  /** Clicks a column title until the table is sorted by this column in the given order. */
  const sortBy = async (column: string, order: Order): Promise<void> => {
    const title = page.locator(`th[data-column="${column}"]`);
    const wanted = order === "asc" ? "ascending" : "descending";
    for (
      let click = 0;
      click < 2 && (await title.getAttribute("aria-sort")) !== wanted;
      click += 1
    ) {
      await title.getByRole("button").click();
    }
    await expect.poll(() => title.getAttribute("aria-sort")).toBe(wanted);
  };

  /** The columns whose titles sort the list. A column that is missing here has no test of its order. */
  const expectSortable = async (columns: readonly string[]): Promise<void> => {
    const titles = page.locator("th[aria-sort]");
    await expect
      .poll(async () =>
        titles.evaluateAll((heads) =>
          heads.map((head) => (head as HTMLElement).dataset["column"] ?? "").toSorted(),
        ),
      )
      .toEqual(columns.toSorted());
  };

  const runNames = async (sort: string, order: Order, cursor?: string): Promise<Row> => {
    const session = [runsAddress.split("/").at(-1)];
    return (await call("/ui/runs/search", {
      session,
      sort,
      order,
      is_root: true,
      limit: 100,
      select: ["name"],
      cursor,
    })) as Row;
  };
  const namesOf = (rows: unknown, key = "name"): readonly string[] =>
    (rows as readonly Row[]).map((row) => String(row[key]));

  const runOrders = [
    ["start", "asc"],
    ["start", "desc"],
    ["latency", "asc"],
    ["latency", "desc"],
  ] as const;

  /** The sort key of a run. Runs start in the order of their numbers. */
  const sortKeyOf = (sort: "start" | "latency", index: number): number =>
    sort === "latency" ? latencyOf(index) : index;

  test.each(runOrders)(
    "show runs by %s, %s",
    async (sort, order) => {
      await page.goto(runsAddress);
      await expectSortable(["start", "latency"]);
      await sortBy(sort, order);
      const { runs: first, cursors } = await runNames(sort, order);
      await expectRows("name", namesOf(first));
      const sortKeys = namesOf(first).map((name) => sortKeyOf(sort, Number(name.split(" ")[1])));
      const sorted = sortKeys.toSorted((a, b) => (order === "asc" ? a - b : b - a));
      expect(sortKeys).toEqual(sorted);
      await page.locator(".data-table").hover();
      const { next } = cursors as { readonly next: string };
      const { runs: nextPage } = await runNames(sort, order, next);
      const lastNames = namesOf(nextPage).slice(-5);
      // The table ends with the last rows of the second page, also when that page was appended to a sorted list.
      await expect
        .poll(
          async () => {
            await page.mouse.wheel(0, 20_000);
            return (await cells("name")).slice(-5);
          },
          { timeout: 10_000 },
        )
        .toEqual(lastNames);
      expect(opened.faults).toEqual([]);
    },
    30_000,
  );

  test("a run that arrives while the list is sorted by latency does not change the order", async () => {
    await page.goto(runsAddress);
    await page.getByText("Live", { exact: true }).waitFor();
    await sortBy("latency", "desc");
    await page.getByText("Not live", { exact: true }).waitFor();
    const before = await cells("name");
    const id = crypto.randomUUID();
    const at = Date.now();
    const arrived = { ...sortedRun(0, at, 5), name: "arrived", id, trace_id: id };
    await call("/runs/batch", { post: [{ ...arrived, dotted_order: dottedOrderOf(at, id) }] });
    // The live list is polled: when it shows the run, the UI has loaded it.
    await sortBy("start", "desc");
    await expect.poll(async () => (await cells("name"))[0], { timeout: 15_000 }).toBe("arrived");
    await sortBy("latency", "desc");
    await expect.poll(() => cells("name")).toEqual(before);
    await page.screenshot({ path: `${screenshots}/runs-by-latency.png` });
    await page.reload();
    await sortBy("latency", "asc");
    const { runs: fastest } = await runNames("latency", "asc");
    expect(namesOf(fastest)[0]).toBe("arrived");
    await expectRows("name", namesOf(fastest));
    expect(opened.faults).toEqual([]);
  }, 40_000);

  test("rows that were paused in one order are not missing in another", async () => {
    await page.goto(runsAddress);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("checkbox", { name: "Select row 3", exact: true }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    for (const [sort, order] of [...runOrders, ["start", "desc"] as const]) {
      await sortBy(sort, order);
      await expectRows("name", namesOf((await runNames(sort, order))["runs"]));
    }
    expect(opened.faults).toEqual([]);
  }, 40_000);

  const datasetColumns = [
    "name",
    "example_count",
    "session_count",
    "last_session_start_time",
    "modified_at",
  ];

  test.each(datasetColumns)(
    "show datasets by %s",
    async (column) => {
      await page.goto(`${server.url}/o/${tenant}/datasets`);
      await expectSortable(datasetColumns);
      for (const order of ["asc", "desc"] as const) {
        await sortBy(column, order);
        const rows = await call(`/datasets?sort_by=${column}&sort_by_desc=${order === "desc"}`);
        await expectRows("name", namesOf(rows));
      }
      expect(opened.faults).toEqual([]);
    },
    30_000,
  );

  const exampleColumns = ["created", "modified"];

  test.each(exampleColumns)(
    "show examples by %s",
    async (column) => {
      const by = column === "created" ? "recently_created" : "recent";
      for (const order of ["asc", "desc"] as const) {
        await page.goto(
          `${server.url}/o/${tenant}/datasets/${datasetId}?by=${by}&order=${order === "asc" ? "desc" : "asc"}`,
        );
        await page.getByRole("button", { name: "Columns" }).click();
        const box = page.getByRole("checkbox", { name: "Created" });
        await box.setChecked(true);
        await page.keyboard.press("Escape");
        await expectSortable(exampleColumns);
        await sortBy(column, order);
        const rows = (await call(`/examples?dataset=${datasetId}&order=${by}`)) as readonly Row[];
        // An object of one text is shown as its member and the text.
        const newestFirst = rows.map((row) => `n: ${(row["inputs"] as Row)["n"] as string}`);
        const wanted = order === "desc" ? newestFirst : newestFirst.toReversed();
        await expectRows("inputs", wanted);
      }
      expect(opened.faults).toEqual([]);
    },
    30_000,
  );

  const promptColumns = ["repo_handle", "num_downloads", "updated_at", "num_likes"];

  test.each(promptColumns)(
    "show prompts by %s",
    async (column) => {
      await page.goto(`${server.url}/prompts`);
      await expectSortable(promptColumns);
      for (const order of ["asc", "desc"] as const) {
        await sortBy(column, order);
        const query = `sort_field=${column}&sort_direction=${order}&is_archived=false`;
        const { repos } = (await call(`/repos?${query}`)) as Row;
        await expectRows("repo_handle", namesOf(repos, "repo_handle"));
      }
      expect(opened.faults).toEqual([]);
    },
    30_000,
  );

  test("experiments are sorted; queues and feedback keep the server's order", async () => {
    await page.goto(`${server.url}/o/${tenant}/datasets/${datasetId}?tab=experiments`);
    await expectRows("name", ["new experiment", "middle experiment", "old experiment"]);
    await sortBy("name", "asc");
    await expectRows("name", ["middle experiment", "new experiment", "old experiment"]);
    await sortBy("start", "asc");
    await expectRows("name", ["old experiment", "middle experiment", "new experiment"]);
    await page.goto(`${server.url}/o/${tenant}/annotation-queues`);
    await expectRows("name", ["third queue", "first queue", "second queue"]);
    expect(await page.locator("th[aria-sort]").count()).toBe(0);
    await page.goto(`${server.url}/o/${tenant}/projects`);
    const session = runsAddress.split("/").at(-1) ?? "";
    await page.goto(`${server.url}/o/${tenant}/feedback?project=${session}`);
    const feedback = (await call(`/feedback?session=${session}`)) as readonly Row[];
    const scoreCells = page.locator(".feedback-recent tbody tr td:nth-child(3)");
    await expect
      .poll(() => scoreCells.allInnerTexts())
      .toEqual(feedback.map((entry) => String(entry["score"])));
    expect(opened.faults).toEqual([]);
  }, 40_000);
});
