import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync } from "node:fs";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();

const answerPrompt = (system: string): ChatPromptTemplate =>
  ChatPromptTemplate.fromMessages([
    ["system", system],
    ["placeholder", "{history}"],
    ["human", "Question: {question}\nOn {{braces}}."],
  ]);

describe.skipIf(browser === undefined)("the prompt hub, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    mkdirSync("temp/web", { recursive: true });
    server = await startServer({ port: 0, dataDir: ":memory:" });
    client = new Client({ endpoint: server.url });
    await client.tenant.setHandle("acme");
    await client.prompts.push("answer", {
      manifest: answerPrompt("Answer from the documents."),
      description: "Answers a question about our docs",
      readme: "# Answer\n\nUsed by **support**. [home](https://example.org)",
      tags: ["docs", "qa"],
      isPublic: true,
    });
    await client.prompts.push("answer", {
      manifest: answerPrompt("Answer from the documents, in {language}."),
      commitDescription: "Any language",
      commitTags: ["prod"],
    });
    await client.prompts.push("zebra", { manifest: { anything: ["<script>alert(1)</script>"] } });
    watched = await WatchedPage.open(browser!, server.url);
    page = watched.page;
  }, 60_000);

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
  });

  const names = async (): Promise<readonly string[]> =>
    page.locator(".data-rows a").allInnerTexts();

  test("prompts can be searched, sorted, filtered by tag and liked, and the URL stores the state", async () => {
    await page.goto(`${server.url}/prompts?sort=repo_handle`);
    await page.getByRole("link", { name: "zebra" }).waitFor();
    expect(await names()).toEqual(["answer", "zebra"]);
    await page.getByRole("button", { name: "Like answer, 0 likes" }).click();
    await page.getByRole("button", { name: "Like answer, 1 like", pressed: true }).waitFor();
    await page.getByRole("button", { name: "qa" }).click();
    await page.getByRole("link", { name: "zebra" }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("link", { name: "answer" }).waitFor();
    expect(await names()).toEqual(["answer"]);
    await page.getByRole("button", { name: "Remove tag filter qa" }).click();
    await page.getByLabel("Search prompts").fill("zeb");
    await page.getByRole("link", { name: "answer" }).waitFor({ state: "detached" });
    expect(await names()).toEqual(["zebra"]);
    await page.goto(`${server.url}/hub`);
    await page.getByRole("link", { name: "acme/answer" }).click();
    await page.getByRole("heading", { name: "acme/answer" }).waitFor();
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("a prompt shows its messages, fills in its variables, and explains how to pull it", async () => {
    const address = await client.prompts.url("answer");
    await page.goto(address.replace(/^https?:\/\/[^/]+/, server.url));
    await page.getByText("Answer from the documents, in").first().waitFor();
    expect(await page.locator(".hub-messages mark").allInnerTexts()).toEqual([
      "{language}",
      "{history}",
      "{question}",
    ]);
    await page.getByLabel("language").fill("Latin");
    await page.getByLabel("history").fill('[{"role": "ai", "content": "Salve."}]');
    await page.getByLabel("question").fill("Quid <b>novi</b>?");
    const filled = page.locator(".hub-filled");
    await filled.getByText("in Latin.").waitFor();
    expect(await filled.innerText()).toContain("Salve.");
    expect(await filled.innerText()).toContain("Question: Quid <b>novi</b>?\nOn {braces}.");
    await watched.picture("hub-prompt");
    expect(await watched.audit()).toEqual([]);
    await page.getByRole("link", { name: "Code" }).click();
    const { commitHash } = await client.prompts.pull("answer");
    await page
      .getByText(`"answer:${commitHash.slice(0, 8)}"`)
      .first()
      .waitFor();
    await page.getByRole("link", { name: "README" }).click();
    await page.getByText("support", { exact: true }).waitFor();
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("commits can be compared, tagged, and opened by hash", async () => {
    await page.goto(`${server.url}/prompts/answer?tab=commits`);
    await page.getByText("Any language").waitFor();
    await page.locator(".text-diff").getByText("in {language}").waitFor();
    await watched.picture("hub-commits");
    expect(await watched.audit()).toEqual([]);
    const items = page.getByRole("list", { name: "Commits" }).getByRole("listitem");
    await items.nth(1).getByRole("button", { name: "Tag" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("first");
    await page.getByRole("dialog").getByRole("button", { name: "Tag" }).click();
    await items.nth(1).getByText("first").waitFor();
    await items.nth(1).getByRole("link").first().click();
    await page.getByText("(first commit)").waitFor();
    await page.goto(`${server.url}/prompts/answer/prod?tab=commits`);
    await page.getByText(/^[\da-f]{8} → [\da-f]{8}$/).waitFor();
    await page.goto(`${server.url}/prompts/answer/first?tab=commits`);
    await page.getByText("(first commit)").waitFor();
    await page.getByRole("link", { name: "Prompt", exact: true }).click();
    await page.getByText("Not the latest commit").waitFor();
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("a prompt can be created, committed to, published, archived and deleted in the UI", async () => {
    await page.goto(`${server.url}/prompts`);
    await page.getByRole("button", { name: "New prompt" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("from-the-page");
    await dialog.getByLabel("Text").last().fill("Greet {name}.");
    await page.screenshot({ path: "temp/web/hub-new.png" });
    await dialog.getByRole("button", { name: "Create prompt" }).click();
    await page.getByRole("heading", { name: "from-the-page" }).waitFor();
    await page.getByText("Latest commit").waitFor();
    const first = await client.prompts.pull("from-the-page");
    expect(first.manifest).toMatchObject({ kwargs: { input_variables: ["name"] } });
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text").last().fill("Greet {name} in {language}.");
    await page.getByLabel("Commit message").fill("language");
    await page.getByRole("button", { name: "Commit" }).click();
    await page.locator(".hub-messages").getByText("{language}").waitFor();
    const { commits } = await client.prompts.read("from-the-page");
    expect(commits).toBe(2);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("button", { name: "Commit" }).click();
    await page.getByRole("alert").getByText("Either this commit changes nothing").waitFor();
    watched.faults.length = 0; // The rejected request that the test provokes.
    await page.getByRole("link", { name: "README" }).click();
    await page.getByRole("button", { name: "Write README" }).click();
    await page.getByRole("textbox", { name: "README (Markdown)" }).click();
    await page.keyboard.insertText("Says **hello**.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("hello", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Settings" }).last().click();
    await page.getByLabel("Description").fill("greets");
    await page.getByLabel("Tags").fill("one, two");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".summary").getByText("two").waitFor();
    await page.getByRole("switch", { name: "Public" }).click();
    await page.locator(".summary").getByText("Public").waitFor();
    await page.getByRole("switch", { name: "Archived" }).click();
    await page.locator(".summary").getByText("Archived").waitFor();
    expect(await client.prompts.read("from-the-page")).toMatchObject({
      description: "greets",
      tags: ["one", "two"],
      readme: "Says **hello**.",
      isPublic: true,
      isArchived: true,
    });
    await page.getByRole("button", { name: "Actions of from-the-page" }).click();
    await page.getByRole("menuitem", { name: "Delete prompt" }).click();
    await dialog.getByLabel("Type from-the-page to confirm").fill("from-the-page");
    await dialog.getByRole("button", { name: "Delete prompt" }).click();
    await page.getByRole("heading", { name: "Prompts" }).waitFor();
    expect(await client.prompts.has("from-the-page")).toBe(false);
    expect(watched.faults).toEqual([]);
  }, 90_000);

  test("a commit that is not based on the latest one is rejected, and the draft is kept", async () => {
    await page.goto(`${server.url}/prompts/answer`);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text").first().fill("Mine.");
    await client.prompts.commit("answer", { manifest: answerPrompt("Someone else's.") });
    await page.getByRole("button", { name: "Commit" }).click();
    await page.getByRole("alert").getByText("a newer commit exists").waitFor();
    expect(await page.getByLabel("Text").first().inputValue()).toBe("Mine.");
  }, 60_000);

  test("an unknown manifest is shown as plain text, and axe finds no violation in the list", async () => {
    await page.goto(`${server.url}/prompts/zebra`);
    await page.getByText("This manifest has an unknown format").waitFor();
    await page.getByText("<script>alert(1)</script>").waitFor();
    await page.goto(`${server.url}/prompts`);
    await page.getByRole("link", { name: "zebra" }).waitFor();
    await watched.picture("hub-list");
    expect(await watched.audit()).toEqual([]);
    expect(watched.faults).toEqual([]);
  }, 60_000);

  test("two commits can be compared as a model would get them", async () => {
    await page.goto(`${server.url}/prompts/answer?tab=commits`);
    const changes = page.getByRole("region", { name: "Changes in this commit" });
    await changes.getByText("{language}").first().waitFor();
    await changes.getByText("Fill in variables to compare").click();
    await changes.getByLabel("language").fill("Rhaeto-Romanic");
    await changes.getByText("with values").first().waitFor();
    await changes.getByText("Rhaeto-Romanic", { exact: false }).first().waitFor();
    expect(await changes.locator(".cm-content").allTextContents()).not.toContain("{language}");
    expect(await watched.audit()).toEqual([]);
    expect(watched.faults).toEqual([]);
  });

  test("an earlier commit can be restored: a new commit has its manifest, and none is lost", async () => {
    const before = await client.prompts.listCommits("answer").toArray();
    const oldest = before.at(-1)!.commitHash;
    await page.goto(`${server.url}/prompts/answer?tab=commits`);
    await page.getByRole("button", { name: `Restore ${oldest.slice(0, 8)}` }).click();
    const dialog = page.getByRole("dialog", { name: `Restore ${oldest.slice(0, 8)}?` });
    await dialog.getByText(`in place of ${before[0]!.commitHash.slice(0, 8)}`).waitFor();
    await watched.picture("prompt-restore");
    expect(await watched.audit()).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await client.prompts.listCommits("answer").toArray()).toHaveLength(before.length);
    await page.getByRole("button", { name: `Restore ${oldest.slice(0, 8)}` }).click();
    await dialog.getByRole("button", { name: "Restore" }).click();
    await page.getByText(`Restore ${oldest.slice(0, 8)}`, { exact: true }).waitFor();
    const after = await client.prompts.listCommits("answer").toArray();
    expect(after.slice(1).map(({ commitHash }) => commitHash)).toEqual(
      before.map(({ commitHash }) => commitHash),
    );
    const latest = await client.prompts.pull("answer");
    const restored = await client.prompts.pull(`answer:${oldest}`);
    expect(latest.manifest).toEqual(restored.manifest);
    expect(await page.getByRole("button", { name: /^Restore/ }).count()).toBe(before.length);
    expect(watched.faults).toEqual([]);
  });
});
