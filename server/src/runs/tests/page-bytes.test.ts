import { expect, test } from "vitest";
import { itemsOf, textOf } from "../../../tests/support/dataset-fixture.ts";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const long = "x".repeat(5_000_000);

/** Follows the cursors of a query and returns the ids of the runs on each page. */
async function readPages(
  server: Parameters<typeof call>[0],
  query: object,
): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  let cursor: unknown;
  do {
    const { json } = await call(server, "POST /runs/query", {
      body: { limit: 100, order: "asc", ...query, ...(cursor !== undefined && { cursor }) },
    });
    pages.push(itemsOf(json["runs"] ?? {}).map(({ id }) => textOf(id)));
    cursor = json["cursors"]?.["next"] ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

test("a page with large runs ends early, and the next one continues there", async () => {
  const server = await runServer();
  const given = { inputs: { long }, session_name: "large" };
  const root = wireRun(given);
  const children = Array.from({ length: 9 }, () => wireRun({ parent: root, ...given }));
  const runs = [root, ...children];
  for (let from = 0; from < runs.length; from += 2) {
    const body = { post: runs.slice(from, from + 2) };
    expect((await call(server, "POST /runs/batch", { body })).status).toBe(202);
  }
  const ids = runs.map(({ id }) => id).toSorted();
  // Query by project, and by trace, whose order is cached between pages.
  const { json } = await call(server, "GET /sessions?name=large");
  for (const query of [{ session: [json[0]?.["id"]] }, { trace: root.id }]) {
    const pages = await readPages(server, query);
    expect(pages.map((page) => page.length)).toEqual([7, 3]);
    expect(pages.flat().toSorted()).toEqual(ids);
    // No payload is read if none is selected.
    const short = await readPages(server, { ...query, select: ["start_time"] });
    expect(short).toHaveLength(1);
  }
}, 30_000);
