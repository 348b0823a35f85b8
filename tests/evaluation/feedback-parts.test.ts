import { once } from "node:events";
import { createServer, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { Client } from "../../src/main/index.ts";

/** A client whose POST requests are listed, as method and path. */
async function openListedClient(): Promise<{ client: Client; requests: string[] }> {
  const { url } = await runServer();
  const requests: string[] = [];
  const relay = createServer((incoming, outgoing) => {
    // The client also reports its counts, at any time.
    if (incoming.method === "POST" && incoming.url !== "/ui/senders") {
      requests.push(`${incoming.method} ${incoming.url}`);
    }
    const forwarded = request(
      new URL(incoming.url ?? "/", url),
      { method: incoming.method, headers: incoming.headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 500, response.headers);
        response.pipe(outgoing);
      },
    );
    incoming.pipe(forwarded);
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  const address = relay.address();
  const port = typeof address === "object" ? address?.port : 0;
  const client = new Client({ endpoint: `http://127.0.0.1:${port}` });
  onTestFinished(async () => {
    await client.close();
    relay.closeAllConnections();
    relay.close();
  });
  return { client, requests };
}

/** Ids of runs that have ended. */
async function recordRuns(client: Client, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, number) => {
    const run = client.startRun({ name: `run ${number}`, projectName: "scored" });
    run.end();
    return run.id;
  });
  await client.flush();
  return ids;
}

test("the feedback of a chunk is one request, and is created once", async () => {
  const { client, requests } = await openListedClient();
  const ids = await recordRuns(client, 40);
  requests.length = 0;
  const rows = ids.map((runId, index) => ({ runId, key: "score", score: index, comment: "fine" }));
  expect(await client.feedback.upload(rows)).toMatchObject({ read: 40, created: 40, rejected: 0 });
  expect(requests).toEqual(["POST /runs/multipart"]);
  expect(await client.feedback.upload(rows)).toMatchObject({ read: 40, created: 0, skipped: 40 });
  const stored = await client.feedback.list({ runIds: [ids[7] ?? ""] }).toArray();
  expect(stored).toMatchObject([{ key: "score", score: 7, comment: "fine" }]);
});

test("an entry that the server refuses is found, and the others are created", async () => {
  const { client } = await openListedClient();
  const ids = await recordRuns(client, 5);
  const rows = ids.map((runId, index) => ({
    runId,
    key: index === 3 ? "x".repeat(181) : "score",
    score: index,
  }));
  const result = await client.feedback.upload(rows);
  expect(result).toMatchObject({ read: 5, created: 4, rejected: 1 });
  expect(result.faults).toMatchObject([{ row: 4 }]);
  expect(await client.feedback.list({ runIds: ids }).toArray()).toHaveLength(4);
});

test("feedback on a project has a request of its own", async () => {
  const { client, requests } = await openListedClient();
  const { id: projectId } = await client.projects.create({ name: "judged" });
  requests.length = 0;
  const result = await client.feedback.upload([{ projectId, key: "whole", score: 1 }]);
  expect(result.created).toBe(1);
  expect(requests).toEqual(["POST /feedback"]);
});

test("`error` marks feedback of an evaluator that failed", async () => {
  const { client } = await openListedClient();
  const [runId = ""] = await recordRuns(client, 1);
  await client.feedback.create({ runId, key: "judge", comment: "Error: no model", error: true });
  const [stored] = await client.feedback.list({ runIds: [runId] }).toArray();
  expect(stored).toMatchObject({ key: "judge", comment: "Error: no model" });
  expect(stored?.score).toBeUndefined();
});
