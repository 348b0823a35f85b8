import type { RunningServer } from "@millrace/server";
import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();

const hostile = [
  "# Wrong city\n",
  "**See** [the ticket](https://example.com/1) and [this](javascript:alert(1)).\n",
  "<img src=x onerror=alert(1)><script>alert(1)</script>\n",
  "![lie](https://evil.test/a.png) \u202etxt.exe\n",
].join("\n");

describe.skipIf(browser === undefined)("comments, in Chromium", () => {
  let opened: OpenedPage;
  let server: RunningServer;
  let client: Client;
  let page: Page;
  let faults: string[];
  let traceAddress: string;
  let childId: string;
  let exampleAddress: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "orders");
    ({ server, client, page, faults } = opened);
    const root = client.startRun({ name: "agent", inputs: { q: "Where?" } });
    const child = root.startChild({ name: "find-order", runType: "tool" });
    childId = child.id;
    child.end({ city: "Paris" });
    root.end({ answer: "In Paris." });
    await client.flush();
    const project = await opened.projectAddress();
    traceAddress = `${project}?trace=${root.id}&panel=comments`;
    const dataset = await client.datasets.create({ name: "questions" });
    const { exampleIds } = await client.examples.createMany({
      datasetId: dataset.id,
      examples: [{ inputs: { question: "Where?" } }],
    });
    exampleAddress = `${project.split("/projects/")[0]}/datasets/${dataset.id}?example=${exampleIds[0]}`;
  }, 60_000);

  beforeEach(async () => {
    faults.length = 0;
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const newComment = () => page.getByRole("textbox", { name: "New comment" });
  const commentBy = (name: string) => page.getByRole("article", { name: `Comment by ${name}` });

  test("a person writes, edits and deletes a comment, which only they can", async () => {
    await page.goto(traceAddress);
    await page.getByText("No comments yet").waitFor();
    await page.getByRole("textbox", { name: "Your name" }).fill("Ada");
    await newComment().fill("Paris is **wrong**.");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    const first = commentBy("Ada");
    await first.waitFor();
    expect(await first.locator("strong").textContent()).toBe("wrong");
    await expect.poll(() => newComment().inputValue()).toBe("");
    await first.getByRole("button", { name: "Actions on your comment" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const field = page.getByRole("textbox", { name: "Edit comment" });
    expect(await field.inputValue()).toBe("Paris is **wrong**.");
    await field.fill("Paris is right.");
    await page.getByRole("button", { name: "Save" }).click();
    await first.getByText("edited").waitFor();
    expect(await first.locator(".markdown").textContent()).toBe("Paris is right.");

    await page.getByRole("button", { name: "Change name" }).click();
    await page.getByRole("textbox", { name: "Your name" }).fill("Bo");
    await newComment().fill("I agree.");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await commentBy("Bo").getByRole("button", { name: "Actions on your comment" }).waitFor();
    expect(
      await page.getByRole("article").evaluateAll((items) => items.map((item) => item.ariaLabel)),
    ).toEqual(["Comment by Ada", "Comment by Bo"]);
    await expect
      .poll(() => first.getByRole("button", { name: "Actions on your comment" }).count())
      .toBe(0);

    await commentBy("Bo").getByRole("button", { name: "Actions on your comment" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete comment" }).click();
    await commentBy("Bo").waitFor({ state: "detached" });
    expect(await first.count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test("the tree, the tab and the example show how many comments there are", async () => {
    const write = async (target: object): Promise<number> =>
      (
        await fetch(`${server.url}/ui/comments`, {
          method: "POST",
          body: JSON.stringify({ id: crypto.randomUUID(), text: hostile, ...target }),
          headers: { "x-millrace-author": encodeURIComponent("Zoë \u202eevil") },
        })
      ).status;
    expect(await write({ run_id: childId })).toBe(200);
    expect(await write({ run_id: childId })).toBe(200);
    const exampleId = new URL(exampleAddress).searchParams.get("example");
    expect(await write({ example_id: exampleId })).toBe(200);
    await page.goto(`${traceAddress}&run=${childId}`);
    await page.getByRole("tab", { name: "Comments 2" }).waitFor();
    const row = page.getByRole("treeitem", { name: /find-order/ });
    expect(await row.locator(".tree-comments").textContent()).toBe("2 comments");
    await expect.poll(() => page.locator(".comment").count()).toBe(2);
    await page.goto(exampleAddress);
    await page.getByRole("heading", { name: "Comments 1" }).waitFor();
    // The panel narrows the list: without it, all columns are shown.
    await page.getByRole("button", { name: "Close example" }).click();
    const cell = page
      .getByRole("table", { name: "examples" })
      .getByRole("row")
      .filter({ hasText: "Where?" })
      .getByRole("cell");
    await expect.poll(async () => (await cell.allInnerTexts()).includes("1")).toBe(true);
    expect(faults).toEqual([]);
  });

  test("hostile Markdown and names are shown as text, and nothing of them runs or is loaded", async () => {
    await page.goto(`${traceAddress}&run=${childId}`);
    const comment = page.locator(".comment").first();
    await comment.waitFor();
    expect(await comment.locator(".comment-author").textContent()).toBe("Zoë \\u202eevil");
    expect(await comment.locator("img, script").count()).toBe(0);
    const text = await comment.locator(".markdown").textContent();
    expect(text).toContain("[image: lie]");
    expect(text).toContain("\\u202etxt.exe");
    expect(
      await comment
        .locator("a")
        .evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
    ).toEqual(["https://example.com/1", "https://evil.test/a.png"]);
    expect(faults).toEqual([]);
  });

  test("a comment of 10,001 characters is refused, and stays in the field, also in another tab", async () => {
    await page.goto(exampleAddress);
    const text = "x".repeat(10_001);
    await newComment().fill(text);
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByText("Use at most 10,000 characters. This comment has 10,001.").waitFor();
    expect(await newComment().inputValue()).toBe(text);
    await page.getByRole("button", { name: "Close example" }).click();
    await newComment().waitFor({ state: "detached" });
    await page.getByText("Where?").first().click();
    expect(await newComment().inputValue()).toBe(text);
    await newComment().fill(text.slice(1));
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByRole("heading", { name: "Comments 2" }).waitFor();
    await expect.poll(() => newComment().inputValue()).toBe("");
    expect(faults).toEqual([]);
  });

  test("comments are written, edited and left with the keyboard", async () => {
    await page.goto(traceAddress);
    await newComment().focus();
    await page.keyboard.type("by key");
    await page.keyboard.press("Control+Enter");
    await commentBy("Bo").waitFor();
    await commentBy("Bo").getByRole("button", { name: "Actions on your comment" }).focus();
    await page.keyboard.press("Enter");
    // The menu takes the focus after it is shown. A key that is pressed earlier goes to the button.
    const menu = page.getByRole("menu");
    await expect
      .poll(() => menu.evaluate((node) => node.contains(document.activeElement)))
      .toBe(true);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const field = page.getByRole("textbox", { name: "Edit comment" });
    await field.waitFor();
    await expect.poll(() => field.evaluate((node) => node === document.activeElement)).toBe(true);
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    expect(await commentBy("Bo").locator(".markdown").textContent()).toBe("by key");
    expect(faults).toEqual([]);
  });

  test.each(["light", "dark"] as const)(
    "have no axe violations in the %s scheme",
    async (scheme) => {
      await page.emulateMedia({ colorScheme: scheme });
      for (const [name, address, width] of [
        ["run", `${traceAddress}&run=${childId}`, 1440],
        ["run", `${traceAddress}&run=${childId}`, 1024],
        ["run", `${traceAddress}&run=${childId}`, 390],
        ["example", exampleAddress, 1440],
        ["example", exampleAddress, 390],
      ] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(address);
        await page.locator(".comment").first().waitFor();
        await newComment().waitFor();
        await showScreen(page, `comments-${name}-${width}-${scheme}`);
        expect(await findFaults(page)).toEqual([]);
      }
      await page.emulateMedia({ colorScheme: "light" });
      expect(faults).toEqual([]);
    },
  );
});
