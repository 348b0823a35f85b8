import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { compile } from "millrace/prompts";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const apiKey = "sk-secret-0123456789";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
    readonly [member: string]: unknown;
  };
}

const toEvents = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const textEvent = (content: string) => ({ choices: [{ delta: { content } }] });
const lastEvents = [
  { choices: [{ delta: {}, finish_reason: "stop" }] },
  { choices: [], usage: { prompt_tokens: 1_200, completion_tokens: 34 } },
];

/** What a model of the fake endpoint answers, by its name. The default repeats the last message. */
const models: Readonly<Record<string, (response: ServerResponse, received: Received) => void>> = {
  waits: (response) => {
    response.write(toEvents(textEvent("It takes a while")));
  },
  tools: (response, { body }) => {
    const isAnswered = body.messages.some(({ role }) => role === "tool");
    const call = {
      index: 0,
      id: "call-1",
      function: { name: "weather", arguments: '{"city":"Ulm"}' },
    };
    response.end(
      isAnswered
        ? toEvents(textEvent("It is sunny in Ulm."), ...lastEvents)
        : toEvents(
            { choices: [{ delta: { tool_calls: [call] } }] },
            { choices: [{ finish_reason: "tool_calls" }] },
          ),
    );
  },
  hostile: (response) => {
    const text =
      "# Big\n<script>document.title='x'</script><img src=x onerror=alert(1)>\n\n![i](http://evil.test/i.png) [js](javascript:alert(1)) \u202eabc";
    response.end(toEvents(textEvent(text), ...lastEvents));
  },
  drips: (response) => {
    const timer = setInterval(() => response.write(":"), 50);
    response.once("close", () => clearInterval(timer));
  },
};

describe.skipIf(browser === undefined)("the playground, in Chromium", () => {
  const received: Received[] = [];
  let closedEarly = 0;
  const endpoint = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const call = { headers: request.headers, body: JSON.parse(text) as Received["body"] };
      received.push(call);
      response.once("close", () => (closedEarly += response.writableEnded ? 0 : 1));
      if (call.body.model === "locked") {
        response.writeHead(401, { "content-type": "application/json" });
        response.end(
          JSON.stringify({ error: { message: `Wrong key ${request.headers.authorization}` } }),
        );
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const answer = models[call.body.model];
      if (answer === undefined) {
        const last = call.body.messages.at(-1)?.content;
        response.end(
          toEvents(
            textEvent(`**Echo** of ${call.body.model}: ${JSON.stringify(last)}`),
            ...lastEvents,
          ),
        );
      } else {
        answer(response, call);
      }
    });
  });
  let opened: OpenedPage;
  let page: Page;

  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      endpoint.listen(0, "127.0.0.1", resolve);
    });
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
    opened = await openPage(browser!, "playground", {
      modelEndpoints: [
        { name: "fake", url, apiKey },
        { name: "open", url },
      ],
    });
    ({ page } = opened);
    await fetch(`${opened.server.url}/ui/prices`, {
      method: "PUT",
      body: JSON.stringify({ prices: [{ model: "echo*", prices: { input: 100, output: 1_000 } }] }),
    });
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
    received.length = 0;
    closedEarly = 0;
  });

  afterAll(async () => {
    endpoint.closeAllConnections();
    endpoint.close();
    await opened?.close();
    await browser?.close();
  });

  const message = (number: number) =>
    page.getByRole("group", { name: `Message ${number}`, exact: true });
  const modelField = (number: number) =>
    page
      .getByRole("group", { name: `Model ${number}`, exact: true })
      .getByLabel("Model", { exact: true });
  const answerOf = (model: string) => page.getByRole("article", { name: `Answer of ${model}` });
  const run = () => page.getByRole("button", { name: "Run", exact: true }).click();

  /** Opens an address with an empty storage but the token. */
  const open = async (path = "/playground"): Promise<void> => {
    await page.goto(`${opened.server.url}/prompts`);
    await page.evaluate((token) => {
      sessionStorage.clear();
      sessionStorage.setItem("millrace-model-token", token);
    }, opened.server.modelToken ?? "");
    await page.goto(opened.server.url + path);
    await message(1).waitFor();
  };

  test("asks once for the token that the server printed, and refuses a wrong one", async () => {
    await page.goto(`${opened.server.url}/playground`);
    const token = page.getByLabel("Token", { exact: true }).and(page.locator("input"));
    await token.fill("wrong");
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("The server did not accept the token.").waitFor();
    expect(await page.getByRole("button", { name: "Run", exact: true }).isDisabled()).toBe(true);
    await showScreen(page, "playground-token");
    expect(await findFaults(page)).toEqual([]);
    await token.fill(opened.server.modelToken ?? "");
    await page.getByRole("button", { name: "Unlock" }).click();
    await token.waitFor({ state: "detached" });
    await page.reload();
    await message(1).waitFor();
    expect(await token.count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  test("sends messages with filled variables to several models, side by side, with tokens, cost and latency", async () => {
    await open();
    await message(1).getByLabel("Text").fill("Answer in {language}.");
    await message(2).getByLabel("Text").fill("What is {topic}?");
    await page.getByRole("region", { name: "Variables" }).getByLabel("language").fill("Latin");
    await page.getByRole("region", { name: "Variables" }).getByLabel("topic").fill("{water}");
    await modelField(1).fill("echo-1");
    await page.getByRole("button", { name: "Add model" }).click();
    await modelField(2).fill("echo-2");
    await page
      .getByRole("form", { name: "Request" })
      .getByText("Settings", { exact: true })
      .click();
    await page.getByLabel("Temperature").fill("0.3");
    await page.getByLabel("Max tokens").fill("64");
    await message(2).getByLabel("Text").press("Control+Enter");
    await answerOf("echo-2 (fake)").getByText("Open run").waitFor();
    await answerOf("echo-1 (fake)").getByText("Open run").waitFor();
    expect(received.map(({ body }) => body.model).toSorted()).toEqual(["echo-1", "echo-2"]);
    expect(received[0]?.body).toMatchObject({
      messages: [
        { role: "system", content: "Answer in Latin." },
        { role: "user", content: "What is {water}?" },
      ],
      temperature: 0.3,
      max_tokens: 64,
      stream: true,
    });
    const answer = answerOf("echo-1 (fake)");
    expect(await answer.locator("strong").textContent()).toBe("Echo");
    const facts = await answer.getByRole("list", { name: "Answer statistics" }).textContent();
    expect(facts).toContain("1,200 → 34 tokens");
    expect(facts).toContain("$0.154");
    expect(facts).toMatch(/First token \d/);
    await showScreen(page, "playground-answers");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("a call is recorded as a run that the playground opens again, unless the switch is off", async () => {
    await open();
    await message(2).getByLabel("Text").fill("Recorded?");
    await modelField(1).fill("echo-r");
    await page.getByRole("switch", { name: "Record runs" }).click();
    await run();
    await answerOf("echo-r (fake)").getByText("34 tokens").waitFor();
    expect(await answerOf("echo-r (fake)").getByText("Open run").count()).toBe(0);
    await page.getByRole("switch", { name: "Record runs" }).click();
    await run();
    await answerOf("echo-r (fake)").getByText("Open run").click();
    await page.getByRole("link", { name: "Open in playground" }).click();
    await page.waitForURL(/\/playground\?run=/);
    await message(2).waitFor();
    expect(await message(2).getByLabel("Text").inputValue()).toBe("Recorded?");
    expect(await modelField(1).inputValue()).toBe("echo-r");
    expect(opened.faults).toEqual([]);
  });

  test("a tool call shows its arguments, and a typed result is sent on", async () => {
    await open();
    await modelField(1).fill("tools");
    await page.getByText("Tools", { exact: true }).click();
    const editor = page.getByRole("textbox", { name: "Tools" });
    await editor.click();
    await page.keyboard.insertText('[{"name": "weather", "parameters": 1}]');
    await page.getByText("the parameters of a tool must be a JSON schema").waitFor();
    await run();
    await page.getByRole("alert").filter({ hasText: "Tools: the parameters" }).waitFor();
    expect(received).toEqual([]);
    await editor.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText('[{"name": "weather", "input_schema": {"type": "object"}}]');
    await run();
    const answer = answerOf("tools (fake)");
    await answer.getByText('"city": "Ulm"').waitFor();
    expect(received[0]?.body["tools"]).toEqual([
      { type: "function", function: { name: "weather", parameters: { type: "object" } } },
    ]);
    await showScreen(page, "playground-tools");
    expect(await findFaults(page)).toEqual([]);
    await answer.getByLabel("Result of weather").fill("sunny");
    await answer.getByRole("button", { name: "Send results" }).click();
    await answer.getByText("It is sunny in Ulm.").waitFor();
    expect(received[1]?.body.messages.slice(2)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            id: "call-1",
            type: "function",
            function: { name: "weather", arguments: '{"city":"Ulm"}' },
          },
        ],
      },
      { role: "tool", content: "sunny", tool_call_id: "call-1" },
    ]);
    expect(await message(4).getByLabel("Text").inputValue()).toBe("sunny");
    expect(opened.faults).toEqual([]);
  });

  test("Stop ends the call at the endpoint and keeps what had arrived; leaving the page does, too", async () => {
    await open();
    await modelField(1).fill("waits");
    await run();
    await answerOf("waits (fake)").getByText("It takes a while").waitFor();
    await page.getByRole("button", { name: "Stop" }).first().click();
    await answerOf("waits (fake)").getByText("Stopped.").waitFor();
    await answerOf("waits (fake)").getByText("It takes a while").waitFor();
    await expect.poll(() => closedEarly, { timeout: 10_000 }).toBe(1);
    await modelField(1).fill("drips");
    await run();
    await expect.poll(() => received.length, { timeout: 10_000 }).toBe(2);
    await page.goto(`${opened.server.url}/prompts`);
    await expect.poll(() => closedEarly, { timeout: 10_000 }).toBe(2);
  });

  test("what is entered survives a reload, but an entered key is nowhere in the browser", async () => {
    await open();
    await message(2).getByLabel("Text").fill("Kept {x}");
    await page.getByLabel("Endpoint").selectOption("open");
    await modelField(1).fill("echo-k");
    await page.getByRole("button", { name: "Set key" }).click();
    const dialog = page.getByRole("dialog", { name: "Key for open" });
    await dialog.getByLabel("API key").and(page.locator("input")).fill("sk-entered-by-user");
    await showScreen(page, "playground-key");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Your key" }).waitFor();
    await page.waitForTimeout(500);
    const stored = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
    );
    expect(stored).toContain("Kept {x}");
    expect(stored).not.toContain("sk-entered");
    await page.reload();
    await page.getByRole("button", { name: "Your key" }).waitFor();
    expect(await message(2).getByLabel("Text").inputValue()).toBe("Kept {x}");
    expect(await modelField(1).inputValue()).toBe("echo-k");
    await run();
    await answerOf("echo-k (open)").getByText("34 tokens").waitFor();
    expect(received[0]?.headers.authorization).toBe("Bearer sk-entered-by-user");
    await page.getByRole("button", { name: "Your key" }).click();
    await dialog.getByRole("button", { name: "Remove key" }).click();
    await page.getByRole("button", { name: "Set key" }).waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("hostile Markdown is shown, nothing of it is executed or loaded, and an echoed key is masked", async () => {
    await open();
    await modelField(1).fill("hostile");
    await run();
    const answer = answerOf("hostile (fake)");
    await answer.getByText("[image: i]").waitFor();
    expect(await answer.locator("img, script, a[href^='javascript']").count()).toBe(0);
    expect(await answer.textContent()).toContain("\\u202eabc");
    await modelField(1).fill("locked");
    await run();
    await answerOf("locked (fake)").getByText("401: Wrong key Bearer [key]").waitFor();
    expect(await page.content()).not.toContain(apiKey);
    expect(opened.faults).toEqual([]);
  });

  test("a prompt of the hub opens, and is saved as its next commit or as a new prompt", async () => {
    await opened.client.prompts.push("greeter", {
      manifest: {
        lc: 1,
        type: "constructor",
        id: ["langchain_core", "prompts", "chat", "ChatPromptTemplate"],
        kwargs: {
          input_variables: ["name"],
          messages: [
            {
              lc: 1,
              type: "constructor",
              id: ["langchain_core", "prompts", "chat", "HumanMessagePromptTemplate"],
              kwargs: {
                prompt: {
                  lc: 1,
                  type: "constructor",
                  id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
                  kwargs: {
                    input_variables: ["name"],
                    template: "Greet {name}",
                    template_format: "f-string",
                  },
                },
              },
            },
          ],
        },
      },
    });
    await open();
    await page.goto(`${opened.server.url}/prompts/greeter`);
    await page.getByRole("link", { name: "Open in playground" }).click();
    await message(1).waitFor();
    expect(await message(1).getByLabel("Text").inputValue()).toBe("Greet {name}");
    // A recorded call names its prompt and has the values of the variables, so that its trace shows them in the prompt.
    await modelField(1).fill("echo-1");
    await page.getByRole("region", { name: "Variables" }).getByLabel("name").fill("Ada \u202e<b>");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("link", { name: "Open run" }).click();
    const filled = page.getByRole("figure", { name: "Prompt" });
    await filled.waitFor();
    await expect
      .poll(async () => filled.locator("mark").allTextContents())
      .toEqual(["Ada \\u202e<b>"]);
    await filled.getByRole("link", { name: /^greeter:/ }).waitFor();
    await page.goBack();
    await message(1).waitFor();
    await message(1).getByLabel("Text").fill("Greet {name} warmly");
    await page.getByRole("button", { name: "Save as prompt" }).click();
    const dialog = page.getByRole("dialog", { name: "Save as prompt" });
    await dialog.getByLabel("Commit message").fill("Warmer");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText(/Saved as greeter:/).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    const { manifest } = await opened.client.prompts.pull("greeter");
    expect(JSON.stringify(manifest)).toContain("Greet {name} warmly");
    const { commitHash: hash } = await opened.client.prompts.pull("greeter");
    // The saved prompt is run at once, with the models of the playground.
    const runOverDataset = page.getByRole("button", { name: "Run over a dataset" });
    await runOverDataset.click();
    await page.waitForURL(/\/experiments\/new/);
    const { searchParams } = new URL(page.url());
    expect(searchParams.get("prompt")).toBe(`greeter:${hash}`);
    expect(JSON.parse(searchParams.get("models") ?? "")).toMatchObject([{ model: "echo-1" }]);
    await page.goBack();
    // A changed prompt must be saved first.
    await message(1).getByLabel("Text").fill("Greet {name} coolly");
    await runOverDataset.click();
    await dialog.getByText("An experiment runs a saved prompt").waitFor();
    await dialog.getByRole("button", { name: "Save and choose a dataset" }).click();
    await page.waitForURL(/\/experiments\/new/);
    const changed = await opened.client.prompts.pull("greeter");
    expect(changed.commitHash).not.toBe(hash);
    expect(new URL(page.url()).searchParams.get("prompt")).toBe(`greeter:${changed.commitHash}`);
    await page.goBack();
    await message(1).getByLabel("Text").fill("Greet {name} warmly");
    await page.getByRole("button", { name: "Save as prompt" }).click();
    await dialog.getByLabel("New prompt").click();
    await dialog.getByLabel("Name").fill("greeter-two");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText(/Saved as greeter-two:/).waitFor();
    expect(JSON.stringify((await opened.client.prompts.pull("greeter-two")).manifest)).toContain(
      "warmly",
    );
    expect(opened.faults).toEqual([]);
  });

  test("tools, output schema, settings and model are saved with a prompt, shown on its page, and restored", async () => {
    await open();
    await modelField(1).fill("echo-1");
    await page.locator("summary").filter({ hasText: "Settings" }).click();
    await page.getByLabel("Temperature").fill("0.25");
    const enterJson = async (label: string, value: unknown): Promise<void> => {
      await page.locator("summary").filter({ hasText: label }).click();
      await page.getByRole("textbox", { name: label }).fill(JSON.stringify(value));
    };
    const tool = {
      type: "function",
      function: {
        name: "look_up\u202e<b>",
        description: "<img src=x onerror=alert(1)>",
        parameters: { type: "object", properties: { word: { type: "string" } } },
      },
    };
    const schema = { title: "answer", type: "object", properties: { text: { type: "string" } } };
    await enterJson("Tools", [tool]);
    await enterJson("Output schema", schema);
    await page.getByRole("button", { name: "Save as prompt" }).click();
    const dialog = page.getByRole("dialog", { name: "Save as prompt" });
    await dialog
      .getByText(
        "Saves the messages, the output schema, 1 tool and the model echo-1 with its settings.",
      )
      .waitFor();
    await dialog.getByLabel("Name").fill("with-tools");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText(/Saved as with-tools:/).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();

    const plain = compile(await opened.client.prompts.pull("with-tools"), { question: "Why?" });
    expect(plain.messages.at(-1)).toMatchObject({ role: "user", content: "Why?" });
    expect(plain).toMatchObject({ schema: { schema } });
    expect(plain.model).toBeUndefined();
    const pulled = await opened.client.prompts.pull("with-tools", { includeModel: true });
    expect(compile(pulled, { question: "Why?" }).model).toEqual({
      model: "echo-1",
      temperature: 0.25,
      tools: [tool],
    });

    await page.goto(`${opened.server.url}/prompts/with-tools`);
    const messages = page.getByRole("region", { name: "Messages" });
    await messages.getByRole("heading", { name: "Tool look_up\\u202e<b>" }).waitFor();
    await messages.getByText("<img src=x onerror=alert(1)>").waitFor();
    await messages.getByText("echo-1").waitFor();
    await messages.getByText("0.25").waitFor();
    expect(await findFaults(page)).toEqual([]);
    await showScreen(page, "prompt-with-tools");
    await page.getByRole("link", { name: "Open in playground" }).click();
    await message(1).waitFor();
    expect(await page.getByLabel("Temperature").inputValue()).toBe("0.25");
    expect(await modelField(1).inputValue()).toBe("echo-1");
    await page.getByRole("textbox", { name: "Tools" }).filter({ hasText: "look_up" }).waitFor();
    await page
      .getByRole("textbox", { name: "Output schema" })
      .filter({ hasText: "answer" })
      .waitFor();
    await page.getByLabel("Temperature").fill("1");
    await page.getByRole("button", { name: "Save as prompt" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText(/Saved as with-tools:/).waitFor();
    await page.goto(`${opened.server.url}/prompts/with-tools?tab=commits`);
    const diff = page.getByRole("region", { name: "Changes in this commit" });
    await diff.getByText("temperature: 1").first().waitFor();
    await diff.getByText("temperature: 0.25").first().waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("a recorded call of 5 MB opens: the long message is shown and sent as it is", async () => {
    const long = "x{y}".repeat(1_300_000);
    const recorded = opened.client.startRun({
      name: "ChatOpenAI",
      runType: "llm",
      projectName: "large",
      inputs: {
        model: "echo-l",
        messages: [
          { role: "user", content: long },
          { role: "user", content: "Short?" },
        ],
      },
    });
    recorded.end({ choices: [] });
    await opened.client.flush();
    await open(`/playground?run=${recorded.id}`);
    await message(1).getByText("too long to edit here").waitFor();
    await page.getByText("too large for the browser to store").waitFor();
    const started = performance.now();
    await message(2).getByLabel("Text").fill("Shorter?");
    expect(performance.now() - started).toBeLessThan(5_000);
    await page.getByRole("switch", { name: "Record runs" }).click();
    await run();
    await answerOf("echo-l (fake)").getByText("34 tokens").waitFor();
    expect(received[0]?.body.messages[0]?.content).toBe(long);
    expect(received[0]?.body.messages[1]?.content).toBe("Shorter?");
    expect(opened.faults).toEqual([]);
  });
});
