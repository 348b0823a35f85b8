import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { ended, folder, start } from "./support/command.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

const datasetId = "01890a5d-ac96-774b-bcce-b302099a8057";
const example = {
  id: "01890a5d-ac96-774b-bcce-b302099a8058",
  dataset_id: datasetId,
  inputs: { n: 1 },
  outputs: null,
  metadata: { dataset_split: ["base"] },
  created_at: "2024-01-02T03:04:05Z",
};

interface SeenRequest {
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Starts a server with one dataset that supports what `info` announces. It uses no code of this project. */
async function startServer(info: unknown): Promise<{ url: string; seen: readonly SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const replies: Readonly<Record<string, unknown>> = {
    "GET /info": info,
    "GET /datasets": [{ id: datasetId, name: "far", created_at: "2024-01-01T00:00:00Z" }],
    "GET /examples": [example],
    "POST /examples/bulk": [],
    [`POST /v1/platform/datasets/${datasetId}/examples`]: { example_ids: [], count: 0 },
  };
  const server = createServer((request, response) => {
    void (async () => {
      const raw = await buffer(request);
      const isPacked = request.headers["content-encoding"] === "gzip";
      const path = (request.url ?? "").replace(/\?.*$/, "");
      const reply = replies[`${request.method} ${path}`];
      seen.push({
        path,
        type: request.headers["content-type"] ?? "",
        body: (isPacked ? gunzipSync(raw) : raw).toString(),
      });
      response.writeHead(reply === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(reply ?? { detail: "Not Found" }));
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const upload = async (url: string) => {
  const file = `${await folder()}/a.jsonl`;
  writeFileSync(file, '{"n":1}\n{"n":2}\n');
  return ended(start(["upload", file, "--dataset", "far", "--endpoint", url, "--json"]));
};

test("a server that supports multipart uploads receives the rows as parts", async () => {
  const info = { instance_flags: { dataset_examples_multipart_enabled: true } };
  const { url, seen } = await startServer(info);
  const { code, output, errors } = await upload(url);
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(JSON.parse(output)).toMatchObject({ read: 2, created: 2 });
  const [sent, ...more] = seen.filter(({ path }) => path.endsWith(`${datasetId}/examples`));
  expect(more).toEqual([]);
  expect(sent?.type).toContain("multipart/form-data");
  expect(sent?.body).toMatch(/name="[\w-]{36}"[^]*name="[\w-]{36}\.inputs"[^]*\{"n":1\}/);
});

test("a server without multipart support receives the rows as JSON", async () => {
  const { url, seen } = await startServer({});
  expect(await upload(url)).toMatchObject({ code: 0, errors: "" });
  const [sent, ...more] = seen.filter(({ path }) => path === "/examples/bulk");
  expect(more).toEqual([]);
  expect(JSON.parse(sent?.body ?? "")).toMatchObject([
    { dataset_id: datasetId, inputs: { n: 1 } },
    { dataset_id: datasetId, inputs: { n: 2 } },
  ]);
});

test("a dataset can be downloaded from a server without versions", async () => {
  const { url } = await startServer({});
  const args = ["download", "--dataset", "far", "--format", "jsonl", "--endpoint", url];
  const { code, output } = await ended(start(args));
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({ id: example.id, inputs: { n: 1 }, split: "base" });
});
