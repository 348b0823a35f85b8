import type { Page } from "playwright-core";
import { expect } from "vitest";
import { routeTree } from "../../src/app/routes.ts";
import { listPages } from "../../src/components/page/pages.ts";

/** How a test verifies what a keyboard shortcut does in a newly opened view. */
export interface Effect {
  /** Prepares the view before the keys are pressed. */
  readonly start?: (page: Page) => Promise<unknown>;
  /** The keys to press. @defaultValue those in the shortcut list */
  readonly presses?: readonly string[];
  /** Waits for the visible effect. */
  readonly shows: (page: Page, before: URL) => Promise<unknown>;
  /** Restores the view. @defaultValue the view is opened again */
  readonly undo?: (page: Page, before: URL) => Promise<unknown>;
}

const until = <Value>(read: () => Value) => expect.poll(read);

export const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) {
    // Sequential, as a person presses them.
    await page.keyboard.press(key);
  }
};

/** Waits until an element that matches the selector has the focus. */
export const isFocused = (page: Page, selector: string) =>
  until(() => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)).toBe(
    true,
  );

const focuses = (selector: string): Effect => ({ shows: (page) => isFocused(page, selector) });

const parameterOf = (url: string, name: string) => new URL(url).searchParams.get(name);

const differs = (page: Page, name: string, { href }: URL) =>
  until(() => parameterOf(page.url(), name)).not.toBe(parameterOf(href, name));

const changes = (name: string): Effect => ({
  shows: (page, before) => differs(page, name, before),
});

/** Presses a key and waits until the URL's parameter `name` has changed. */
const pressFor = async (page: Page, key: string, name: string): Promise<void> => {
  const before = new URL(page.url());
  await press(page, key);
  await differs(page, name, before);
};

const noUndo = (): Promise<void> => Promise.resolve();

/** Opens another screen; the browser's back button returns. */
const leadsTo = (pattern: string): Effect => ({
  shows: (page) => until(() => new URL(page.url()).pathname).toMatch(new RegExp(`^${pattern}$`)),
  undo: (page, before) => (page.url() === before.href ? noUndo() : page.goBack()),
});

const dialogCount = (page: Page) => until(() => page.locator("dialog[open]").count());
const closes = async (page: Page): Promise<void> => {
  await press(page, "Escape");
  await dialogCount(page).toBe(0);
};

const rowFocus = "main .data-table [tabindex='0'][data-row-focus]";
const treeFocus = "main [role=tree]";

/** Identifies the focused row of a table or tree. */
const focusedRow = (page: Page) =>
  page.evaluate(() => {
    const { activeElement } = document;
    return (
      activeElement?.getAttribute("aria-activedescendant") ??
      activeElement?.closest<HTMLElement>("[data-index]")?.dataset["index"]
    );
  });

const toFirstRow = async (page: Page): Promise<void> => {
  await press(page, "j");
  await isFocused(page, rowFocus);
};

const atRow = (page: Page, index: number) => until(() => focusedRow(page)).toBe(String(index));

const moves: Effect = {
  // Repeated, because a list that renders again in the meantime loses the focus.
  start: (page) =>
    until(async () => {
      await page.locator(`${treeFocus}, ${rowFocus}`).first().focus();
      return focusedRow(page);
    }).toEqual(expect.any(String)),
  presses: [],
  shows: async (page) => {
    const first = await focusedRow(page);
    for (const [forth, back] of [
      ["ArrowDown", "ArrowUp"],
      ["PageDown", "PageUp"],
    ] as const) {
      await press(page, forth);
      await until(() => focusedRow(page)).not.toBe(first);
      await press(page, back);
      await until(() => focusedRow(page)).toBe(first);
    }
  },
};

/** By description: the shortcuts of pages, each of which opens an address of its path. */
const pageEffects: Readonly<Record<string, Effect>> = Object.fromEntries(
  listPages(routeTree.children)
    .filter(({ keys }) => keys !== undefined)
    .map(({ title, path }) => [`Go to ${title}`, leadsTo(path.replaceAll(/\$\w+/g, "[^/]+"))]),
);

const globalEffects = {
  "Go to a page, project, dataset, queue or prompt": {
    shows: (page) => page.getByRole("dialog").getByRole("combobox").waitFor(),
    undo: closes,
  },
  "Show keyboard shortcuts": {
    shows: (page) =>
      page.getByRole("dialog", { name: "Keyboard shortcuts", exact: true }).waitFor(),
    undo: closes,
  },
  "Close the dialog": {
    start: async (page) => {
      await press(page, "?");
      await dialogCount(page).toBe(1);
    },
    presses: ["Escape"],
    shows: (page) => dialogCount(page).toBe(0),
    undo: noUndo,
  },
} satisfies Readonly<Record<string, Effect>>;

const field = "input[type=search]";
const listEffects = {
  "Move through a list or tree": moves,
  "Next row": {
    shows: async (page) => {
      await atRow(page, 0);
      await press(page, "j");
      await atRow(page, 1);
    },
  },
  "Previous row": {
    shows: async (page) => {
      await atRow(page, 0);
      await press(page, "j", "k");
      await atRow(page, 0);
    },
  },
  "Open row": {
    start: toFirstRow,
    shows: (page, { href }) => until(() => page.url()).not.toBe(href),
  },
  "Select or deselect row": {
    start: toFirstRow,
    shows: (page) => page.locator("tr[aria-selected=true]").waitFor(),
  },
  "Search projects by name": focuses(field),
  "Search datasets by name": focuses(field),
  "Search examples": focuses(field),
  "Search queues by name": focuses(field),
  "Search prompts by name or description": focuses(field),
  "Search runs": focuses("[data-filter-input]"),
  "Filter runs": focuses("[data-filter-input]"),
} satisfies Readonly<Record<string, Effect>>;

/** The view is not opened again after these shortcuts; `Home` selects the root again. */
const selects = (start?: Effect["start"]): Effect => ({
  ...changes("run"),
  ...(start === undefined ? {} : { start }),
  undo: (page) => pressFor(page, "Home", "run"),
});
const zooms = (...before: readonly string[]): Effect => ({
  ...changes("zoom"),
  start: async (page) => {
    for (const key of before) {
      await pressFor(page, key, "zoom");
    }
  },
  undo: noUndo,
});
const toggles = (key: string, name: string): Effect => ({
  ...changes(name),
  undo: (page) => pressFor(page, key, name),
});
const search: Effect["start"] = async (page) => {
  await press(page, "/", "a");
  // Matches in payloads come from the server.
  await page.locator("output", { hasText: /\d$/ }).waitFor();
  await press(page, "Escape");
  await isFocused(page, ".tree");
};
const runCount = (page: Page) => until(() => page.getByRole("treeitem").count());

const toPreviousTrace = async (page: Page): Promise<void> => {
  await page.getByRole("link", { name: "Previous trace" }).waitFor();
  await pressFor(page, "k", "trace");
  await page.getByRole("link", { name: "Next trace" }).waitFor();
};

const traceEffects = {
  "Collapse or expand the run": {
    presses: ["ArrowLeft"],
    shows: async (page) => {
      await runCount(page).toBe(1);
      await press(page, "ArrowRight");
      await runCount(page).toBeGreaterThan(1);
    },
    undo: noUndo,
  },
  // The trace of this test is the last one of the list.
  "Next trace of the list": { ...changes("trace"), start: toPreviousTrace, undo: noUndo },
  "Previous trace of the list": {
    ...changes("trace"),
    start: (page) => page.getByRole("link", { name: "Previous trace" }).waitFor(),
    undo: (page) => pressFor(page, "j", "trace"),
  },
  "Search this trace": focuses(".trace-search"),
  "Next match": selects(search),
  "Previous match": selects(search),
  "Next error": selects(),
  "Previous error": selects(),
  "Next slowest run": selects(),
  "Previous slowest run": selects(),
  "Toggle the critical path": toggles("p", "path"),
  "Toggle errors only": toggles("x", "errors"),
  "Zoom in": zooms(),
  "Zoom out": zooms("+"),
  "Reset zoom": zooms("+"),
  "Pan to earlier": zooms("+"),
  "Pan to later": zooms("+"),
  "Zoom to the selected run": {
    ...zooms(),
    start: (page) => pressFor(page, "e", "run"),
  },
} satisfies Readonly<Record<string, Effect>>;

const question = (page: Page, index: number) => page.locator(".review-question").nth(index);
const hasMark = (page: Page, index: number) =>
  until(() => question(page, index).getAttribute("data-selected")).toBe("true");
const isAnswered = (page: Page) => until(() => question(page, 0).getAttribute("data-answered"));

const reviewEffects = {
  "Answer the selected question": {
    presses: ["1"],
    shows: (page) => isAnswered(page).toBe("true"),
  },
  "Select next or previous question": {
    presses: ["ArrowDown"],
    shows: async (page) => {
      await hasMark(page, 1);
      await press(page, "ArrowUp");
      await hasMark(page, 0);
    },
  },
  "Clear the answer": {
    start: async (page) => {
      await press(page, "1", "ArrowUp");
      await isAnswered(page).toBe("true");
    },
    shows: (page) => isAnswered(page).toBe("false"),
  },
  "Write a note": focuses("textarea"),
  "Add correction": focuses(".review-correction .code-host"),
  "Add to dataset": { shows: (page) => page.getByText("Added to the dataset.").waitFor() },
  "Done, go to next run": { ...changes("run"), start: (page) => press(page, "1") },
  "Skip (the run returns at the end)": changes("run"),
  "Reopen the last completed run": {
    ...changes("run"),
    start: (page) => page.locator("button:enabled", { hasText: "Reopen last run" }).waitFor(),
  },
  "Next waiting run (wraps around)": changes("run"),
  "Next run in the queue": changes("run"),
  "Previous run in the queue": {
    ...changes("run"),
    start: async (page) => {
      await pressFor(page, "j", "run");
      await question(page, 0).waitFor();
    },
  },
  "Open trace": {
    shows: async (page) => {
      const context = page.context();
      await until(() => context.pages().at(-1)?.url()).toMatch(/[?&]trace=/);
      await context.pages().at(-1)?.close();
    },
  },
  "Done (from a text field)": {
    ...changes("run"),
    start: (page) => press(page, "1", "c"),
    presses: ["Control+Enter"],
  },
} satisfies Readonly<Record<string, Effect>>;

/** By the descriptions in the shortcut list. */
export const effects: Readonly<Record<string, Effect>> = {
  ...pageEffects,
  ...globalEffects,
  ...listEffects,
  ...traceEffects,
  ...reviewEffects,
};
