import { chatPrompt } from "millrace/prompts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)("the prompt of a call, in Chromium", () => {
  let opened: OpenedPage;
  let commitHash: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "prompted");
    await opened.client.prompts.push("qa", {
      manifest: chatPrompt([
        ["system", "Speak {language}."],
        ["user", "{question}"],
      ]),
    });
    ({ commitHash } = await opened.client.prompts.pull("qa"));
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  /** Records a chain with a model call, and opens the call. */
  const openCall = async (
    inputs: Readonly<Record<string, unknown>>,
    messages: readonly object[],
  ): Promise<void> => {
    const { client, page } = opened;
    const chain = client.startRun({ name: "chain", inputs });
    const call = chain.startChild({
      name: "model call",
      runType: "llm",
      inputs: { messages },
      metadata: { lc_hub_owner: "-", lc_hub_repo: "qa", lc_hub_commit_hash: commitHash },
    });
    call.end({ choices: [{ message: { role: "assistant", content: "Because." } }] });
    chain.end({ answer: "Because." });
    await client.flush();
    const address = await opened.projectAddress();
    await page.goto(`${address}?trace=${chain.traceId}&run=${call.id}`);
    // The first page of a new server may take long on a busy machine.
    await page.getByRole("figure", { name: "Inputs" }).waitFor({ timeout: 45_000 });
  };

  const prompt = () => opened.page.getByRole("figure", { name: "Prompt" });

  test("is shown with the values of its variables marked, and leads to the commit", async () => {
    const { page } = opened;
    const question = "\u202eWhy <img src=x onerror=alert(1)>?";
    await openCall({ language: "Latin", question }, [
      { role: "system", content: "Speak Latin." },
      { role: "user", content: question },
    ]);
    await prompt().waitFor();
    const marks = prompt().locator("mark");
    await expect.poll(async () => marks.count()).toBe(2);
    expect(await marks.allTextContents()).toEqual([
      "Latin",
      "\\u202eWhy <img src=x onerror=alert(1)>?",
    ]);
    // Screen readers read the name before the value.
    const texts = await prompt().getByRole("paragraph").allTextContents();
    expect(texts).toEqual([
      "Speak language: Latin.",
      "question: \\u202eWhy <img src=x onerror=alert(1)>?",
    ]);
    await marks.first().hover();
    await page.getByRole("tooltip", { name: "Variable language" }).waitFor();
    await showScreen(page, "trace-prompt");
    await page.mouse.move(0, 0);
    expect(await findFaults(page)).toEqual([]);
    await prompt()
      .getByRole("link", { name: `qa:${commitHash.slice(0, 8)}` })
      .click();
    await page.getByRole("heading", { name: "qa" }).waitFor();
    expect(opened.faults).toEqual([]);
  }, 60_000);

  test("is shown for the prompt run of LangChain, and for the call after it", async () => {
    const { client, page } = opened;
    const inputs = { language: "Latin", question: "Why?" };
    const chain = client.startRun({ name: "chain", inputs: { topic: "mills" } });
    const toNode = (name: string, kwargs: object) => ({
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "x", name],
      kwargs,
    });
    const messages = [
      toNode("SystemMessage", { content: "Speak Latin." }),
      toNode("HumanMessage", { content: "Why?" }),
    ];
    const prompted = chain.startChild({
      name: "ChatPromptTemplate",
      runType: "prompt",
      inputs,
      metadata: { lc_hub_owner: "-", lc_hub_repo: "qa", lc_hub_commit_hash: commitHash },
    });
    prompted.end({ output: toNode("ChatPromptValue", { messages }) });
    const call = chain.startChild({
      name: "call",
      runType: "llm",
      inputs: { messages: [messages] },
    });
    call.end({});
    chain.end({});
    await client.flush();
    const address = await opened.projectAddress();
    for (const run of [prompted, call]) {
      await page.goto(`${address}?trace=${chain.traceId}&run=${run.id}`);
      await prompt().waitFor();
      expect(await prompt().locator("mark").allTextContents()).toEqual(["Latin", "Why?"]);
    }
    await page.goto(`${address}?trace=${chain.traceId}&run=${chain.id}`);
    await page.getByRole("figure", { name: "Inputs" }).getByText("mills").waitFor();
    expect(await prompt().count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  test("is shown in part with a value of 5 MB", async () => {
    const question = "x".repeat(5_000_000);
    await openCall({ language: "Latin", question }, [
      { role: "system", content: "Speak Latin." },
      { role: "user", content: question },
    ]);
    await prompt().getByText("(5,000,000 characters)").waitFor();
    expect((await prompt().textContent())?.length).toBeLessThan(5_000);
    expect(opened.faults).toEqual([]);
  });

  test("is not shown if the messages are not exactly those of the prompt and the inputs", async () => {
    const { page } = opened;
    const response = page.waitForResponse((one) => one.url().includes("/commits/-/qa/"));
    await openCall({ language: "Latin", question: "Why?" }, [
      { role: "system", content: "Speak Latin." },
      { role: "user", content: "Why? Answer shortly." },
    ]);
    await response;
    await page.getByText("Why? Answer shortly.").first().waitFor();
    await showScreen(page, "trace-prompt-unknown");
    expect(await prompt().count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });
});
