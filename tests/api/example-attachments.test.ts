import { openAsBlob } from "node:fs";
import { HttpResponse, http as on } from "msw";
import { expect, test } from "vitest";
import { createDatasetResources, partsOf } from "../support/dataset-resources.ts";
import { loopbackServer } from "../support/loopback-server.ts";
import { mswServer } from "../support/msw-server.ts";
import type { SeenCall } from "../support/msw-server.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";
const datasetId = "1f0e0d0c-0b0a-4908-8706-050403020100";
const wireExample = { id, dataset_id: datasetId, inputs: {} };
const info = (isOffered: boolean) =>
  on.get("*/info", () =>
    HttpResponse.json({ instance_flags: { dataset_examples_multipart_enabled: isOffered } }),
  );
const sentParts = (request: SeenCall | undefined) =>
  partsOf(request?.body, request?.headers.get("content-type") ?? "");
const png = { mimeType: "image/png", data: Uint8Array.of(0x89, 0x50) };

test("an example with attachments is sent as multipart, and read back", async () => {
  const server = await mswServer(
    info(true),
    on.post("*/v1/platform/datasets/:id/examples", () =>
      HttpResponse.json({ count: 1, example_ids: [id] }, { status: 201 }),
    ),
    on.get("*/examples/:id", () => HttpResponse.json(wireExample)),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const file = await openAsBlob("package.json");
  const created = await examples.create({
    datasetId,
    id,
    inputs: { q: "é" },
    outputs: { a: 1 },
    metadata: { m: 1 },
    split: ["x"],
    attachments: {
      "a.png": png,
      b: { mimeType: "text/plain; charset=utf-8", data: Buffer.from("t").buffer.slice(0, 0) },
      file: { mimeType: "application/json", data: file },
    },
  });
  expect(created).toMatchObject({ id });
  expect(server.requests.map(({ target }) => target)).toEqual([
    "GET /info",
    `POST /v1/platform/datasets/${datasetId}/examples`,
    `GET /examples/${id}`,
  ]);
  const json = expect.stringMatching(/^application\/json; length=\d+$/) as string;
  const parts = await sentParts(server.requests[1]);
  expect(parts).toMatchObject([
    { name: id, text: '{"metadata":{"m":1},"split":["x"]}' },
    { name: `${id}.inputs`, text: '{"q":"é"}' },
    { name: `${id}.outputs`, text: '{"a":1}' },
    { name: `${id}.attachment.a.png`, fileName: "a.png", type: "image/png; length=2" },
    { name: `${id}.attachment.b`, type: "text/plain; charset=utf-8; length=0", text: "" },
    { name: `${id}.attachment.file`, text: await file.text(), type: json },
  ]);
  const [, request] = server.requests;
  expect(Buffer.from(request?.body as Buffer).includes(Buffer.from(png.data))).toBe(true);
});

test("no attachment name can end its header", async () => {
  const server = await mswServer(
    info(true),
    on.post("*/v1/platform/datasets/:id/examples", () => HttpResponse.json({ count: 1 })),
    on.get("*/examples/:id", () => HttpResponse.json(wireExample)),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const evil = 'x"\r\nX-Injected: yes\r\n\r\n--b';
  await examples.create({ datasetId, inputs: {}, attachments: { [evil]: png } });
  const lines = String(server.requests[1]?.body).split("\r\n");
  expect(lines.filter((line) => line.startsWith("X-Injected"))).toEqual([]);
  for (const attachments of [
    { "a\u0000b": png },
    { a: { ...png, mimeType: "image/png\r\nX-Injected: yes" } },
    { a: { ...png, mimeType: "" } },
  ]) {
    await expect(examples.create({ datasetId, inputs: {}, attachments })).rejects.toMatchObject({
      code: "VALIDATION",
    });
  }
  expect(server.requests).toHaveLength(3);
});

test("attachments for a server without support are a clear error, and nothing is sent", async () => {
  const server = await mswServer(info(false));
  const { examples } = createDatasetResources(server.endpoint);
  const attachments = { a: png };
  const calls = [
    examples.create({ datasetId, inputs: {}, attachments }),
    examples.createMany({ datasetId, examples: [{ inputs: {}, attachments }] }),
    examples.update(id, { attachments }),
    examples.updateMany({ examples: [{ id, attachments }] }),
  ];
  expect(await Promise.allSettled(calls)).toMatchObject(
    calls.map(() => ({
      reason: {
        code: "VALIDATION",
        message: expect.stringContaining("This server does not accept attachments") as string,
      },
    })),
  );
  expect(new Set(server.requests.map(({ target }) => target))).toEqual(new Set(["GET /info"]));
});

test("of many examples, those with attachments are parts of one request", async () => {
  const server = await mswServer(
    info(true),
    on.post("*/v1/platform/datasets/:id/examples", () => HttpResponse.json({ count: 2 })),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const { exampleIds } = await examples.createMany({
    datasetId,
    examples: [{ inputs: { n: 0 } }, { inputs: { n: 1 }, attachments: { a: png } }],
  });
  const names = (await sentParts(server.requests[1])).map(({ name }) => name);
  const [first, second] = exampleIds;
  expect(names).toEqual([
    first,
    `${first}.inputs`,
    second,
    `${second}.inputs`,
    `${second}.attachment.a`,
  ]);
});

test("an update with attachments is sent as multipart to the dataset of its example", async () => {
  const server = await mswServer(
    info(true),
    on.get("*/examples/:id", () => HttpResponse.json(wireExample)),
    on.patch("*/v1/platform/datasets/:id/examples", () => HttpResponse.json({ count: 1 })),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const change = { outputs: { a: 1 }, attachments: { a: png } };
  const operations = { retainAttachments: ["b"], renameAttachments: { b: "c" } };
  await examples.update(id, { ...change, ...operations });
  await examples.updateMany({ datasetId, examples: [{ id, ...change }] });
  const patches = server.requests.filter(({ target }) => target.startsWith("PATCH"));
  expect(patches.map(({ target }) => target)).toEqual([
    `PATCH /v1/platform/datasets/${datasetId}/examples`,
    `PATCH /v1/platform/datasets/${datasetId}/examples`,
  ]);
  expect(await sentParts(patches[0])).toMatchObject([
    { name: id, text: "{}" },
    { name: `${id}.outputs`, text: '{"a":1}' },
    { name: `${id}.attachments_operations`, text: '{"retain":["b"],"rename":{"b":"c"}}' },
    { name: `${id}.attachment.a` },
  ]);
  expect(server.requests.filter(({ target }) => target.startsWith("GET /examples"))).toHaveLength(
    1,
  );
});

test("an update that only renames attachments names all others as retained", async () => {
  const other = "2f0e0d0c-0b0a-4908-8706-050403020100";
  const attachment_urls = {
    "attachment.a": { presigned_url: "/a" },
    "attachment.b": { presigned_url: "/b" },
  };
  const server = await mswServer(
    info(true),
    on.get("*/examples/:id", () => HttpResponse.json({ ...wireExample, attachment_urls })),
    on.get("*/examples", () =>
      HttpResponse.json([
        { ...wireExample, attachment_urls },
        { ...wireExample, id: other },
      ]),
    ),
    on.patch("*/examples/:id", () => HttpResponse.json({})),
    on.patch("*/v1/platform/datasets/:id/examples", () => HttpResponse.json({ count: 1 })),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const renameAttachments = { a: "a2" };
  await examples.update(id, { renameAttachments });
  await examples.update(id, { renameAttachments, retainAttachments: [] });
  await examples.update(id, { renameAttachments, attachments: { c: png } });
  await examples.updateMany({
    datasetId,
    examples: [
      { id, renameAttachments },
      { id: other, renameAttachments: {} },
      { id, outputs: {} },
    ],
  });
  const patches = server.requests.filter(({ target }) => target.startsWith("PATCH"));
  const operations = { retain: ["b"], rename: renameAttachments };
  expect([patches[0], patches[1], patches[3]].map((patch) => patch?.body)).toEqual([
    { attachments_operations: operations },
    { attachments_operations: { retain: [], rename: renameAttachments } },
    [
      { id, attachments_operations: operations },
      { id: other, attachments_operations: { retain: [], rename: {} } },
      { id, outputs: {} },
    ],
  ]);
  expect(await sentParts(patches[2])).toMatchObject([
    { name: id },
    { name: `${id}.attachments_operations`, text: JSON.stringify(operations) },
    { name: `${id}.attachment.c` },
  ]);
  const lists = server.requests.filter(({ target }) => target.startsWith("GET /examples?"));
  expect(lists).toHaveLength(1);
  expect(lists[0]?.target).toContain("attachment_urls");
});

test("an attachment is downloaded from its URL, and the key is sent only to the client's own server", async () => {
  const bytes = Buffer.from([0, 255, 13, 10]);
  await using storage = await loopbackServer({
    runs: [(response) => void response.end(bytes), { status: 403, body: "expired" }],
  });
  const server = await mswServer(
    on.get("*/public/file", () => new HttpResponse(new Uint8Array(bytes))),
  );
  const connection = { apiKey: "secret" };
  const { examples } = createDatasetResources(`${server.endpoint}/api/v1`, { connection });
  const presignedUrl = `${storage.endpoint}/runs/file?sig=a%2Fb`;
  expect(await examples.readAttachment({ presignedUrl })).toEqual(bytes);
  expect(JSON.stringify(storage.requests[0]?.headers)).not.toContain("secret");
  await expect(examples.readAttachment({ presignedUrl })).rejects.toMatchObject({
    status: 403,
    message:
      "Failed to read attachment: 403 expired. Its address may have expired: read the run or the example again for a new one",
  });
  expect(await examples.readAttachment({ presignedUrl: "/public/file?x=1" })).toEqual(bytes);
  expect(server.requests.map(({ target }) => target)).toEqual(["GET /public/file?x=1"]);
});
