import { expect, test } from "vitest";
import { itemsOf, textOf } from "./support/dataset-desk.ts";
import { call, runServer } from "./support/running-server.ts";
import { wireRun } from "./support/wire-runs.ts";

const long = "x".repeat(5_000_000);

/** Ids of the runs of each page, as long as a cursor leads on. */
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

test("a page ends where its runs are large, and the next one goes on there", async () => {
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
  // By the project, and by the trace, whose order is kept from page to page.
  const { json } = await call(server, "GET /sessions?name=large");
  for (const query of [{ session: [json[0]?.["id"]] }, { trace: root.id }]) {
    const pages = await readPages(server, query);
    expect(pages.map((page) => page.length)).toEqual([7, 3]);
    expect(pages.flat().toSorted()).toEqual(ids);
    // Where no payload is asked for, none is read.
    const short = await readPages(server, { ...query, select: ["start_time"] });
    expect(short).toHaveLength(1);
  }
}, 30_000);
