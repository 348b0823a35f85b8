import type { RunningServer } from "@millrace/server";
import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { callApi } from "../support/call-api.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { sortedProject, sortedRuns, runId } from "../support/sorted-runs.ts";

const browser = await startBrowser();

type Row = Readonly<Record<string, unknown>>;

describe.skipIf(browser === undefined)("lists that can't be sorted, in Chromium", () => {
  let opened: OpenedPage;
  let server: RunningServer;
  let client: Client;
  let page: Page;
  let projectId: string;
  let tenant: string;
  let datasetId: string;

  beforeAll(async () => {
    opened = await openPage(browser!, sortedProject);
    ({ server, client, page } = opened);
    // The threads begin in one order, and were last active in another one.
    const threads = ["first thread", "second thread", "third thread", "first thread"];
    const runs = sortedRuns().slice(0, threads.length);
    await call("/runs/batch", {
      post: runs.map((run, index) => ({
        ...run,
        extra: { metadata: { thread_id: threads[index] } },
      })),
    });
    const address = await opened.projectAddress();
    projectId = address.split("/").at(-1) ?? "";
    tenant = `${server.url}/o/${/\/o\/([^/]+)/.exec(address)?.[1]}`;
    datasetId = String(((await call("/datasets", { name: "ordered" })) as Row)["id"]);
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const call = (path: string, body?: unknown, method?: string): Promise<unknown> =>
    callApi(server.url + path, body, method);

  const namesOf = (rows: unknown, key = "name"): readonly string[] =>
    (rows as readonly Row[]).map((row) => String(row[key]));

  /** Expects the list at an address to show the names in the order of the server's response. */
  const expectOrder = async (
    address: string,
    selector: string,
    names: readonly string[],
  ): Promise<void> => {
    expect(names.length).toBeGreaterThan(2);
    await page.goto(address);
    await expect
      .poll(() => page.locator(selector).allInnerTexts(), { timeout: 15_000 })
      .toEqual(names);
    // No title claims that the list is sorted by its column.
    expect(await page.locator("th[aria-sort]:not([aria-sort=none])").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  };

  test("threads are in the order of their last activity", async () => {
    const readIds = async () =>
      namesOf(((await call(`/ui/threads?session=${projectId}`)) as Row)["threads"], "id");
    const ids = ["first thread", "third thread", "second thread"];
    await expect.poll(readIds, { timeout: 15_000 }).toEqual(ids);
    await page.goto(`${tenant}/projects/p/${projectId}/threads`);
    await expectOrder(page.url(), 'td[data-column="id"]', ids);
  }, 40_000);

  test("saved views are in the server's order, capital letters too", async () => {
    for (const name of ["Beta", "alpha", "gamma", "Delta"]) {
      await client.views.create({
        projectName: sortedProject,
        name,
        filter: 'eq(status, "error")',
      });
    }
    const views = namesOf(await call(`/sessions/${projectId}/views`), "display_name");
    await page.goto(`${tenant}/projects/p/${projectId}/views`);
    await expect
      .poll(() => page.locator('td[data-column="name"]').allInnerTexts(), { timeout: 15_000 })
      .toEqual(views);
    expect(views).toHaveLength(4);
    expect(opened.faults).toEqual([]);
  }, 40_000);

  test("projects without runs in the last minutes are in the server's order", async () => {
    for (const name of ["middle project", "alpha project", "zeta project"]) {
      await call("/sessions", { name });
    }
    const names = namesOf(await call("/sessions?limit=100&name_contains=project"));
    expect(names).toEqual(["alpha project", "middle project", "zeta project"]);
    await expectOrder(`${tenant}/projects?name=project`, "td.cell-project a", names);
  }, 40_000);

  test("the runs of a queue are in the order in which they were added", async () => {
    const { id } = (await call("/annotation-queues", { name: "ordered" })) as Row;
    for (const index of [1, 3, 0]) {
      await call(`/annotation-queues/${String(id)}/runs`, [runId(index)]);
    }
    const runs = namesOf(await call(`/ui/annotation-queues/${String(id)}/runs`));
    expect(runs).toEqual(["run 1", "run 3", "run 0"]);
    await expectOrder(
      `${tenant}/annotation-queues/${String(id)}?view=runs`,
      'td[data-column="name"]',
      runs,
    );
  }, 40_000);

  test("pairwise comparisons are the newest first", async () => {
    const experiments = await Promise.all(
      ["one", "two"].map(async (name) =>
        call("/sessions", { name, reference_dataset_id: datasetId }),
      ),
    );
    for (const name of ["beta", "gamma", "alpha"]) {
      await call("/datasets/comparative", {
        name,
        reference_dataset_id: datasetId,
        experiment_ids: namesOf(experiments, "id"),
      });
    }
    const names = namesOf(await call(`/datasets/${datasetId}/comparative`));
    await expectOrder(
      `${tenant}/datasets/${datasetId}?tab=comparisons`,
      'td[data-column="name"]',
      names,
    );
  }, 40_000);

  test("versions are the newest first, and shared examples and differences in the server's order", async () => {
    for (const text of ["beta", "gamma", "alpha"]) {
      await call("/examples", { dataset_id: datasetId, inputs: { text } });
    }
    const versions = (await call(`/datasets/${datasetId}/versions`)) as readonly Row[];
    expect(versions).toHaveLength(3);
    await page.goto(`${tenant}/datasets/${datasetId}?tab=versions`);
    await expect
      .poll(() => page.locator('td[data-column="at"]').allInnerTexts(), { timeout: 15_000 })
      .toEqual(["#3", "#2", "#1"]);
    const [newest, , oldest] = namesOf(versions, "as_of");
    const query = new URLSearchParams({ from: oldest ?? "", to: newest ?? "" });
    const { changes } = (await call(`/ui/datasets/${datasetId}/diff?${query}`)) as Row;
    expect(changes).toHaveLength(2);
    await page.goto(`${tenant}/datasets/${datasetId}?tab=versions&${query}`);
    const changedTexts = (changes as readonly Row[]).map(
      ({ after }) => /alpha|beta|gamma/.exec(JSON.stringify(after))?.[0],
    );
    await expect
      .poll(
        async () =>
          (await page.locator("tbody tr").allInnerTexts()).map(
            (text) => /alpha|beta|gamma/.exec(text)?.[0],
          ),
        { timeout: 15_000 },
      )
      .toEqual(changedTexts);
    const { share_token } = (await call(`/datasets/${datasetId}/share`, {}, "PUT")) as Row;
    const examples = (await call(`/public/${String(share_token)}/examples`)) as readonly Row[];
    const texts = examples.map(({ inputs }) => `{ "text": "${String((inputs as Row)["text"])}" }`);
    await expectOrder(
      `${server.url}/public/${String(share_token)}/d`,
      'td[data-column="inputs"]',
      texts,
    );
  }, 60_000);

  test("jobs are the newest first", async () => {
    for (const tag of ["beta", "gamma", "alpha"]) {
      await call("/ui/jobs", {
        kind: "runs.tag",
        parameters: { runs: { session: [projectId], filter: 'eq(name, "run 0")' }, add: tag },
      });
    }
    const { jobs } = (await call("/ui/jobs")) as Row;
    await expectOrder(`${tenant}/jobs`, ".job-head b", namesOf(jobs, "title"));
  }, 40_000);

  test("the commits of a prompt are the newest first", async () => {
    for (const index of [1, 2, 3]) {
      await client.prompts.push("ordered", { manifest: { index } });
    }
    const { commits } = (await call("/commits/-/ordered?limit=50")) as Row;
    const hashes = namesOf(commits, "commit_hash").map((hash) => hash.slice(0, 8));
    await page.goto(`${server.url}/prompts/ordered?tab=commits`);
    await expect
      .poll(() => page.locator(".hub-commits code").allInnerTexts(), { timeout: 15_000 })
      .toEqual(hashes);
    expect(opened.faults).toEqual([]);
  }, 40_000);

  test("rules and webhooks are in the server's order", async () => {
    const { id: queueId } = (await call("/annotation-queues", { name: "for rules" })) as Row;
    for (const name of ["beta rule", "gamma rule", "alpha rule"]) {
      await call("/ui/rules", {
        session_id: projectId,
        name,
        filter: 'eq(status, "error")',
        sampling_rate: 1,
        action: { kind: "queue", queue_id: queueId },
      });
      await call("/ui/webhooks", { name, url: "https://hooks.example.com/x" });
    }
    const rules = await call(`/ui/rules?session=${projectId}`);
    await expectOrder(
      `${tenant}/rules?project=${projectId}`,
      '[aria-label="Rules"] > li h2',
      namesOf(rules),
    );
    const webhooks = await call("/ui/webhooks");
    await expectOrder(
      `${tenant}/rules?project=${projectId}&tab=webhooks`,
      '[aria-label="Webhooks"] > li h2',
      namesOf(webhooks),
    );
  }, 60_000);
});
