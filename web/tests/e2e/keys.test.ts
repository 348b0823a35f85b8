import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { effects, isFocused, press } from "../support/key-effects.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordAnswer } from "../support/recordings.ts";
import { recordScreens } from "../support/screens.ts";
import { showScreen } from "../support/screenshots.ts";
import { recordAssistant } from "../support/trace-recordings.ts";

const browser = await startBrowser();

/** By screen: a selector that matches once the screen has loaded. */
const screens = {
  home: "main table",
  projects: "main table",
  runs: ".data-row",
  trace: ".trace-tools:has-text('Next error')",
  datasets: ".data-row",
  examples: ".data-row",
  versions: ".data-row",
  experiments: ".data-row",
  compare: ".compare-rows",
  feedback: "main table",
  queues: ".data-row",
  review: ".review:has(.review-question) .review-run:has-text('Outputs')",
  "queue-runs": ".data-row",
  prompts: ".data-row",
  hub: ".data-row",
  prompt: "main h1",
  commits: "main ol, main table, main li",
  settings: "main table",
} as const;
type Screen = keyof typeof screens;

/** Screens with a button that opens a dialog. */
const dialogs = [
  ["datasets", "New dataset"],
  ["examples", "Shared"],
  ["queues", "New queue"],
  ["prompts", "New prompt"],
] as const satisfies readonly (readonly [Screen, string])[];

/** Records enough for at least two rows in every list. */
async function recordMore(client: Client): Promise<string> {
  const dataset = await client.datasets.create({ name: "answers" });
  const queue = await client.annotationQueues.create({
    name: "judged",
    defaultDatasetId: dataset.id,
    rubricItems: [
      { feedbackKey: "correct", scoreDescriptions: { "0": "no", "1": "yes" }, isRequired: true },
      { feedbackKey: "kind", scoreDescriptions: { "0": "no", "1": "yes" } },
    ],
  });
  const runIds: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    runIds.push(await recordAnswer(client));
  }
  await client.annotationQueues.addRuns(queue.id, { runIds });
  await client.tenant.setHandle("keys");
  for (const name of ["public-one", "public-two"]) {
    await client.prompts.push(name, { manifest: { template: name }, isPublic: true });
  }
  return queue.id;
}

describe.skipIf(browser === undefined)("the keyboard shortcuts, in Chromium", () => {
  let opened: OpenedPage;
  let page: Page;
  const addresses = new Map<string, string>();
  const tested = new Set<string>();

  beforeAll(async () => {
    opened = await openPage(browser!, "keys");
    ({ page } = opened);
    const { client, server } = opened;
    await page.addInitScript(() => localStorage.setItem("millrace-reviewer", '"ann"'));
    const traceId = await recordAssistant(client);
    const project = new URL(await opened.projectAddress()).pathname;
    const recorded = await recordScreens(client, { url: server.url, project, traceId });
    recorded.forEach(([name, path]) => addresses.set(name, server.url + path));
    const queueId = await recordMore(client);
    const queue = `${addresses.get("queues")}/${queueId}`;
    addresses.set("review", queue).set("queue-runs", `${queue}?view=runs`);
    const examples = addresses.get("examples")!.split("?")[0]!;
    addresses.set("examples", examples);
    const example = { inputs: { question: "Why?" }, outputs: { answer: "So" } };
    await client.examples.createMany({
      datasetId: examples.split("/").at(-1)!,
      examples: [example, example],
    });
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  }, 60_000);

  const isReady = async (name: Screen): Promise<void> => {
    await page.locator("main h1").first().waitFor();
    await page.locator(screens[name]).first().waitFor();
  };
  const open = async (name: Screen): Promise<void> => {
    await page.goto(addresses.get(name)!, { waitUntil: "commit" });
    await isReady(name);
  };

  /** Reads the keys and descriptions in the shortcut list. */
  const readShortcuts = async (): Promise<
    readonly (readonly [keys: string, description: string])[]
  > => {
    await press(page, "?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts", exact: true }).waitFor();
    const keys = await page.locator("dialog[open] dt").allInnerTexts();
    const descriptions = await page.locator("dialog[open] dd").allInnerTexts();
    return keys.map((key, index) => [key, descriptions[index] ?? ""]);
  };

  const strokesOf = (keys: string): readonly string[] =>
    keys === "Ctrl K" ? ["Control+k"] : keys.split(" ");

  test.for(Object.keys(screens) as Screen[])(
    "on the screen %s each of them does what the shortcut list says",
    { timeout: 120_000 },
    async (name) => {
      await open(name);
      await showScreen(page, `screen-${name}`);
      const shortcuts = await readShortcuts();
      await showScreen(page, `keys-${name}`);
      expect(new Set(shortcuts.map(([keys]) => keys)).size, "distinct keys").toBe(shortcuts.length);
      const failures: string[] = [];
      await open(name);
      for (const [keys, description] of shortcuts) {
        const effect = effects[description];
        expect(effect, `${keys} on ${name}: ${description}`).toBeDefined();
        tested.add(description);
        await effect!.start?.(page);
        const before = new URL(page.url());
        await press(page, ...(effect!.presses ?? strokesOf(keys)));
        await effect!.shows(page, before).catch((cause: unknown) => {
          failures.push(`${keys}: ${description}: ${String(cause)}`);
        });
        if (effect!.undo === undefined || failures.length > 0) {
          await open(name);
        } else {
          await effect!.undo(page, before);
          await isReady(name);
        }
      }
      expect(failures).toEqual([]);
      expect(opened.faults).toEqual([]);
    },
  );

  test("every effect in this test belongs to a listed shortcut", () => {
    expect(Object.keys(effects).filter((description) => !tested.has(description))).toEqual([]);
  });

  /** Waits until the palette has the focus, because what is typed before goes to the field that had it. */
  const openPalette = async (): Promise<void> => {
    await press(page, "Control+k");
    await isFocused(page, "[role=combobox][aria-label^='Find a page']");
  };

  test("the palette runs commands, even those that move the focus; Escape restores the focus", async () => {
    await open("runs");
    await press(page, "f");
    await isFocused(page, "[data-filter-input]");
    await openPalette();
    await press(page, "Escape");
    await isFocused(page, "[data-filter-input]");
    await openPalette();
    await page.keyboard.type("search runs");
    await press(page, "Enter");
    await isFocused(page, "[data-filter-input]");
    await openPalette();
    await page.keyboard.type("settings");
    await press(page, "Enter");
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/settings$/);
    expect(opened.faults).toEqual([]);
  });

  test.for(dialogs)(
    "on %s the dialog of “%s” keeps the focus and gives it back",
    async ([name, button]) => {
      await open(name);
      const opener = page
        .locator("main")
        .getByRole("button", { name: button, exact: true })
        .first();
      await opener.focus();
      await press(page, "Enter");
      await page.getByRole("dialog").waitFor();
      for (let turn = 0; turn < 12; turn += 1) {
        await press(page, "Tab");
        // Everything behind the dialog is inert: the focus is in the dialog or in the browser's toolbar.
        expect(
          await page.evaluate(
            () =>
              document.activeElement === document.body ||
              document.activeElement?.closest("dialog[open]") !== null,
          ),
        ).toBe(true);
      }
      await press(page, "Escape");
      await expect.poll(() => page.locator("dialog[open]").count()).toBe(0);
      expect(await opener.evaluate((element) => element === document.activeElement)).toBe(true);
    },
  );
});
