import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)("rules with a judge, in Chromium", () => {
  let model: Server;
  let opened: OpenedPage;
  let rulesAddress: string;
  let isFailing = false;
  const prompts: string[] = [];

  beforeAll(async () => {
    model = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) {
          chunks.push(chunk as Buffer);
        }
        const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
          readonly messages: readonly { readonly content: string }[];
        };
        prompts.push(messages.at(-1)?.content ?? "");
        const content = isFailing ? "no idea" : '{"reasoning":"short","verdict":true}';
        response.writeHead(200, { "content-type": "application/json" });
        response.end(
          JSON.stringify({
            choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
            usage: { prompt_tokens: 1, completion_tokens: 1 },
          }),
        );
      })();
    });
    await new Promise<void>((resolve) => {
      model.listen(0, "127.0.0.1", resolve);
    });
    const url = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
    opened = await openPage(browser!, "support", { modelEndpoints: [{ name: "local", url }] });
    opened.client.startRun({ name: "first" }).end({ answer: "yes" });
    await opened.client.flush();
    const project = await opened.projectAddress();
    rulesAddress = `${project.replace(/\/projects\/.*/, "")}/rules?project=${project.split("/").at(-1)}`;
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    model?.closeAllConnections();
    model?.close();
    await opened?.close();
    await browser?.close();
  });

  const dialog = (name: string) => opened.page.getByRole("dialog", { name });
  const card = (text: string) =>
    opened.page
      .getByRole("list", { name: "Rules" })
      .getByRole("listitem")
      .filter({ hasText: text });

  test("the form asks for the token and for what is missing, and the rule then judges runs", async () => {
    const { page, client } = opened;
    await page.goto(rulesAddress);
    await page.getByRole("button", { name: "New rule" }).click();
    const form = dialog("New rule");
    await form.getByLabel("Name").fill("Short answers");
    await form.getByLabel("Action").selectOption({ label: "Let a model judge the run" });
    const create = form.getByRole("button", { name: "Create rule" });
    await form.getByRole("textbox", { name: "Token" }).fill(opened.server.modelToken ?? "");
    expect(await create.isDisabled()).toBe(true);
    await form.getByRole("button", { name: "Unlock" }).click();
    await form.getByLabel("Feedback key").fill("is_short \u202e<b>");
    await form.getByLabel("Result").selectOption({ label: "Yes or no" });
    await form.getByLabel("Judge prompt").fill("Is {{output.answer}} short?");
    await form.getByRole("textbox", { name: "Model" }).fill("m-1");
    await form.getByLabel("Temperature").fill("hot");
    await create.click();
    await form.getByText("Temperature must be a number").waitFor();
    expect(await form.getByLabel("Temperature").getAttribute("aria-invalid")).toBe("true");
    await form.getByLabel("Temperature").fill("0");
    await showScreen(page, "rule-judge");
    expect(await findFaults(page)).toEqual([]);
    await create.click();
    await card("judge is_short \\u202e<b> (m-1 at local)").waitFor();
    client.startRun({ name: "chat", inputs: { question: "?" } }).end({ answer: "42" });
    await client.flush();
    await card("1 matched, 1 applied").waitFor();
    expect(prompts).toEqual(["Is 42 short?"]);
    const response = await fetch(`${opened.server.url}/feedback`);
    expect(await response.json()).toMatchObject([
      {
        key: "is_short \u202e<b>",
        comment: "short",
        feedback_source: { type: "model", metadata: { rule: { name: "Short answers" } } },
      },
    ]);
    expect(opened.faults).toEqual([]);
  });

  test("a judge that fails is shown with the reason and the next attempt, and the rule keeps its fields", async () => {
    const { page, client } = opened;
    isFailing = true;
    await page.goto(rulesAddress);
    client.startRun({ name: "chat", inputs: { question: "?" } }).end({ answer: "43" });
    await client.flush();
    await card("2 matched, 1 applied, 1 waiting").waitFor();
    await page.getByText("Last errors").click();
    await card("the judge's answer is not a JSON object").first().waitFor();
    expect(await page.getByText("next attempt at").count()).toBe(1);
    await showScreen(page, "rule-judge-failed");
    expect(await findFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Actions of Short answers" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const form = dialog("Edit rule");
    expect(await form.getByLabel("Judge prompt").inputValue()).toBe("Is {{output.answer}} short?");
    expect(await form.getByLabel("Temperature").inputValue()).toBe("0");
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    expect(opened.faults).toEqual([]);
  });

  test("without the token, a rule with a judge can be disabled, but not enabled", async () => {
    const { page } = opened;
    await page.goto(rulesAddress);
    await page.evaluate(() => sessionStorage.clear());
    const enable = page.getByRole("switch", { name: "Enable Short answers" });
    await enable.click({ force: true });
    await expect.poll(async () => enable.isChecked()).toBe(false);
    await enable.click({ force: true });
    await card("the token of the playground is missing or wrong").waitFor();
    expect(await enable.isChecked()).toBe(false);
  });
});
