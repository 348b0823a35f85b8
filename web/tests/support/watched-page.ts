import axe from "axe-core";
import type { Page } from "playwright-core";
import type { TestBrowser } from "./browser.ts";
import { takesAllScreenshots } from "./screenshots.ts";

/** The result of axe's accessibility audit. */
interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[];
  }[];
}

/** A browser page that records what goes wrong: exceptions, violations of the Content-Security-Policy, requests to other hosts. */
export class WatchedPage {
  readonly page: Page;
  readonly faults: string[] = [];

  private constructor(page: Page) {
    this.page = page;
  }

  static async open(browser: TestBrowser, origin: string): Promise<WatchedPage> {
    const watched = new WatchedPage(await browser.context.newPage());
    const { page, faults } = watched;
    page.setDefaultTimeout(15_000);
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on(
      "console",
      (line) => line.type() === "error" && faults.push(`${line.text()} ${line.location().url}`),
    );
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith(`blob:${origin}`)) {
        faults.push(`a request to ${request.url()}`);
      }
    });
    return watched;
  }

  /** Saves screenshots in both themes, wide and narrow, as `temp/web/<name>-….png`, if all are wanted. */
  async picture(name: string): Promise<void> {
    if (!takesAllScreenshots) {
      return;
    }
    for (const scheme of ["light", "dark"] as const) {
      for (const [width, height] of [
        [1280, 800],
        [390, 844],
      ] as const) {
        await this.page.emulateMedia({ colorScheme: scheme });
        await this.page.setViewportSize({ width, height });
        await this.page.screenshot({ path: `temp/web/${name}-${scheme}-${width}.png` });
      }
    }
    await this.page.emulateMedia({ colorScheme: "light" });
    await this.page.setViewportSize({ width: 1280, height: 800 });
  }

  /** The serious and critical accessibility violations that axe finds. */
  async audit(): Promise<readonly string[]> {
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate(
      async () =>
        (await (globalThis as unknown as { axe: { run(): unknown } }).axe.run()) as AxeResult,
    );
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => JSON.stringify(target)).join(" ")}`,
      );
  }
}
