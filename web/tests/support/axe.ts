import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly elements: readonly string[];
}

const script = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * All accessibility violations that axe finds in the current page, whatever their impact. An open menu may be outside the
 * landmarks of the page: it is at the end of the document, so that nothing covers it, and takes the focus.
 */
export async function findFaults(page: Page): Promise<readonly AxeViolation[]> {
  // Evaluated, because the Content-Security-Policy forbids adding the script as an element.
  await page.evaluate(script);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run();
    return violations
      .map(({ id, impact, nodes }) => ({
        id,
        impact,
        elements: nodes
          .filter(({ html }) => id !== "region" || !html.startsWith("<div data-portal="))
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 160)),
      }))
      .filter(({ elements }) => elements.length > 0);
  });
}
