import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const hostileModel = "<img src=x onerror=alert(1)>\u202Egnp";

describe.skipIf(browser === undefined)("prices, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  let projectAddress: string;
  let prices: string;
  let traceId: string;

  /** Records a trace with one model call of a million input and a million output tokens. */
  const recordCall = (model: string): string => {
    const root = opened.client.startRun({ name: "ask", inputs: {} });
    root
      .startChild({
        name: "answer",
        runType: "llm",
        inputs: {},
        metadata: { ls_model_name: model },
      })
      .end({ usage_metadata: { input_tokens: 1_000_000, output_tokens: 1_000_000 } });
    root.end({});
    return root.id;
  };

  beforeAll(async () => {
    opened = await openPage(browser!, "p");
    ({ page } = opened);
    traceId = recordCall("our-model-1");
    recordCall("our-model-1");
    recordCall("gpt-4o");
    recordCall(hostileModel);
    await opened.client.flush();
    projectAddress = await opened.projectAddress();
    prices = `${projectAddress.split("/projects/")[0]}/settings/prices`;
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  });

  const table = (name: string) => page.getByRole("table", { name });
  const row = (name: string, text: string) =>
    table(name).getByRole("row").filter({ hasText: text });
  const cells = async (name: string, text: string): Promise<readonly string[]> =>
    row(name, text).getByRole("cell").allInnerTexts();
  const dialog = () => page.getByRole("dialog");

  /** Recomputes the costs, and waits for the sentence that the job ends with. */
  const recompute = async (summary: string): Promise<void> => {
    const [response] = await Promise.all([
      page.waitForResponse((candidate) => candidate.url().endsWith("/ui/jobs")),
      page.getByRole("button", { name: "Recompute costs" }).click(),
    ]);
    const { id } = (await response.json()) as { readonly id: string };
    const readState = async (): Promise<string> => {
      const job = await fetch(`${opened.server.url}/ui/jobs/${id}`);
      return ((await job.json()) as { readonly state: string }).state;
    };
    await expect.poll(readState, { timeout: 30_000 }).toBe("succeeded");
    await page
      .getByRole("list", { name: "Latest recomputation" })
      .getByText(summary)
      .waitFor({ timeout: 30_000 });
  };

  test("from a run without a price one sets it, recomputes, and the run, its trace and the list have the cost", async () => {
    await page.goto(projectAddress);
    // The list says that the costs of three traces are unknown, and not that they are nothing.
    await expect
      .poll(async () => page.getByRole("row").filter({ hasText: "Unknown" }).count())
      .toBe(3);
    await page.goto(`${projectAddress}?trace=${traceId}`);
    await page.getByRole("tree", { name: "Runs of the trace" }).getByText("answer").click();
    await page.getByRole("link", { name: "Set price" }).first().click();
    await dialog().getByRole("heading", { name: "Add price" }).waitFor();
    expect(await dialog().getByLabel("Model").inputValue()).toBe("our-model-1");
    await dialog().getByRole("textbox", { name: "Input", exact: true }).fill("2");
    await dialog().getByRole("textbox", { name: "Output", exact: true }).fill("3.5");
    await dialog().getByRole("button", { name: "Add price" }).click();
    await page.getByText("Saved the price of our-model-1.").waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe("");
    expect((await cells("Your prices", "our-model-1")).slice(0, 6)).toEqual([
      "our-model-1",
      "Any",
      "Standard",
      "Always",
      "2",
      "3.5",
    ]);
    // The runs were stored without a price.
    expect((await cells("Models in use", "our-model-1")).slice(1, 4)).toEqual([
      "No price",
      "2",
      "Unknown",
    ]);
    await recompute("4 model calls examined, 2 costs changed.");
    await expect
      .poll(async () => (await cells("Models in use", "our-model-1")).slice(1, 4), {
        timeout: 15_000,
      })
      .toEqual(["Your price", "2", "$11.00"]);
    await page.goto(`${projectAddress}?trace=${traceId}`);
    await page.getByRole("tree", { name: "Runs of the trace" }).getByText("answer").click();
    await page.getByRole("heading", { name: "answer", exact: true }).waitFor();
    await expect.poll(async () => page.locator(".summary").last().innerText()).toContain("$5.50");
    expect(await page.getByRole("link", { name: "Set price" }).count()).toBe(0);
    await page.goto(projectAddress);
    await expect
      .poll(async () => page.getByRole("row").filter({ hasText: "$5.50" }).count())
      .toBe(2);
    expect(opened.faults).toEqual([]);
  });

  test("the models in use come with the price that applied, hostile names as text", async () => {
    await page.goto(prices);
    await table("Models in use").waitFor();
    const names = await table("Models in use").locator("tbody tr td:first-child").allInnerTexts();
    expect(names[0]).toBe("<img src=x onerror=alert(1)>\\u202egnp");
    expect(new Set(names)).toEqual(new Set([names[0], "gpt-4o", "our-model-1"]));
    expect((await cells("Models in use", "gpt-4o")).slice(1, 4)).toEqual([
      "Public price · openai",
      "1",
      "$12.50",
    ]);
    await page.getByText("The cost of calls without a price is unknown").waitFor();
    await table("Public prices").waitFor();
    await showScreen(page, "prices");
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("a price with a date is edited, moved and deleted, and the costs follow", async () => {
    await page.goto(prices);
    await page.getByRole("button", { name: "Add price", exact: true }).click();
    await dialog().getByLabel("Model").fill("our-model-*");
    await dialog().getByRole("textbox", { name: "Input", exact: true }).fill("two");
    await dialog().getByText("Enter US dollars, such as 2.5").waitFor();
    expect(await dialog().getByRole("button", { name: "Add price" }).isDisabled()).toBe(true);
    await dialog().getByRole("textbox", { name: "Input", exact: true }).fill("1, 4 above 500000");
    await dialog().getByRole("textbox", { name: "Output", exact: true }).fill("1");
    await dialog().getByLabel("Valid from (UTC)").fill("2020-01-31");
    await dialog().getByRole("button", { name: "More kinds of tokens" }).click();
    await dialog().getByLabel("Reasoning").fill("9");
    await showScreen(page, "price-form");
    expect(await findFaults(page)).toEqual([]);
    await dialog().getByRole("button", { name: "Add price" }).click();
    await row("Your prices", "our-model-*").waitFor();
    expect((await cells("Your prices", "our-model-*")).slice(3, 7)).toEqual([
      "2020-01-31",
      "1, 4 above 500000",
      "1",
      "reasoning 9",
    ]);
    // The row without a * comes first until it is deleted.
    await page.getByRole("button", { name: "Actions of our-model-1" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog().getByRole("button", { name: "Delete price" }).click();
    await row("Your prices", "our-model-1").waitFor({ state: "detached" });
    await recompute("2 costs changed.");
    await expect
      .poll(async () => (await cells("Models in use", "our-model-*")).slice(1, 4), {
        timeout: 15_000,
      })
      .toEqual(["Your price", "2", "$10.00"]);
    // With another name the row moves: the old one is gone, and its runs have no price again.
    await page.getByRole("button", { name: "Actions of our-model-*" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    expect(await dialog().getByRole("textbox", { name: "Input", exact: true }).inputValue()).toBe(
      "1, 4 above 500000",
    );
    await dialog().getByLabel("Model").fill("their-model");
    await dialog().getByRole("button", { name: "Save" }).click();
    await row("Your prices", "their-model").waitFor();
    expect(await row("Your prices", "our-model-*").count()).toBe(0);
    await recompute("No price is known for our-model-1");
    await expect
      .poll(async () => (await cells("Models in use", "our-model-1")).slice(1, 4), {
        timeout: 15_000,
      })
      .toEqual(["No price", "2", "Unknown"]);
    expect(opened.faults).toEqual([]);
  });

  test("a public price is found by a search in the URL, and overridden", async () => {
    await page.goto(`${prices}?q=openai`);
    await page.getByLabel("Search public prices").fill("gpt-4o-mini");
    await expect.poll(() => new URL(page.url()).search).toBe("?q=gpt-4o-mini");
    await page.getByRole("button", { name: "Override gpt-4o-mini of OpenAI", exact: true }).click();
    expect(await dialog().getByLabel("Provider").inputValue()).toBe("openai");
    const input = dialog().getByRole("textbox", { name: "Input", exact: true });
    expect(await input.inputValue()).toBe("0.15");
    await input.fill("0.1");
    await dialog().getByRole("button", { name: "Add price" }).click();
    await row("Your prices", "gpt-4o-mini").waitFor();
    await page.getByRole("button", { name: "Override gpt-4o-mini of OpenAI", exact: true }).click();
    await dialog().getByRole("button", { name: "Add price" }).click();
    await dialog()
      .getByText("A price for this model, provider, tier and date already exists.")
      .waitFor();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    expect((await cells("Your prices", "gpt-4o-mini"))[4]).toBe("0.1");
    await page.getByLabel("Search public prices").fill("no-such-model");
    await page.getByText("No matches").waitFor();
    expect(opened.faults).toEqual([]);
  });
});
