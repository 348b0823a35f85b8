import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routeTree } from "../../src/app/routes.ts";
import { listPages } from "../../src/components/page/pages.ts";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { recordAnswer } from "../support/recordings.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordScreens } from "../support/screens.ts";
import { showScreen } from "../support/screenshots.ts";
import type { Screens } from "../support/screens.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)("every screen of a server with data, in Chromium", () => {
  let opened: OpenedPage;
  let screens: Screens;

  beforeAll(async () => {
    opened = await openPage(browser!, "walked");
    const { page, client, server } = opened;
    // With a stored reviewer's name, a queue shows its review at once.
    await page.addInitScript(() => localStorage.setItem("millrace-reviewer", '"ann"'));
    const traceId = await recordAnswer(client);
    const project = new URL(await opened.projectAddress()).pathname;
    screens = await recordScreens(client, { url: server.url, project, traceId });
  }, 60_000);

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  }, 60_000);

  test("every page of the navigation and the palette is among them", () => {
    const paths = screens.map(([, path]) => path.replace(/\?.*/, ""));
    const missing = listPages(routeTree.children).filter(({ path }) => {
      const pattern = new RegExp(`^${path.replaceAll(/\$\w+/g, "[^/]+")}$`);
      return !paths.some((screen) => pattern.test(screen));
    });
    expect(missing).toEqual([]);
  });

  test("every route is among them, except the one that only leads to another", () => {
    const paths = screens.map(([, path]) => path.replace(/\?.*/, ""));
    const routes = (routeTree.children as readonly { readonly options: unknown }[])
      .map(({ options }) => (options as { readonly path: string }).path)
      .filter((path) => path !== "/o/$tenantId/projects/p/$projectId/r/$runId");
    const missing = routes.filter((path) => {
      const pattern = new RegExp(`^${path.replaceAll(/\$\w+/g, "[^/]+")}$`);
      return !paths.some((screen) => pattern.test(screen));
    });
    expect(routes.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  test.each([
    ["light", 1_440],
    ["dark", 1_024],
    ["dark", 390],
    ["light", 390],
  ] as const)(
    "in the %s scheme, %i pixels wide, each has a heading, nothing beside it, no fault for axe or the console",
    async (colorScheme, width) => {
      const { page, faults } = opened;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const found: Record<string, unknown> = {};
      for (const [name, path] of screens) {
        const fault = await look(name, path);
        if (fault !== undefined) {
          found[name] = fault;
        }
      }
      expect(found).toEqual({});
      expect(faults).toEqual([]);

      async function look(name: string, path: string): Promise<unknown> {
        await page.goto(opened.server.url + path);
        await page.locator("main h1").first().waitFor();
        await page.waitForFunction(
          () => document.querySelector('[aria-label^="Loading"]') === null,
        );
        await showScreen(page, `all-${name}-${colorScheme}-${width}`);
        const axe = await findFaults(page);
        const wide = await findSidewaysScrollers();
        const small = width < 400 ? await findSmallTargets() : [];
        const looks = await findLooks();
        return axe.length + wide.length + small.length + looks.length > 0
          ? { axe, wide, small, looks }
          : undefined;
      }
    },
    // Axe takes seconds for each screen on a busy machine.
    300_000,
  );

  /**
   * Finds what stands out too much or says too little: a second primary action, a visible action that deletes beside others, a time
   * without its exact value, numbers whose digits have different widths, and a text in a size that is not in the scale.
   */
  const findLooks = (): Promise<readonly string[]> =>
    opened.page.evaluate(() => {
      const isVisible = (element: Element): boolean =>
        element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
      const query = (selector: string): readonly Element[] =>
        [...document.querySelectorAll(selector)].filter(isVisible);
      // A button without a variant is filled. A disabled one is gray, and does not stand out.
      const primary = query(
        'main .mantine-Button-root:is(:not([data-variant]), [data-variant="filled"]):not(:disabled, [data-disabled])',
      );
      // Alone in a section of its own, such an action does not compete with others.
      const destructive = query("main button + button, main button:has(+ button)").filter(
        (button) => /^Delete\b/.test(button.textContent),
      );
      const vague = query("main time").filter(
        (time) => !/^\d{4}-\d\d-\d\d \d\d:\d\d/.test(time.getAttribute("title") ?? ""),
      );
      const uneven = query('main .number, main [data-align="end"]').filter(
        (cell) => !getComputedStyle(cell).fontVariantNumeric.includes("tabular-nums"),
      );
      const scale = new Set(["12px", "13.5px", "16px", "20px", "24px"]);
      const offScale = query("main h1, main h2, main p, main td, main th, main button").filter(
        (element) => !scale.has(getComputedStyle(element).fontSize),
      );
      const name = (kind: string, elements: readonly Element[]): readonly string[] =>
        elements.map((element) => `${kind}: ${element.outerHTML.slice(0, 120)}`);
      return [
        ...(primary.length > 1 ? name("primary", primary) : []),
        ...name("destructive", destructive),
        ...name("vague", vague),
        ...name("uneven", uneven.slice(0, 3)),
        ...name("size", offScale.slice(0, 3)),
      ];
    });

  /** Finds touch targets that are too small (WCAG 2.5.8), except in lines of code. */
  const findSmallTargets = (): Promise<readonly string[]> =>
    opened.page.evaluate(() =>
      [
        ...document.querySelectorAll(
          "button, select, [role=tab], summary, nav a, .crumbs a, .tag a",
        ),
      ]
        .filter((element) => element.closest(".json-view, .cm-editor") === null)
        .map((element) => ({ element, box: element.getBoundingClientRect() }))
        .filter(({ box }) => box.width > 0 && (box.width < 24 || box.height < 24))
        .map(({ element, box }) => `${element.outerHTML.slice(0, 80)} ${box.width}x${box.height}`),
    );

  /** Finds elements that scroll sideways, except those that are meant to, such as tables and toolbars. */
  const findSidewaysScrollers = (): Promise<readonly string[]> =>
    opened.page.evaluate(() => {
      const allowed =
        ".scroll-x, .data-table, .compare-rows, .compare-totals, .filter-quick, .panel-tabs, pre";
      return [...document.querySelectorAll("html, main, main *")]
        .filter((element) => {
          const { overflowX } = getComputedStyle(element);
          const isScroller =
            element.matches("html") || overflowX === "auto" || overflowX === "scroll";
          return (
            isScroller && element.scrollWidth > element.clientWidth && !element.matches(allowed)
          );
        })
        .map((element) => element.className);
    });
});
