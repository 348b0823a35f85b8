import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();
const { version: packageVersion } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly version: string;
};

describe.skipIf(browser === undefined)("the datasets, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let dataDir: string;
  let watched: WatchedPage;
  let tenantId: string;

  beforeAll(async () => {
    mkdirSync("temp/web", { recursive: true });
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    server = await startServer({ port: 0, dataDir });
    client = new Client({ endpoint: server.url });
    const settings = (await (await fetch(`${server.url}/settings`)).json()) as { id: string };
    tenantId = settings.id;
    watched = await WatchedPage.open(browser!, server.url);
  });

  beforeEach(() => {
    watched.faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const addressOf = (datasetId: string): string =>
    `${server.url}/o/${tenantId}/datasets/${datasetId}`;

  /** Creates a dataset of 40 questions with the SDK, each in a split. */
  async function createQuestions(name: string): Promise<string> {
    const { id } = await client.datasets.create({ name, description: "What people ask." });
    await client.examples.createMany({
      datasetId: id,
      examples: Array.from({ length: 40 }, (_, index) => ({
        inputs: { question: `Question ${index}?`, number: index },
        outputs: { answer: `Answer ${index}.` },
        metadata: { source: index % 2 === 0 ? "web" : "mail" },
        split: index < 30 ? "train" : "test",
      })),
    });
    return id;
  }

  test("an empty list explains datasets and can create one", async () => {
    const { page, faults } = watched;
    await page.goto(`${server.url}/o/${tenantId}/datasets`);
    await page.getByText("No datasets yet").waitFor();
    await page.getByRole("button", { name: "New dataset" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill("made here");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "made here" }).waitFor();
    await page.getByText("No examples yet").waitFor();
    expect(faults).toEqual([]);
  });

  test("the list can be searched and sorted, stores that in the URL, and opens a dataset", async () => {
    const { page, faults } = watched;
    await createQuestions("questions");
    await page.goto(`${server.url}/o/${tenantId}/datasets`);
    await page.getByRole("link", { name: "questions" }).waitFor();
    await page.getByRole("link", { name: "made here" }).waitFor();
    await watched.picture("datasets-list");
    expect(await watched.audit()).toEqual([]);
    await page.getByLabel("Search datasets by name").fill("quest");
    await page.getByRole("link", { name: "made here" }).waitFor({ state: "detached" });
    expect(new URL(page.url()).searchParams.get("q")).toBe("quest");
    await page.getByRole("link", { name: "questions" }).click();
    await page.getByText("40 examples").waitFor();
    expect(faults).toEqual([]);
  });

  test("examples are filtered by split, text and metadata, and the URL restores the view", async () => {
    const { page, faults } = watched;
    await page.goto(addressOf(await createQuestions("filtered")));
    await page.getByText("40 examples").waitFor();
    await page.getByLabel("Filter by split").selectOption("test");
    await page.getByText("10 examples").waitFor();
    await page.getByLabel("Metadata").fill('{"source":"web"}');
    await page.getByText("5 examples").waitFor();
    await page.getByLabel("Search inputs and outputs").fill("Question 38?");
    await page.getByText("1 example", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("1 example", { exact: true }).waitFor();
    expect(await page.locator(".data-rows .data-row").count()).toBe(1);
    await watched.picture("datasets-examples");
    expect(faults).toEqual([]);
  });

  test("an example opens next to the list and can be edited, and invalid JSON is marked", async () => {
    const { page, faults } = watched;
    await page.goto(addressOf(await createQuestions("edited")));
    // A click anywhere in the row opens it, not only one on its link.
    await page
      .getByRole("row", { name: /Question 7\?/ })
      .locator('td[data-column="modified"]')
      .click();
    const panel = page.getByRole("complementary", { name: "Example" });
    await panel.getByText('"Question 7?"').waitFor();
    await watched.picture("datasets-panel");
    expect(await watched.audit()).toEqual([]);
    await panel.getByRole("button", { name: "Edit" }).click();
    const inputs = panel.getByRole("textbox", { name: "Inputs" });
    // Names, texts and numbers of the code have colors of their own.
    const readColors = async (): Promise<ReadonlySet<string>> =>
      new Set(
        await inputs
          .locator(".cm-line span")
          .evaluateAll((parts) => parts.map((part) => getComputedStyle(part).color)),
      );
    await expect.poll(async () => (await readColors()).size).toBeGreaterThan(2);
    await inputs.fill('{"question": "Changed?", ');
    await panel.getByText("expected a property name in double quotes").waitFor();
    expect(await panel.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await watched.picture("datasets-fault");
    await inputs.fill('{"question": "Changed?", "number": 12345678901234567890}');
    await panel.getByRole("button", { name: "Save" }).click();
    await panel.getByText("12345678901234567890").waitFor();
    await page.getByRole("link", { name: "Changed?" }).waitFor();
    expect(faults).toEqual([]);
  });

  test("a value that violates the dataset's schema is marked", async () => {
    const { page, faults } = watched;
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const { id } = await client.datasets.create({ name: "strict", inputsSchema: schema });
    await page.goto(addressOf(id));
    await page.getByRole("button", { name: "Add example" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Inputs" }).fill('{"n": "seven"}');
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByText("inputs/n must be integer").waitFor();
    await dialog.getByText("line 1, column 7").waitFor();
    await watched.picture("datasets-schema");
    await dialog.getByRole("textbox", { name: "Inputs" }).fill('{"n": 7}');
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("link", { name: "n: 7" }).waitFor();
    // The browser logs the expected response 422.
    expect(faults.filter((fault) => !fault.includes("422"))).toEqual([]);
  });

  test("selected examples can be assigned to a split, and deleted after a confirmation", async () => {
    const { page, faults } = watched;
    await page.goto(addressOf(await createQuestions("selected")));
    await page.getByLabel("Select row 1", { exact: true }).check();
    await page.getByLabel("Select row 2", { exact: true }).check();
    await page.getByRole("button", { name: "Selected (2): actions" }).click();
    await page.getByRole("menuitem", { name: "Edit splits" }).click();
    await page.getByRole("combobox", { name: "Split", exact: true }).last().fill("hard");
    await page.getByRole("dialog").getByRole("button", { name: "Add to split" }).click();
    await page.locator(".data-rows .tag", { hasText: "hard" }).nth(1).waitFor();
    await page.getByRole("button", { name: "Selected (2): actions" }).click();
    await page.getByRole("menuitem", { name: "Delete 2 examples" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete 2 examples" }).click();
    await page.getByText("38 examples").waitFor();
    expect(faults).toEqual([]);
  });

  test("versions can be tagged, viewed and compared member by member", async () => {
    const { page, faults } = watched;
    const id = await createQuestions("versions");
    const listed = await fetch(`${server.url}/examples?dataset=${id}&limit=2`);
    const [first, second] = (await listed.json()) as readonly { readonly id: string }[];
    await client.examples.update(first!.id, {
      inputs: { question: "Another question?", number: 0 },
    });
    await fetch(`${server.url}/examples/${second!.id}`, {
      method: "DELETE",
      headers: { "x-millrace-author": encodeURIComponent("Zoë \u202eevil") },
    });
    await page.goto(`${addressOf(id)}?tab=versions`);
    await page.getByRole("button", { name: "Tag" }).nth(2).click();
    await page.getByRole("dialog").getByLabel("Tag").fill("start");
    await page.getByRole("dialog").getByRole("button", { name: "Add tag" }).click();
    await page.locator(".tag", { hasText: "start" }).waitFor();
    await watched.picture("datasets-versions");
    const cells = (column: string) =>
      page.locator(`tbody td[data-column="${column}"]`).allInnerTexts();
    await expect.poll(() => cells("at")).toEqual(["#3", "#2", "#1"]);
    await expect
      .poll(async () => (await cells("changes")).map((text) => text.replaceAll(/\s+/g, " ")))
      .toEqual(["+0 ~0 −1", "+0 ~1 −0", "+40 ~0 −0"]);
    await expect
      .poll(() => cells("author"))
      .toEqual(["Zoë \\u202eevil", `millrace ${packageVersion}`, `millrace ${packageVersion}`]);
    await page.getByRole("link", { name: "Compare with latest" }).nth(2).click();
    await page.getByText(`By millrace ${packageVersion} → Zoë \\u202eevil`).waitFor();
    await page.getByRole("button", { name: "~ changed 1" }).waitFor();
    await page.getByRole("button", { name: "− removed 1" }).waitFor();
    const changed = page.getByRole("row", { name: /~ changed/ });
    expect(await changed.locator('td[data-column="fields"]').innerText()).toBe("inputs.question");
    expect(await changed.locator('td[data-column="after"]').innerText()).toBe("Another question?");
    await page.getByRole("link", { name: /~ changed$/ }).click();
    await page.getByRole("heading", { name: "inputs.question" }).waitFor();
    await page.locator(".diff-host .cm-changedLine").waitFor();
    await watched.picture("datasets-diff");
    expect(await watched.audit()).toEqual([]);
    expect(faults).toEqual([]);
  });

  test("a dropped CSV is previewed, mapped and imported, and rejected rows show the reason", async () => {
    const { page, faults } = watched;
    await page.goto(`${server.url}/o/${tenantId}/datasets`);
    await page.getByRole("button", { name: "Import file" }).click();
    const csv =
      'question,answer,split\r\n"What, exactly?","It ""is""",train\r\none cell\r\nWhy?,So,test\r\n';
    const dropped = await page.evaluateHandle((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "faq.csv", { type: "text/csv" }));
      return data;
    }, csv);
    await page.locator(".file-drop").dispatchEvent("drop", { dataTransfer: dropped });
    const dialog = page.getByRole("dialog");
    await dialog.getByText("the row has 1 cell, but the header has 3").waitFor();
    expect(await dialog.getByLabel("answer").inputValue()).toBe("outputs");
    await watched.picture("datasets-import");
    expect(await watched.audit()).toEqual([]);
    await dialog.getByRole("button", { name: "Import", exact: true }).click();
    await dialog.getByText("Imported. 2 examples, 1 row rejected").waitFor();
    await watched.picture("datasets-imported");
    await dialog.getByRole("link", { name: "Open dataset" }).click();
    await page.getByRole("link", { name: "What, exactly?" }).waitFor();
    await page.getByText("2 examples").waitFor();
    expect(faults).toEqual([]);
  });

  test("a large JSONL file is imported in parts and can be cancelled", async () => {
    const { page, faults } = watched;
    const id = await createQuestions("large");
    await page.goto(addressOf(id));
    await page.getByRole("button", { name: "Import file" }).click();
    const line = (index: number) => JSON.stringify({ inputs: { n: index, text: "x".repeat(300) } });
    const text = Array.from({ length: 60_000 }, (_, index) => line(index)).join("\n");
    writeFileSync(join(dataDir, "many.jsonl"), text);
    await page.locator("input[type=file]").setInputFiles(join(dataDir, "many.jsonl"));
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText(/Importing… [\d,]*[1-9][\d,]* examples/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByText(/^Canceled\. .* [\d,]+ examples/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    const count = Number(await (await fetch(`${server.url}/examples/count?dataset=${id}`)).text());
    expect(count).toBeGreaterThan(40);
    expect(count).toBeLessThan(60_040);
    expect(faults).toEqual([]);
  }, 60_000);

  test("a shared dataset is public under its link, without navigation, until it is unshared", async () => {
    const { page, faults } = watched;
    const id = await createQuestions("shared");
    await page.goto(addressOf(id));
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByRole("button", { name: "Create link" }).click();
    const link = await page.locator(".copy-text pre").textContent();
    expect(link).toMatch(/\/public\/[\da-f-]{36}\/d$/);
    await page.goto(link!);
    await page.getByRole("heading", { name: "shared" }).waitFor();
    await page.getByText("40 examples").waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);
    await page.getByRole("link", { name: "Question 3?" }).click();
    await page.getByRole("complementary").getByText('"Answer 3."').waitFor();
    await watched.picture("datasets-public");
    expect(await watched.audit()).toEqual([]);
    await page.goto(addressOf(id));
    await page.getByRole("button", { name: "Shared", exact: true }).click();
    await page.getByRole("button", { name: "Stop sharing" }).click();
    await page.getByRole("button", { name: "Create link" }).waitFor();
    expect(faults).toEqual([]);
    await page.goto(link!);
    await page.getByRole("alert").getByText("no dataset is shared under this token").waitFor();
  });

  test("a split of a version can be exported to a file", async () => {
    const { page, faults } = watched;
    await page.goto(addressOf(await createQuestions("saved")));
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Split").selectOption("test");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("saved.jsonl");
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n");
    expect(lines).toHaveLength(10);
    expect(faults).toEqual([]);
  });
});
