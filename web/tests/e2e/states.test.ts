import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { openPage, screenshots } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordScreens } from "../support/screens.ts";
import type { Screens } from "../support/screens.ts";

const browser = await startBrowser();

const reviewer = (): void => localStorage.setItem("millrace-reviewer", '"ann"');
/** Pages that are looked at side by side: most of what they do is wait. */
const pageCount = 4;
/** Chromium's own word on each answer that is no 2xx, and on each that does not come. */
const ofTheNetwork = /^Failed to load resource|net::ERR_/;

/** What the server says of itself comes through: what fails is what the views ask. */
const isOfView = ({ pathname }: URL): boolean =>
  !/^\/(settings|info|assets\/.*|favicon\.svg)$/.test(pathname);

type Answer = (route: Route) => Promise<void>;

const answers: { readonly [How in "failing" | "garbled" | "foreign" | "gone"]: Answer } = {
  failing: (route) => route.fulfill({ status: 500, json: { detail: "the disk is full" } }),
  garbled: (route) =>
    route.fulfill({ contentType: "text/html", body: "<h1>Sign in to Wi-Fi</h1>" }),
  foreign: (route) => route.fulfill({ json: { status: "ok" } }),
  gone: (route) => route.abort("connectionrefused"),
};

describe.skipIf(browser === undefined)("the states of every screen, in Chromium", () => {
  let opened: OpenedPage;
  let screens: Screens;
  const pages: Page[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    opened = await openPage(browser!, "walked");
    const { client, server } = opened;
    for (let index = 0; index < pageCount; index += 1) {
      const page = await browser!.context.newPage();
      page.setDefaultTimeout(15_000);
      await page.addInitScript(reviewer);
      page.on("pageerror", (error) => faults.push(`${page.url()}: ${error}`));
      page.on("console", (line) => {
        if (line.type() === "error" && !ofTheNetwork.test(line.text())) {
          faults.push(`${page.url()}: ${line.text()}`);
        }
      });
      pages.push(page);
    }
    const run = client.startRun({ name: "asked", inputs: { question: "When?" } });
    run.end({ answer: "Now" });
    await client.flush();
    const project = new URL(await opened.projectAddress()).pathname;
    screens = await recordScreens(client, { url: server.url, project, traceId: run.id });
  }, 60_000);

  afterAll(async () => {
    await Promise.all(pages.map(async (page) => page.close()));
    await opened?.close();
    await browser?.close();
  }, 60_000);

  /** Looks at all screens, some at a time; says what is wrong with which. */
  async function walk(
    list: Screens,
    look: (page: Page, name: string, path: string) => Promise<readonly string[]>,
  ): Promise<Readonly<Record<string, readonly string[]>>> {
    const waiting = [...list];
    const found: Record<string, readonly string[]> = {};
    faults.length = 0;
    await Promise.all(
      pages.map(async (page) => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          const [name, path] = next;
          const wrong = await look(page, name, path).catch((error: unknown) => [String(error)]);
          await page.unrouteAll({ behavior: "ignoreErrors" });
          if (wrong.length > 0) {
            found[name] = wrong;
          }
        }
      }),
    );
    return found;
  }

  /** Light and wide, dark and narrow; what axe finds. */
  async function picture(page: Page, name: string): Promise<readonly string[]> {
    const wrong: string[] = [];
    for (const [colorScheme, width] of [
      ["light", 1_280],
      ["dark", 390],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.waitForFunction(
        (wanted) => document.documentElement.dataset["mantineColorScheme"] === wanted,
        colorScheme,
      );
      await page.screenshot({ path: `${screenshots}/states-${name}-${colorScheme}-${width}.png` });
    }
    wrong.push(...(await findFaults(page)).map(({ id, places }) => `${id}: ${places.join(" ")}`));
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    return wrong;
  }

  /** What of a heading, an end to waiting, words and a way on is missing. */
  async function lacks(page: Page): Promise<readonly string[]> {
    return page.evaluate(() => {
      const main = document.querySelector("main");
      const isSeen = (one: Element): boolean => one.getClientRects().length > 0;
      const seen = (selector: string): readonly Element[] =>
        [...(main?.querySelectorAll(selector) ?? [])].filter(isSeen);
      return [
        ...(seen("h1").length === 0 ? ["no heading"] : []),
        ...seen('[aria-label^="Loading"]').map((one) => `waits: ${one.getAttribute("aria-label")}`),
        ...(seen("a, button").length === 0 ? ["no way on"] : []),
      ];
    });
  }

  test("while the server takes its time each says what it waits for, then shows it", async () => {
    const found = await walk(screens, async (page, name, path) => {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(isOfView, async (route) => {
        if (route.request().resourceType() === "fetch") {
          await released;
        }
        await route.fallback().catch(() => undefined);
      });
      await page.goto(opened.server.url + path);
      await page.locator("main h1").first().waitFor();
      await page.locator('main [aria-label^="Loading"]').first().waitFor();
      const words = await page.locator('main [aria-label^="Loading"]').first().innerText();
      const wrong = /^Loading .+ …/.test(words) ? [] : [`says ${words}`];
      wrong.push(...(await picture(page, `loading-${name}`)));
      release();
      await expect.poll(async () => lacks(page), { timeout: 10_000 }).toEqual([]);
      return wrong;
    });
    expect(found).toEqual({});
    expect(faults).toEqual([]);
  }, 200_000);

  test.each(["failing", "garbled", "foreign", "gone"] as const)(
    "each says that the server is %s, and shows what it has once that is over",
    async (how) => {
      const found = await walk(screens, async (page, name, path) => {
        await page.route(how === "gone" ? () => true : isOfView, async (route) =>
          route.request().resourceType() === "fetch" ? answers[how](route) : route.fallback(),
        );
        await page.goto(opened.server.url + path);
        const alerts = page.getByRole("alert").filter({ hasText: /^Could not/ });
        await alerts.first().waitFor();
        await page.waitForFunction(
          () => document.querySelector('[aria-label^="Loading"]') === null,
        );
        const wrong = [...(await lacks(page)), ...(await picture(page, `${how}-${name}`))];
        await page.unrouteAll({ behavior: "ignoreErrors" });
        for (let tries = 0; tries < 8 && (await alerts.count()) > 0; tries += 1) {
          await alerts
            .first()
            .getByRole("button", { name: "Try again" })
            .click({ timeout: 1_000 })
            // It went on by itself.
            .catch(() => undefined);
          await page.waitForFunction(
            () => document.querySelector('[aria-label^="Loading"]') === null,
          );
        }
        await expect
          .poll(async () => [...(await lacks(page)), await alerts.count()], { timeout: 5_000 })
          .toEqual([0]);
        return wrong;
      });
      expect(found).toEqual({});
      expect(faults).toEqual([]);
    },
    200_000,
  );
});
