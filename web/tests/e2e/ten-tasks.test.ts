import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { CountedHand } from "../support/counted-hand.ts";
import type { TaskCost } from "../support/counted-hand.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { screenshots } from "../support/screenshots.ts";
import {
  dearerModel,
  fillSupportDesk,
  supportProject,
  supportPrompt,
  thumbsKey,
} from "../support/support-desk.ts";
import type { SupportDesk } from "../support/support-desk.ts";

const browser = await startBrowser();
const patience = { timeout: 20_000 };

/** The clicks and keystrokes of each task; the table in docs/web.md has the same numbers. */
const limits = {
  "Find the failing tool call of yesterday": [7, 0],
  "Find the model that got dearer this week": [8, 0],
  "Turn 50 bad answers into a dataset": [4, 57],
  "Compare two prompts on a dataset": [6, 0],
  "Review a queue of twelve runs by keyboard": [0, 28],
  "Find the conversation of a user": [3, 18],
  "Share a trace": [4, 0],
  "Find the slowest step": [3, 1],
  "See why a run failed": [4, 0],
  "Roll back a prompt": [5, 0],
} as const;
type Task = keyof typeof limits;

describe.skipIf(browser === undefined)("ten tasks of a day's work, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  let hand: CountedHand;
  let desk: SupportDesk;
  const costs = new Map<Task, TaskCost>();

  beforeAll(async () => {
    opened = await openPage(browser!, supportProject);
    ({ page } = opened);
    await page.addInitScript(() => localStorage.setItem("millrace-reviewer", '"ann"'));
    await page.setViewportSize({ width: 1_440, height: 900 });
    desk = await fillSupportDesk(opened.client);
    hand = new CountedHand(page);
  }, 120_000);

  afterAll(async () => {
    const rows = [...costs].map(([task, { clicks, keystrokes, waitedMs }]) =>
      [task, clicks, keystrokes, `${waitedMs} ms`].join(" | "),
    );
    writeFileSync(`${screenshots}/ten-tasks.txt`, `${rows.join("\n")}\n`);
    await opened?.close();
    await browser?.close();
  }, 60_000);

  const link = (name: string) => page.getByRole("link", { name, exact: true });
  const button = (name: string) => page.getByRole("button", { name });
  const runTable = () => page.locator(".data-table");
  const openProject = () => hand.click(link(supportProject).first());
  const openFirstRun = () => hand.click(page.locator("tbody tr").first().getByRole("link").first());

  /** Does a task, beginning at the overview, and returns what it took. */
  async function measure(
    task: Task,
    work: () => Promise<void>,
  ): Promise<readonly [clicks: number, keystrokes: number]> {
    opened.faults.length = 0;
    await hand.start(opened.server.url);
    await link(supportProject).first().waitFor(patience);
    await work();
    const cost = hand.readCost();
    costs.set(task, cost);
    expect(opened.faults).toEqual([]);
    return [cost.clicks, cost.keystrokes];
  }

  test("find the failing tool call of yesterday", async () => {
    const cost = await measure("Find the failing tool call of yesterday", async () => {
      await openProject();
      await hand.click(button("All runs"));
      await hand.click(button("Filter by run type"));
      await hand.click(page.getByRole("menuitemradio", { name: "tool" }));
      await hand.click(button("Filter by status"));
      await hand.click(page.getByRole("menuitemradio", { name: "Error" }));
      await page.locator("tbody tr").filter({ hasText: "cancel_order" }).waitFor(patience);
      await expect.poll(() => page.locator("tbody tr").count(), patience).toBe(1);
      await openFirstRun();
      await page.getByText("connect ECONNREFUSED 10.0.3.7:8443").waitFor(patience);
    });
    expect(cost).toEqual(limits["Find the failing tool call of yesterday"]);
    expect(new URL(page.url()).searchParams.get("trace")).toContain(desk.failedTraceId);
  });

  test("find the model that got dearer this week", async () => {
    const cost = await measure("Find the model that got dearer this week", async () => {
      await openProject();
      await hand.click(link("Dashboard"));
      // The list of runs, which is shown until the dashboard is loaded, has a time range, too.
      await page.getByLabel("Group by").waitFor(patience);
      await hand.choose(page.getByLabel("Time range", { exact: true }), "7d");
      await hand.choose(page.getByRole("combobox", { name: "Runs", exact: true }), "models");
      await hand.choose(page.getByLabel("Group by"), "model");
      const columns = page.getByRole("region", { name: "Groups" });
      await columns.getByText("Cost per run").waitFor(patience);
      const listDearer = () =>
        columns.locator("tbody tr").evaluateAll((rows) =>
          rows.flatMap((row) => {
            const change =
              row.querySelector('td[data-title="Cost per run"] .metric-change')?.textContent ?? "";
            const percent = Number(/^\+(\d+)/.exec(change)?.[1] ?? 0);
            return percent > 50 ? [row.querySelector("td")?.textContent] : [];
          }),
        );
      // A thread of low priority counts the runs that were just stored; the page says so, and asks again.
      await expect.poll(listDearer, { timeout: 90_000 }).toEqual([dearerModel]);
    });
    expect(cost).toEqual(limits["Find the model that got dearer this week"]);
  }, 120_000);

  test("turn 50 bad answers into a dataset", async () => {
    const cost = await measure("Turn 50 bad answers into a dataset", async () => {
      await openProject();
      await runTable().waitFor(patience);
      await hand.press("f");
      await hand.type(`feedback_key = ${thumbsKey} and feedback_score = 0`);
      await hand.press("Enter");
      await expect
        .poll(() => page.getByText("Matching traces over time").count(), patience)
        .toBe(1);
      await page.waitForFunction(
        () => document.querySelectorAll(".filter-chip").length > 0,
        undefined,
        patience,
      );
      await hand.click(page.getByLabel("Select all loaded rows"));
      await page.getByText("50 selected").waitFor(patience);
      await hand.click(button("Add to dataset"));
      await page.getByRole("dialog").getByRole("textbox").first().waitFor();
      await hand.type("bad answers");
      await hand.click(page.getByRole("dialog").getByRole("button", { name: /^(Create|Add)/ }));
      await page.getByRole("dialog").getByText("50 runs added").waitFor(patience);
    });
    expect(cost).toEqual(limits["Turn 50 bad answers into a dataset"]);
    const dataset = await opened.client.datasets.read({ datasetName: "bad answers" });
    expect(dataset.exampleCount).toBe(50);
  });

  test("compare two prompts on a dataset", async () => {
    const cost = await measure("Compare two prompts on a dataset", async () => {
      await hand.click(link("Datasets"));
      await hand.click(link("support-questions"));
      await hand.click(page.getByRole("link", { name: /^Experiments/ }));
      await link("prompt-v3").waitFor(patience);
      await hand.click(page.getByLabel("Select row 1"));
      await hand.click(page.getByLabel("Select row 2"));
      await hand.click(page.getByRole("link", { name: /^Compare selected/ }));
      await page.getByText("50 better, 10 worse, 0 same").waitFor(patience);
    });
    expect(cost).toEqual(limits["Compare two prompts on a dataset"]);
  });

  test("review a queue of twelve runs by keyboard", async () => {
    const cost = await measure("Review a queue of twelve runs by keyboard", async () => {
      await hand.press("g", "q");
      await link("Weekly review").waitFor(patience);
      await hand.press("j", "Enter");
      for (let reviewed = 0; reviewed < 12; reviewed += 1) {
        await page.getByText(`${reviewed} of 12 reviewed`).waitFor(patience);
        await page.getByRole("button", { name: "Yes", pressed: false }).waitFor(patience);
        const { search } = new URL(page.url());
        await hand.press("1");
        await page.getByRole("button", { name: "Yes", pressed: true }).waitFor(patience);
        await hand.press("d");
        await page.waitForURL((url) => url.search !== search, patience);
      }
    });
    expect(cost).toEqual(limits["Review a queue of twelve runs by keyboard"]);
    const feedback = await opened.client.feedback.list({ keys: ["correct"] }).toArray();
    expect(feedback).toHaveLength(12);
  });

  test("find the conversation of a user", async () => {
    const cost = await measure("Find the conversation of a user", async () => {
      await openProject();
      await runTable().waitFor(patience);
      await hand.press("f");
      await hand.type(desk.user);
      await hand.press("Enter");
      await expect.poll(() => page.locator("tbody tr").count(), patience).toBe(3);
      await openFirstRun();
      await hand.click(link("Thread chat-of-dana"));
      await page.getByText("3 turns").waitFor(patience);
    });
    expect(cost).toEqual(limits["Find the conversation of a user"]);
  });

  test("share a trace", async () => {
    const cost = await measure("Share a trace", async () => {
      await openProject();
      await openFirstRun();
      await hand.click(button("Share"));
      await hand.click(button("Create link"));
      await page.getByText("/public/").waitFor(patience);
    });
    expect(cost).toEqual(limits["Share a trace"]);
    const address = await page
      .getByRole("dialog")
      .textContent()
      .then((text) => /http:\/\/[\w.:]+\/public\/[\w-]+\/r/.exec(text ?? "")?.[0]);
    await page.goto(address ?? "about:blank");
    await page.locator(".trace-heading").getByText("Shared trace").waitFor(patience);
  });

  test("find the slowest step", async () => {
    const cost = await measure("Find the slowest step", async () => {
      await openProject();
      await hand.click(page.getByRole("columnheader", { name: "Latency" }).getByRole("button"));
      await page.locator("tbody tr").first().filter({ hasText: "42.0 s" }).waitFor(patience);
      await openFirstRun();
      await page.getByTitle("#1 slowest by self time").waitFor(patience);
      await hand.press("s");
      await page
        .getByRole("region", { name: "Selected run" })
        .getByText("rerank")
        .waitFor(patience);
    });
    expect(cost).toEqual(limits["Find the slowest step"]);
  });

  test("see why a run failed", async () => {
    const cost = await measure("See why a run failed", async () => {
      await openProject();
      await hand.click(button("Filter by status"));
      await hand.click(page.getByRole("menuitemradio", { name: "Error" }));
      await page.locator("tbody tr").first().filter({ hasText: "Error" }).waitFor(patience);
      await openFirstRun();
      await page
        .getByRole("region", { name: "Selected run" })
        .getByText(/429 Too Many Requests/)
        .first()
        .waitFor(patience);
    });
    expect(cost).toEqual(limits["See why a run failed"]);
  });

  test("roll back a prompt", async () => {
    const before = await opened.client.prompts.listCommits(supportPrompt).toArray();
    const good = before[1]!;
    const cost = await measure("Roll back a prompt", async () => {
      await hand.click(link("Prompts"));
      await hand.click(link(supportPrompt));
      await hand.click(link("Commits"));
      const title = `Restore ${good.commitHash.slice(0, 8)}`;
      await hand.click(button(title));
      await hand.click(
        page.getByRole("dialog", { name: `${title}?` }).getByRole("button", { name: "Restore" }),
      );
      await page.getByText(title, { exact: true }).first().waitFor(patience);
    });
    expect(cost).toEqual(limits["Roll back a prompt"]);
    const pulled = await opened.client.prompts.pull(supportPrompt);
    const expected = await opened.client.prompts.pull(`${supportPrompt}:${good.commitHash}`);
    expect(pulled.manifest).toEqual(expected.manifest);
    expect(await opened.client.prompts.listCommits(supportPrompt).toArray()).toHaveLength(5);
  });
});
