import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordAnswer } from "../support/recordings.ts";

const browser = await startBrowser();

/** What a key of the map is seen to do; `before` is pressed first, on the page as it was opened. */
interface Effect {
  readonly before?: readonly string[];
  readonly shows: (page: Page, before: URL) => Promise<unknown>;
}

type Effects = Readonly<Record<string, Effect>>;

const focused =
  (selector: string): Effect["shows"] =>
  (page) =>
    expect
      .poll(() => page.evaluate((one) => document.activeElement?.matches(one), selector))
      .toBe(true);
const leads =
  (end: string): Effect["shows"] =>
  (page) =>
    expect.poll(() => new URL(page.url()).pathname).toMatch(new RegExp(`${end}$`));

const dialogs = (page: Page) => page.locator("dialog[open]");

const everywhere: Effects = {
  "Go to a screen, project, dataset, queue or prompt": {
    shows: (page) => page.getByRole("dialog").getByRole("combobox").waitFor(),
  },
  "These keys": {
    shows: (page) => page.getByRole("heading", { name: "Keys", exact: true }).waitFor(),
  },
  "Close what is open above the page": {
    before: ["?"],
    shows: (page) => expect.poll(() => dialogs(page).count()).toBe(0),
  },
  "Go to Home": { shows: leads("/") },
  "Go to Projects": { shows: leads("/projects") },
  "Go to Datasets": { shows: leads("/datasets") },
  "Go to Annotation queues": { shows: leads("/annotation-queues") },
  "Go to Feedback": { shows: leads("/feedback") },
  "Go to Settings": { shows: leads("/settings") },
  "Go to Prompts": { shows: leads("/prompts") },
  "Go to Public prompts": { shows: leads("/hub") },
};

describe.skipIf(browser === undefined)("the keys that the map names, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  let screens: readonly (readonly [name: string, address: string, effects: Effects])[];

  beforeAll(async () => {
    opened = await openPage(browser!, "keys");
    ({ page } = opened);
    const { client } = opened;
    await recordAnswer(client);
    const address = await opened.projectAddress();
    screens = [
      ["home", opened.server.url, {}],
      [
        "projects",
        address.replace(/\/p\/.*/, ""),
        { "Find projects by name": { shows: focused("input") } },
      ],
      ["runs", address, {}],
    ];
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened.close();
    await browser?.close();
  });

  const settle = async (address: string): Promise<void> => {
    await page.goto(address);
    await page.getByRole("main").getByRole("heading").first().waitFor();
    await page.locator("[data-row-focus], [role=treeitem], main a, main table").first().waitFor();
  };

  /** Keys and words of the map, as it shows them. */
  const readMap = async (): Promise<readonly (readonly [keys: string, what: string])[]> => {
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    const keys = await page.locator("dialog[open] dt").allInnerTexts();
    const words = await page.locator("dialog[open] dd").allInnerTexts();
    return keys.map((key, index) => [key, words[index] ?? ""]);
  };

  const press = async (keys: string): Promise<void> => {
    const [first = ""] = keys.split(" ");
    const strokes = { "mod+k": ["Control+k"], Esc: ["Escape"], "↑": ["ArrowDown"] }[first];
    for (const key of strokes ?? keys.split(" ")) {
      // One after the other, as a person presses them.
      await page.keyboard.press(key);
    }
  };

  test.for(["home", "projects"])(
    "on the screen %s each of them does what the map says",
    { timeout: 120_000 },
    async (name) => {
      const [, address, own] = screens.find(([one]) => one === name)!;
      await settle(address);
      const map = await readMap();
      expect(map.length).toBeGreaterThan(8);
      const effects: Effects = { ...everywhere, ...own };
      for (const [keys, what] of map) {
        if (what === "Move in a list or a tree") {
          // Tables and trees have tests of their own.
          continue;
        }
        const effect = effects[what];
        expect(effect, `${keys} on ${name}: ${what}`).toBeDefined();
        await settle(address);
        for (const key of effect!.before ?? []) {
          await press(key);
        }
        await page.evaluate(() => new Promise(requestAnimationFrame));
        const before = new URL(page.url());
        await press(keys);
        await effect!.shows(page, before).catch((cause: unknown) => {
          throw new Error(`${keys} on ${name}: ${what}`, { cause });
        });
      }
      expect(opened.faults).toEqual([]);
    },
  );

  test("a dialog keeps the focus, ends with Escape and gives it back", async () => {
    await settle(screens[2]![1]);
    await page.keyboard.press("f");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    for (let turn = 0; turn < 12; turn += 1) {
      await page.keyboard.press("Tab");
      // What is behind is inert: the focus is in the dialog, or with the browser itself.
      expect(
        await page.evaluate(
          () =>
            document.activeElement === document.body ||
            document.activeElement?.closest("dialog[open]") !== null,
        ),
      ).toBe(true);
    }
    await page.keyboard.press("Escape");
    await expect.poll(() => dialogs(page).count()).toBe(0);
    await focused("[data-filter-input]")(page, new URL(page.url()));
  }, 30_000);
});
