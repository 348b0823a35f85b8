import type { ServerResponse } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { noFault, startFaultyProxy } from "../support/faulty-proxy.ts";
import type { FaultyProxy } from "../support/faulty-proxy.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordScreens } from "../support/screens.ts";
import type { Screens } from "../support/screens.ts";
import { findMissingParts, picture } from "../support/view-state.ts";

const browser = await startBrowser();

const reviewer = (): void => localStorage.setItem("millrace-reviewer", '"ann"');
/** Counts in `data-heading-lost` how often a page that had a heading has none after a change of its elements. */
const countLostHeadings = (): void => {
  let hadHeading = false;
  new MutationObserver(() => {
    const hasHeading = document.querySelector("main h1") !== null;
    const { dataset } = document.documentElement;
    if (hadHeading && !hasHeading) {
      dataset["headingLost"] = String(Number(dataset["headingLost"] ?? 0) + 1);
    }
    hadHeading = hasHeading;
  }).observe(document, { childList: true, subtree: true });
};
/** The number of browser pages that test in parallel: they mostly wait. */
const pageCount = 4;
/** Chromium logs such a line for each failed request; the tests expect them. */
const networkErrorPattern = /^Failed to load resource|net::ERR_/;

/** Whether a path is requested by a view. The tests let such requests fail; those of the shell succeed. */
const isViewPath = (path: string): boolean => !/^\/(settings|info)$/.test(path);

type Responder = (response: ServerResponse) => unknown;

const respond =
  (status: number, type: string, body: string): Responder =>
  (response) =>
    response.writeHead(status, { "content-type": type }).end(body);

const responders: { readonly [How in "failing" | "garbled" | "foreign" | "gone"]: Responder } = {
  failing: respond(500, "application/json", '{"detail":"the disk is full"}'),
  garbled: respond(200, "text/html", "<h1>Sign in to Wi-Fi</h1>"),
  foreign: respond(200, "application/json", '{"status":"ok"}'),
  gone: (response) => response.destroy(),
};

/** A browser page, which loads the UI through a proxy of its own. */
interface Viewer {
  readonly page: Page;
  readonly proxy: FaultyProxy;
}

describe.skipIf(browser === undefined)("the states of every screen, in Chromium", () => {
  let opened: OpenedPage;
  let screens: Screens;
  const viewers: Viewer[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    opened = await openPage(browser!, "walked");
    const { client, server } = opened;
    for (let index = 0; index < pageCount; index += 1) {
      const page = await browser!.context.newPage();
      page.setDefaultTimeout(15_000);
      await page.addInitScript(reviewer);
      await page.addInitScript(countLostHeadings);
      page.on("pageerror", (error) => faults.push(`${page.url()}: ${error}`));
      page.on("console", (line) => {
        if (line.type() === "error" && !networkErrorPattern.test(line.text())) {
          faults.push(`${page.url()}: ${line.text()}`);
        }
      });
      viewers.push({ page, proxy: await startFaultyProxy(server.url) });
    }
    const run = client.startRun({ name: "asked", inputs: { question: "When?" } });
    run.end({ answer: "Now" });
    await client.flush();
    const project = new URL(await opened.projectAddress()).pathname;
    screens = await recordScreens(client, { url: server.url, project, traceId: run.id });
  }, 60_000);

  afterAll(async () => {
    await Promise.all(
      viewers.map(async ({ page, proxy }) => page.close().then(() => proxy.close())),
    );
    await opened?.close();
    await browser?.close();
  }, 60_000);

  /** Checks all screens, several in parallel. Returns the problems of each screen that has any. */
  async function checkScreens(
    list: Screens,
    check: (viewer: Viewer, name: string, path: string) => Promise<readonly string[]>,
  ): Promise<Readonly<Record<string, readonly string[]>>> {
    const remaining = [...list];
    const found: Record<string, readonly string[]> = {};
    faults.length = 0;
    await Promise.all(
      viewers.map(async (viewer) => {
        for (let next = remaining.shift(); next !== undefined; next = remaining.shift()) {
          const [name, path] = next;
          const problems = await check(viewer, name, path).catch((error: unknown) => [
            String(error),
          ]);
          viewer.proxy.fault = noFault;
          if (problems.length > 0) {
            found[name] = problems;
          }
        }
      }),
    );
    return found;
  }

  test("while the server is slow, each screen names what it is loading, and then shows it", async () => {
    const found = await checkScreens(screens, async ({ page, proxy }, name, path) => {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      proxy.fault = (requested) => (isViewPath(requested) ? released.then(() => "pass") : "pass");
      await page.goto(proxy.url + path);
      await page.locator("main h1").first().waitFor();
      // Before, the code of the screen loads, which is "the page" for all screens.
      const ownLoading = page.locator(
        'main [aria-label^="Loading"]:not([aria-label="Loading the page"])',
      );
      await ownLoading.first().waitFor();
      const words = await ownLoading.first().innerText();
      const wrong = /^Loading .+ …/.test(words) ? [] : [`says ${words}`];
      wrong.push(...(await picture(page, `loading-${name}`)));
      release();
      await expect.poll(async () => findMissingParts(page), { timeout: 10_000 }).toEqual([]);
      const lost = await page.locator("html").getAttribute("data-heading-lost");
      wrong.push(...(lost === null ? [] : [`had no heading ${lost} times while it opened`]));
      return wrong;
    });
    expect(found).toEqual({});
    expect(faults).toEqual([]);
  }, 200_000);

  test.each(["failing", "garbled", "foreign", "gone"] as const)(
    "each screen reports a server that is %s, and shows its data once the server has recovered",
    async (how) => {
      const found = await checkScreens(screens, async ({ page, proxy }, name, path) => {
        proxy.fault = (requested, response) => {
          if (how !== "gone" && !isViewPath(requested)) {
            return "pass";
          }
          responders[how](response);
          return "answered";
        };
        await page.goto(proxy.url + path);
        const alerts = page.getByRole("alert").filter({ hasText: /^Could not/ });
        await alerts.first().waitFor();
        await page.waitForFunction(
          () => document.querySelector('[aria-label^="Loading"]') === null,
        );
        const wrong = [
          ...(await findMissingParts(page)),
          ...(await picture(page, `${how}-${name}`)),
        ];
        proxy.fault = noFault;
        for (let tries = 0; tries < 8 && (await alerts.count()) > 0; tries += 1) {
          await alerts
            .first()
            .getByRole("button", { name: "Try again" })
            .click({ timeout: 1_000 })
            // The UI may already have recovered by itself, which removes the button.
            .catch(() => undefined);
          await page.waitForFunction(
            () => document.querySelector('[aria-label^="Loading"]') === null,
          );
        }
        await expect
          .poll(async () => [...(await findMissingParts(page)), await alerts.count()], {
            timeout: 15_000,
          })
          .toEqual([0]);
        return wrong;
      });
      expect(found).toEqual({});
      expect(faults).toEqual([]);
    },
    200_000,
  );

  /** Looks at addresses of which it is known what they are to say. */
  const read = async (
    condition: string,
    expected: readonly (readonly [name: string, path: string, words: string])[],
    url: string,
  ): Promise<Readonly<Record<string, readonly string[]>>> => {
    const words = new Map(expected.map(([name, , text]) => [name, text]));
    return checkScreens(
      expected.map(([name, path]) => [name, path] as const),
      async ({ page }, name, path) => {
        await page.goto(url + path);
        await page
          .locator("main")
          .getByText(words.get(name) ?? "")
          .first()
          .waitFor();
        await expect.poll(async () => findMissingParts(page), { timeout: 5_000 }).toEqual([]);
        return picture(page, `${condition}-${name}`);
      },
    );
  };

  const post = async (
    url: string,
    path: string,
    { body, tenantId }: { readonly body: object; readonly tenantId?: string },
  ): Promise<Readonly<Record<string, string>>> => {
    const headers = tenantId === undefined ? {} : { "x-tenant-id": tenantId };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(url + path, init)).json()) as Readonly<Record<string, string>>;
  };

  test("missing resources and those of other tenants are reported as not found", async () => {
    const { url } = opened.server;
    const other = await post(url, "/ui/tenants", {
      body: { handle: "others", display_name: "others" },
    });
    const theirs = { tenantId: other["id"]! };
    const dataset = await post(url, "/datasets", { body: { name: "theirs" }, ...theirs });
    const project = await post(url, "/sessions", { body: { name: "theirs" }, ...theirs });
    const own = new URL(await opened.projectAddress()).pathname;
    const at = own.split("/projects/")[0]!;
    const none = "00000000-0000-4000-8000-00000000dead";
    const found = await read(
      "missing",
      [
        ["page", "/nowhere", "This URL does not exist."],
        ["tenant", `/o/${none}/settings`, "Tenant not found"],
        ["no-tenant-id", "/o/nobody/datasets", "Tenant not found"],
        ["project", `${at}/projects/p/${none}`, "Could not find the project"],
        ["project-of-others", `${at}/projects/p/${project["id"]}`, "Could not find the project"],
        ["cut-off", `${at}/projects/p/${none.slice(0, 12)}`, "Could not find the project"],
        ["trace", `${own}?trace=${none}`, "Trace not found"],
        ["run", `${own}/r/${none}`, "Could not find the run"],
        ["dataset", `${at}/datasets/${none}`, "Could not find the dataset"],
        ["dataset-of-others", `${at}/datasets/${dataset["id"]}`, "Could not find the dataset"],
        ["compare", `${at}/datasets/${none}/compare`, "Could not find the dataset"],
        ["feedback", `${at}/feedback?project=${project["id"]}`, "Could not find the project"],
        ["queue", `${at}/annotation-queues/${none}`, "Could not find the queue"],
        ["prompt", "/prompts/none", "Could not find the prompt"],
        ["public-prompt", "/hub/nobody/none", "Could not find the prompt"],
        ["commit", "/prompts/support-answer/deadbeef", "Could not find the commit"],
        ["shared-run", `/public/${none}/r`, "Could not find the shared run"],
        ["shared-dataset", `/public/${none}/d`, "Could not find the shared dataset"],
        ["form", `/feedback/tokens/${none}`, "This feedback link is not valid."],
      ],
      url,
    );
    expect(found).toEqual({});
    expect(faults).toEqual([]);
  }, 120_000);

  test("empty screens say so and explain what to do", async () => {
    const empty = await openPage(browser!, "first");
    try {
      const { url } = empty.server;
      const tenantId = ((await (await fetch(`${url}/settings`)).json()) as { id: string }).id;
      const at = `/o/${tenantId}`;
      const first = await read(
        "empty",
        [
          ["home", "/", "No runs yet"],
          ["projects", `${at}/projects`, "No projects yet"],
          ["datasets", `${at}/datasets`, "No datasets yet"],
          ["feedback", `${at}/feedback`, "No projects yet"],
          ["queues", `${at}/annotation-queues`, "No annotation queues yet"],
          ["prompts", "/prompts", "No prompts yet"],
          ["hub", "/hub", "No public prompts yet"],
          ["settings", `${at}/settings`, "Runs are kept forever."],
        ],
        url,
      );
      const project = await post(url, "/sessions", { body: { name: "bare" } });
      const dataset = await post(url, "/datasets", { body: { name: "bare" } });
      const queue = await post(url, "/annotation-queues", { body: { name: "bare" } });
      await post(url, "/repos", { body: { repo_handle: "bare", is_public: false } });
      const within = `${at}/datasets/${dataset["id"]}`;
      const review = `${at}/annotation-queues/${queue["id"]}`;
      expect([first, faults]).toEqual([{}, []]);
      const bare = await read(
        "bare",
        [
          ["runs", `${at}/projects/p/${project["id"]}`, "No traces yet"],
          ["examples", within, "No examples yet"],
          ["versions", `${within}?tab=versions`, "No versions yet"],
          ["experiments", `${within}?tab=experiments`, "No experiments yet"],
          ["pairwise", `${within}?tab=comparisons`, "No pairwise comparisons yet"],
          ["compare", `${within}/compare`, "No experiments selected"],
          ["judged", `${at}/feedback`, "No feedback in the last 30 days"],
          ["review", review, "No runs in this queue yet"],
          ["queue-runs", `${review}?view=runs`, "No runs in this queue yet"],
          ["prompt", "/prompts/bare", "First commit of bare."],
          ["commits", "/prompts/bare?tab=commits", "No commits yet"],
          ["readme", "/prompts/bare?tab=readme", "No README yet"],
        ],
        url,
      );
      expect([bare, faults]).toEqual([{}, []]);
    } finally {
      await empty.close();
    }
  }, 120_000);
});
