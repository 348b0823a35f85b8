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
const hostile = "<img src=x onerror=alert(1)>\u202Egnp";

describe.skipIf(browser === undefined)("the values of a run, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let project: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "values");
    ({ client, page } = opened);
    client.startRun({ name: "first" }).end({});
    await client.flush();
    project = await opened.projectAddress();
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const figure = (label: string) => page.getByRole("figure", { name: label });
  const show = (label: string, mode: string) =>
    figure(label).getByRole("button", { name: mode, exact: true }).click();

  async function openRun(inputs: Record<string, unknown>, outputs: object): Promise<void> {
    const run = client.startRun({ name: "values", inputs });
    run.end(outputs);
    await client.flush();
    await page.goto(`${project}?trace=${run.id}`);
    await figure("Outputs").waitFor();
  }

  test("code in Markdown and on the tab of code is colored, and stays one text", async () => {
    const readColored = (kind: string): Promise<readonly string[]> =>
      page.evaluate(
        (name) =>
          [...(CSS.highlights.get(name) ?? [])].map(({ startContainer, startOffset, endOffset }) =>
            (startContainer as Text).data.slice(startOffset, endOffset),
          ),
        kind,
      );
    const python = "def add(a, b):\n    return a + b  # the sum";
    await openRun(
      { messages: [{ role: "user", content: "Add" }] },
      { messages: [{ role: "assistant", content: `Use:\n\n\`\`\`python\n${python}\n\`\`\`` }] },
    );
    await expect.poll(() => readColored("code-keyword")).toEqual(["def", "return"]);
    expect(await readColored("code-comment")).toEqual(["# the sum"]);
    const code = page.locator(".markdown pre code");
    expect(await code.evaluate(({ childNodes }) => childNodes.length)).toBe(1);
    expect(await code.innerText()).toBe(`${python}\n`);
    await showScreen(page, "values-code");
    await page.getByRole("tab", { name: "Code" }).click();
    await expect.poll(() => readColored("code-keyword")).toContain("import");
    // The colors of what is no longer shown are removed.
    expect(await readColored("code-comment")).not.toContain("# the sum");
    expect(await findFaults(page)).toEqual([]);
  }, 40_000);

  test("retrieved documents are a table, whose cells show hostile texts as texts", async () => {
    await openRun(
      { query: "tent" },
      {
        documents: [
          { title: hostile, score: 0.87 },
          { title: "Returns", tags: ["a", "b"] },
        ],
      },
    );
    await show("Outputs", "Table");
    const table = figure("Outputs").getByRole("table");
    expect(await table.getByRole("columnheader").allTextContents()).toEqual([
      "title",
      "score",
      "tags",
    ]);
    expect(await table.getByRole("cell").allTextContents()).toEqual([
      "<img src=x onerror=alert(1)>\\u202egnp",
      "0.87",
      "–",
      "Returns",
      "–",
      '["a","b"]',
    ]);
    expect(await page.locator("table img").count()).toBe(0);
    // The address has the view, so that a link shows the same.
    expect(new URL(page.url()).searchParams.get("as")).toBe("table");
    await showScreen(page, "values-table");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("YAML shows a prompt of several lines as it was written, also one of 5 MB", async () => {
    const system = `You help customers.\n\nRules:\n- be short\n${"x".repeat(5_000_000)}`;
    await openRun({ system, n: 1 }, { ok: true });
    await show("Inputs", "YAML");
    const text = figure("Inputs").locator("pre");
    await text.waitFor();
    const [firstLines = ""] = (await text.allTextContents()).map((shown) => shown.slice(0, 70));
    expect(firstLines).toBe(
      "system: |-\n  You help customers.\n\n  Rules:\n  - be short\n  xxxxxxxxxxxx",
    );
    await figure("Inputs")
      .getByText(/more characters/)
      .waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("the result of a tool is below its call, also if two tools were called at once", async () => {
    const call = (id: string, name: string) => ({
      id,
      type: "function",
      function: { name, arguments: "{}" },
    });
    const messages = [
      { role: "user", content: "Compare both" },
      { role: "assistant", content: null, tool_calls: [call("a", "rain"), call("b", "wind")] },
      { role: "tool", tool_call_id: "b", content: "12 kn" },
      { role: "tool", tool_call_id: "a", content: "none" },
    ];
    await openRun({ messages }, { ok: true });
    const tools = figure("Inputs").locator(".chat-tool");
    expect(await tools.count()).toBe(2);
    expect(await tools.first().textContent()).toBe("Tool call raina{}Tool resultnone");
    expect(await tools.last().textContent()).toBe("Tool call windb{}Tool result12 kn");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("arguments and results of tools are coloured trees, unless a number would lose digits", async () => {
    const call = (id: string, args: string) => ({
      id,
      type: "function",
      function: { name: "find_order", arguments: args },
    });
    const messages = [
      {
        role: "assistant",
        content: null,
        tool_calls: [call("a", '{"order_id":"48213","limit":3}'), call("b", "{}")],
      },
      { role: "tool", tool_call_id: "a", content: '{"found":true,"items":[{"price":9.5}]}' },
      { role: "tool", tool_call_id: "b", content: '{"order":12345678901234567890}' },
    ];
    await openRun({ messages }, { ok: true });
    const [first, last] = [
      figure("Inputs").locator(".chat-tool").first(),
      figure("Inputs").locator(".chat-tool").last(),
    ];
    const args = first.getByRole("tree", { name: "Arguments of find_order" });
    expect(await args.getByRole("treeitem").allTextContents()).toEqual([
      "order_id: 48213",
      "limit: 3",
    ]);
    const colors = await args
      .locator(".json-value")
      .evaluateAll((values) => values.map((value) => getComputedStyle(value).color));
    expect(new Set(colors).size).toBe(2);
    const result = first.getByRole("tree", { name: "Result of find_order" });
    expect(await result.getByRole("treeitem").allTextContents()).toContain("found: true");
    expect(await last.locator("pre").allTextContents()).toEqual([
      "{}",
      '{"order":12345678901234567890}',
    ]);
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("r shows what an example expects against what the run returned, and then the data again", async () => {
    const dataset = await client.datasets.create({ name: "expected" });
    const { exampleIds } = await client.examples.createMany({
      datasetId: dataset.id,
      examples: [{ inputs: { q: 1 }, outputs: { answer: "forty-two" } }],
    });
    await client.projects.create({ name: "experiment", referenceDatasetId: dataset.id });
    const run = client.startRun({
      name: "answer",
      projectName: "experiment",
      referenceExampleId: exampleIds[0]!,
    });
    run.end({ answer: "forty-three" });
    await client.flush();
    const experiment = await client.projects.read({ projectName: "experiment" });
    const [tenant] = project.split("/projects/");
    await page.goto(`${tenant}/projects/p/${experiment.id}?trace=${run.id}`);
    await figure("Outputs").waitFor();
    await press(page, "r");
    await page.getByText("Reference outputs compared with actual outputs").waitFor();
    await page.locator(".cm-deletedChunk").filter({ hasText: "forty-two" }).waitFor();
    await showScreen(page, "values-reference");
    expect(await findFaults(page)).toEqual([]);
    await press(page, "r");
    await figure("Outputs").waitFor();
    // A run without an example has no reference.
    await openRun({ a: 1 }, { b: 2 });
    await press(page, "r");
    expect(await page.getByText("Reference outputs").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  test("the header leads to the thread of the trace, whatever characters its id has", async () => {
    const root = client.startRun({ name: "turn", metadata: { thread_id: "a/../b?&#\u202Ec" } });
    root.end({ answer: "Hello" });
    await client.flush();
    await page.goto(`${project}?trace=${root.id}`);
    await page.getByRole("link", { name: /^Thread a\/\.\.\/b/ }).click();
    await page.getByText("1 turn").waitFor();
    expect(new URL(page.url()).searchParams.get("id")).toBe("a/../b?&#\u202Ec");
    await page.goto(project);
    expect(opened.faults).toEqual([]);
  });

  test("the first step among the slowest runs leads to the slowest one, although the root is selected", async () => {
    const startTime = Date.now() - 60_000;
    const root = client.startRun({ name: "root", startTime });
    for (let index = 0; index < 10; index += 1) {
      const at = startTime + 5_000 + index * 100;
      root
        .startChild({ name: `step ${index}`, startTime: at })
        .end({}, { endTime: at + (index === 7 ? 20_000 : 50) });
    }
    root.end({}, { endTime: startTime + 30_000 });
    await client.flush();
    await page.goto(`${project}?trace=${root.id}`);
    await page.getByTitle("#2 slowest by self time").waitFor();
    const selected = page.getByRole("region", { name: "Selected run" }).locator("h1");
    await press(page, "s");
    await expect.poll(() => selected.textContent()).toBe("step 7");
    await press(page, "s");
    await expect.poll(() => selected.textContent()).toBe("root");
    await press(page, "a");
    await expect.poll(() => selected.textContent()).toBe("step 7");
    expect(opened.faults).toEqual([]);
  });
});
