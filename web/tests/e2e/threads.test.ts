import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { press } from "../support/key-effects.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const patience = { timeout: 20_000 };
const hostileId = "user\u202Egnp/../<b>?&#";

interface Message {
  readonly role: string;
  readonly content: string;
}

/** Records one turn of a conversation that sends all earlier messages again. Returns the id of its trace. */
function recordTurn(
  client: Client,
  {
    thread,
    messages,
    answer,
    at,
  }: {
    readonly thread: string;
    readonly messages: readonly Message[];
    readonly answer: string;
    readonly at: number;
  },
): string {
  const metadata = { thread_id: thread };
  const root = client.startRun({ name: "chat", inputs: { messages }, metadata, startTime: at });
  const model = root.startChild({
    name: "model",
    runType: "llm",
    inputs: { messages },
    startTime: at + 1,
  });
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15, total_cost: 0.02 };
  model.end({ usage_metadata: usage }, { endTime: at + 900 });
  root.end(
    { choices: [{ message: { role: "assistant", content: answer } }] },
    { endTime: at + 1_000 },
  );
  return root.id;
}

describe.skipIf(browser === undefined)("the threads of a project, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let address: string;
  let secondTrace: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "support");
    ({ client, page } = opened);
    const at = Date.now() - 60_000;
    const question: Message = { role: "user", content: "Where is my order?" };
    const history: readonly Message[] = [
      question,
      { role: "assistant", content: "It is on its way." },
      { role: "user", content: "When will it arrive?" },
    ];
    const first = recordTurn(client, {
      thread: "order-1",
      messages: [question],
      answer: "It is on its way.",
      at,
    });
    secondTrace = recordTurn(client, {
      thread: "order-1",
      messages: history,
      answer: "Tomorrow.",
      at: at + 20_000,
    });
    const hostile =
      "<img src=x onerror=alert(1)> [click](javascript:alert(2)) ![i](http://127.0.0.1:1/x.png)";
    recordTurn(client, {
      thread: hostileId,
      messages: [{ role: "user", content: hostile }],
      answer: hostile,
      at: at + 10_000,
    });
    const failed = client.startRun({
      name: "failing",
      inputs: { question: "Why?" },
      metadata: { session_id: "fails" },
      startTime: at + 5_000,
    });
    failed.fail(new Error("the model is down"), { endTime: at + 6_000 });
    await client.flush();
    await client.feedback.create({ runId: first, key: "helpful", score: 1 });
    await client.feedback.create({ runId: secondTrace, key: "helpful", score: 0 });
    address = await opened.projectAddress();
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const rows = () => page.getByRole("table", { name: "threads" }).locator("tbody tr");
  const turn = (number: number) => page.getByRole("article", { name: `Turn ${number}` });

  test("the list has a row for each thread with turns, last message, errors, usage and feedback", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "Threads" }).click();
    await rows().first().waitFor();
    expect(await page.title()).toBe("Threads · Millrace");
    const texts = await rows().allTextContents();
    expect(texts).toHaveLength(3);
    expect(texts[0]).toMatch(/^order-1Assistant Tomorrow\.2\s*30\$0\.04helpful 0\.5/);
    expect(texts[1]).toContain("user\\u202egnp/../<b>?&#");
    expect(texts[2]).toMatch(/^failsError: the model is down11/);
    await showScreen(page, "threads");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("a thread is read as one chat: each turn adds only its own messages and opens its trace", async () => {
    await page.goto(`${address}/threads`);
    await page.getByRole("link", { name: "order-1" }).click();
    await turn(2).getByText("Tomorrow.").waitFor();
    expect(await page.title()).toBe("order-1 · Millrace");
    expect(await page.locator(".thread-summary").textContent()).toBe("2 turns30 tokens$0.04");
    const texts = await page.locator(".chat-message").allTextContents();
    expect(texts).toEqual([
      "userWhere is my order?",
      "assistantIt is on its way.",
      "userWhen will it arrive?",
      "assistantTomorrow.",
    ]);
    expect(await turn(1).locator("header").textContent()).toMatch(
      /1\.00 s15 tokens\$0\.02helpful 1/,
    );
    await showScreen(page, "thread");
    expect(await findFaults(page)).toEqual([]);
    await turn(2).getByRole("button", { name: "Show 2 earlier messages" }).click();
    expect(await turn(2).locator(".chat-message").count()).toBe(4);
    await turn(2).getByRole("link", { name: "Open trace of turn 2" }).click();
    await page.waitForURL((url) => url.searchParams.get("trace") === secondTrace);
    // The turns before and after it are the previous and the next trace.
    const neighbors = page.getByRole("navigation", { name: "Previous and next trace" });
    await neighbors.getByRole("link", { name: "Previous trace" }).click();
    await page.waitForURL((url) => url.searchParams.get("trace") !== secondTrace);
    await neighbors.getByRole("link", { name: "Next trace" }).click();
    await page.waitForURL((url) => url.searchParams.get("trace") === secondTrace);
    expect(await neighbors.getByRole("link", { name: "Next trace" }).count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  test("the keyboard opens the threads, moves between turns and opens a trace", async () => {
    await page.goto(address);
    await page.getByRole("link", { name: "Threads" }).waitFor();
    await press(page, "g", "t");
    await rows().first().waitFor();
    await press(page, "j", "Enter");
    await turn(2).getByText("Tomorrow.").waitFor();
    await press(page, "j", "j", "Enter");
    await page.waitForURL((url) => url.searchParams.get("trace") === secondTrace);
    expect(opened.faults).toEqual([]);
  });

  test("a hostile id and hostile messages are shown as texts; nothing is executed or requested", async () => {
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${address}/threads`);
    await page.getByRole("link", { name: "user\\u202egnp" }).click();
    await turn(1).getByText("<img src=x onerror=alert(1)>").first().waitFor();
    expect(new URL(page.url()).searchParams.get("id")).toBe(hostileId);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(
      "user\\u202egnp/../<b>?&#",
    );
    expect(await page.locator("article img").count()).toBe(0);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    await showScreen(page, "thread-hostile");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
    await page.emulateMedia({ colorScheme: "light" });
  });

  test("a failed turn shows its question and its error", async () => {
    await page.goto(`${address}/thread?id=fails`);
    await turn(1).getByText("the model is down").waitFor();
    expect(await turn(1).textContent()).toContain("Why?");
    expect(opened.faults).toEqual([]);
  });

  test("threads are searched by a part of their id, and an unknown thread says so", async () => {
    await page.goto(`${address}/threads`);
    await page.getByRole("searchbox", { name: "Search by thread ID" }).fill("order");
    await expect.poll(async () => rows().count(), patience).toBe(1);
    await page.getByRole("searchbox", { name: "Search by thread ID" }).fill("nothing like it");
    await page.getByText("No matches").waitFor();
    await page.goto(`${address}/thread?id=unknown`);
    await page.getByText("No run of this project has this thread ID").waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("a turn with 5 MB of inputs and outputs does not freeze the page", async () => {
    const text = "word ".repeat(500_000);
    client
      .startRun({
        name: "large",
        inputs: { messages: [{ role: "user", content: text }] },
        metadata: { thread_id: "large" },
      })
      .end({ list: Array.from({ length: 100_000 }, (_, index) => `item ${index} of the list`) });
    await client.flush();
    await page.goto(`${address}/thread?id=large`);
    await turn(1).getByRole("figure", { name: "Outputs" }).waitFor();
    await turn(1).getByRole("button", { name: "Show more" }).first().waitFor();
    const startedMs = Date.now();
    await page.getByRole("link", { name: "Threads", exact: true }).click();
    await rows().first().waitFor();
    expect(Date.now() - startedMs).toBeLessThan(2_000);
    expect(opened.faults).toEqual([]);
  });

  test("of 300 turns, only those in view are loaded; the rest follow while one scrolls", async () => {
    const at = Date.now() - 3_600_000;
    for (let index = 0; index < 300; index += 1) {
      const run = client.startRun({
        name: `turn ${index}`,
        inputs: { text: `question ${index}` },
        metadata: { thread_id: "many" },
        startTime: at + index * 1_000,
      });
      run.end({ text: `answer ${index}` }, { endTime: at + index * 1_000 + 500 });
    }
    await client.flush();
    const loadedRuns = new Set<string>();
    page.on("request", (request) => {
      if (request.url().includes("/ui/trace-runs/")) {
        loadedRuns.add(request.url());
      }
    });
    await page.goto(`${address}/thread?id=many`);
    await turn(1).getByText("answer 0").waitFor();
    expect(loadedRuns.size).toBeLessThan(40);
    await expect
      .poll(async () => {
        await page.locator(".thread-turns").evaluate((list) => list.scrollTo(0, list.scrollHeight));
        return page.getByText("answer 299").count();
      }, patience)
      .toBe(1);
    expect(opened.faults).toEqual([]);
  }, 60_000);
});
