import type { Client } from "millrace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { recordAnswer } from "../support/recordings.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";

const browser = await startBrowser();

type Screens = readonly (readonly [name: string, path: string])[];

describe.skipIf(browser === undefined)("every screen of a server with data, in Chromium", () => {
  let opened: OpenedPage;
  let screens: Screens;

  beforeAll(async () => {
    opened = await openPage(browser!, "walked");
    const { page, client, server } = opened;
    // One name to review under, so that a queue shows its review at once.
    await page.addInitScript(() => localStorage.setItem("millrace-reviewer", '"ann"'));
    const traceId = await recordAnswer(client);
    const project = new URL(await opened.projectAddress()).pathname;
    screens = await recordAll(client, { url: server.url, project, traceId });
  }, 60_000);

  afterAll(async () => {
    await opened?.close();
    await browser?.close();
  }, 60_000);

  test.each([
    ["light", 1_280],
    ["dark", 390],
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
        await page.screenshot({ path: `temp/web/all-${name}-${colorScheme}-${width}.png` });
        const axe = await findFaults(page);
        const wide = await findWide();
        return axe.length > 0 || wide.length > 0 ? { axe, wide } : undefined;
      }
    },
    120_000,
  );

  /** What scrolls sideways, but for tables and lines of controls, which scroll in themselves. */
  const findWide = (): Promise<readonly string[]> =>
    opened.page.evaluate(() => {
      const own = ".scroll-x, .data-table, .compare-rows, .compare-totals, .filter-quick, pre";
      return [...document.querySelectorAll("html, main, main *")]
        .filter((one) => {
          const { overflowX } = getComputedStyle(one);
          const isScroller = one.matches("html") || overflowX === "auto" || overflowX === "scroll";
          return isScroller && one.scrollWidth > one.clientWidth && !one.matches(own);
        })
        .map((one) => one.className);
    });
});

/** One of everything there is a screen for; returns where each screen is. */
async function recordAll(
  client: Client,
  {
    url,
    project,
    traceId,
  }: { readonly url: string; readonly project: string; readonly traceId: string },
): Promise<Screens> {
  await client.feedback.create({ runId: traceId, key: "helpful", score: 1 });
  const dataset = await client.datasets.create({
    name: "questions",
    description: "What people ask",
  });
  const { exampleIds } = await client.examples.createMany({
    datasetId: dataset.id,
    examples: [{ inputs: { question: "When?" }, outputs: { answer: "Now" }, split: "train" }],
  });
  const experiments: string[] = [];
  for (const name of ["before", "after"]) {
    const { id } = await client.projects.create({ name, referenceDatasetId: dataset.id });
    const run = client.startRun({ name, project: name, referenceExampleId: exampleIds[0]! });
    run.end({ answer: name });
    experiments.push(id);
  }
  await client.flush();
  const queue = await client.annotationQueues.create({ name: "doubts" });
  await client.annotationQueues.addRuns(queue.id, { runIds: [traceId] });
  await client.prompts.push("support-answer", { manifest: { template: "Answer {question}" } });
  const ask = async (
    method: string,
    path: string,
    body: object,
  ): Promise<Record<string, string>> => {
    const response = await fetch(url + path, { method, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, string>;
  };
  const run = await ask("PUT", `/runs/${traceId}/share`, { run_id: traceId });
  const shared = await ask("PUT", `/datasets/${dataset.id}/share`, { dataset_id: dataset.id });
  const form = await ask("POST", "/feedback/tokens", { run_id: traceId, feedback_key: "helpful" });
  const [tenant, projectId] = [project.split("/projects/")[0]!, project.split("/").at(-1)!];
  const at = `${tenant}/datasets/${dataset.id}`;
  return [
    ["home", "/"],
    ["projects", `${tenant}/projects`],
    ["runs", project],
    ["trace", `${project}?trace=${traceId}`],
    ["datasets", `${tenant}/datasets`],
    ["examples", `${at}?example=${exampleIds[0]}`],
    ["versions", `${at}?tab=versions`],
    ["experiments", `${at}?tab=experiments`],
    ["pairwise", `${at}?tab=comparisons`],
    ["compare", `${at}/compare?experiments=${experiments.join(",")}`],
    ["feedback", `${tenant}/feedback?project=${projectId}`],
    ["queues", `${tenant}/annotation-queues`],
    ["review", `${tenant}/annotation-queues/${queue.id}`],
    ["queue-runs", `${tenant}/annotation-queues/${queue.id}?view=runs`],
    ["prompts", "/prompts"],
    ["hub", "/hub"],
    ["prompt", "/prompts/support-answer"],
    ["commits", "/prompts/support-answer?tab=commits"],
    ["prompt-code", "/prompts/support-answer?tab=pull"],
    ["prompt-settings", "/prompts/support-answer?tab=settings"],
    ["settings", `${tenant}/settings`],
    ["shared-run", `/public/${run["share_token"]}/r`],
    ["shared-dataset", `/public/${shared["share_token"]}/d`],
    ["feedback-form", new URL(form["url"]!).pathname],
  ];
}
