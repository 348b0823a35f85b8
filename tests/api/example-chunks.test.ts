import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HttpResponse, http as on } from "msw";
import { expect, onTestFinished, test } from "vitest";
import type { NewExample } from "../../src/api/datasets/example-options.ts";
import { createDatasetResources } from "../support/dataset-resources.ts";
import { mswServer } from "../support/msw-server.ts";

const datasetId = "1f0e0d0c-0b0a-4908-8706-050403020100";
const someId = "0f0e0d0c-0b0a-4908-8706-050403020100";
const info = (sizeLimitBytes: number) =>
  on.get("*/info", () =>
    HttpResponse.json({ batch_ingest_config: { size_limit_bytes: sizeLimitBytes } }),
  );
interface SentExample {
  readonly id: string;
  readonly inputs: { readonly n: number };
}
const sentIn = (body: unknown): readonly SentExample[] => body as readonly SentExample[];
const numbered = (count: number): NewExample[] =>
  Array.from({ length: count }, (_, n) => ({ inputs: { n } }));
const echo = on.post("*/examples/bulk", async ({ request }) =>
  HttpResponse.json((await request.json()) as object),
);

test("100,000 examples are sent in chunks, a few at a time, each once and in order", async () => {
  const count = 100_000;
  const seen = { ids: new Set<string>(), requests: 0, largest: 0, inFlight: 0, most: 0 };
  const server = createServer((request, response) => {
    seen.inFlight += 1;
    seen.most = Math.max(seen.most, seen.inFlight);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [, ...items] = Buffer.concat(chunks).toString("latin1").split('{"id":"');
      const ids = items.map((item) => item.slice(0, 36));
      ids.forEach((id) => seen.ids.add(id));
      seen.requests += ids.length > 0 ? 1 : 0;
      seen.largest = Math.max(seen.largest, ids.length);
      seen.inFlight -= 1;
      response.end(JSON.stringify({ count: ids.length }));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let generated = 0;
  let farthestAhead = 0;
  function* source(): Generator<NewExample, void> {
    for (; generated < count; generated += 1) {
      farthestAhead = Math.max(farthestAhead, generated - seen.ids.size);
      yield { inputs: { generated } };
    }
  }
  const { examples } = createDatasetResources(endpoint);
  const { exampleIds } = await examples.createMany({ datasetId, examples: source() });
  expect(exampleIds).toHaveLength(count);
  expect(seen.ids.size).toBe(count);
  const isInOrder = exampleIds.every(
    (id, n) => seen.ids.has(id) && (n === 0 || id > (exampleIds[n - 1] ?? "")),
  );
  expect(isInOrder).toBe(true);
  expect(seen).toMatchObject({ requests: 100, largest: 1_000 });
  expect(seen.most).toBeLessThanOrEqual(4);
  expect(farthestAhead).toBeLessThanOrEqual(6_000);
});

test("a request respects the server's limit of bytes, and a larger example is sent alone", async () => {
  const server = await mswServer(info(2_000), echo);
  const { examples } = createDatasetResources(server.endpoint);
  const long = (length: number): NewExample => ({ inputs: { n: 0, text: "é".repeat(length) } });
  await examples.createMany({
    datasetId,
    examples: [...numbered(9), long(2_000), ...numbered(2)],
  });
  const bodies = server.requests.slice(1).map(({ body }) => sentIn(body));
  expect(bodies.flat()).toHaveLength(12);
  const alone = bodies.filter((body) => JSON.stringify(body).length > 2_000);
  expect(alone.map((body) => body.length)).toEqual([1]);
  expect(bodies.length).toBeGreaterThan(3);
});

test("the defaults apply to a server without /info", async () => {
  const server = await mswServer(
    on.get("*/info", () => HttpResponse.json({}, { status: 404 })),
    echo,
  );
  const { examples } = createDatasetResources(server.endpoint);
  const { exampleIds } = await examples.createMany({ datasetId, examples: numbered(1_001) });
  expect(exampleIds).toHaveLength(1_001);
  const sizes = server.requests.slice(1).map(({ body }) => sentIn(body).length);
  expect(sizes.toSorted((left, right) => left - right)).toEqual([1, 1_000]);
});

test("a failing /info costs a single attempt", async () => {
  const server = await mswServer(
    on.get("*/info", () => HttpResponse.json({}, { status: 503 })),
    on.post("*/examples/bulk", () => HttpResponse.json({ count: 1 })),
  );
  const { examples, waits } = createDatasetResources(server.endpoint);
  await examples.createMany({ datasetId, examples: numbered(1) });
  expect(server.requests.map(({ target }) => target)).toEqual(["GET /info", "POST /examples/bulk"]);
  expect(waits).toEqual([]);
});

test("without examples no request is sent for them", async () => {
  const server = await mswServer(info(1_000));
  const { examples } = createDatasetResources(server.endpoint);
  expect(await examples.createMany({ datasetId, examples: [] })).toEqual({ exampleIds: [] });
  await examples.updateMany({ examples: [] });
  expect(server.requests.map(({ target }) => target)).toEqual(["GET /info"]);
});

test("a failure lists the ids that were created and those that are unconfirmed, and the rest is not sent", async () => {
  const server = await mswServer(
    info(20_971_520),
    on.post("*/examples/bulk", async ({ request }) => {
      const body = sentIn(await request.json());
      return body.some(({ inputs }) => inputs.n === 2_500)
        ? HttpResponse.json({ detail: "example 2500 is not of the schema" }, { status: 422 })
        : HttpResponse.json(body as object);
    }),
  );
  const { examples } = createDatasetResources(server.endpoint);
  let taken = 0;
  async function* source(): AsyncGenerator<NewExample, void> {
    for (; taken < 100_000; taken += 1) {
      yield { inputs: { n: taken } };
    }
  }
  const failure: unknown = await examples
    .createMany({ datasetId, examples: source() })
    .catch((error: unknown) => error);
  const idsOf = (isDone: boolean): readonly string[] =>
    server.requests
      .slice(1)
      .map(({ body }) => sentIn(body))
      .filter((body) => isDone !== body.some(({ inputs }) => inputs.n === 2_500))
      .toSorted((left, right) => (left[0]?.inputs.n ?? 0) - (right[0]?.inputs.n ?? 0))
      .flatMap((body) => body.map(({ id }) => id));
  expect(failure).toMatchObject({
    code: "INCOMPLETE",
    name: "IncompleteError",
    doneIds: idsOf(true),
    openIds: idsOf(false),
    cause: { status: 422 },
    message: expect.stringMatching(
      /^Failed to create examples: \d+ succeeded \(doneIds\), 1000 were sent without confirmation \(openIds\).*example 2500 is not of the schema$/,
    ) as string,
  });
  expect(idsOf(true).length).toBeGreaterThanOrEqual(2_000);
  expect(taken).toBeLessThan(10_000);
});

test("the failure of the only chunk is the failure itself", async () => {
  const server = await mswServer(
    info(1_000_000),
    on.post("*/examples/bulk", () => HttpResponse.json({ detail: "no" }, { status: 422 })),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const call = examples.createMany({ datasetId, examples: numbered(3) });
  await expect(call).rejects.toMatchObject({ code: "HTTP", status: 422 });
});

test("an invalid example is reported by its index; in an array, before anything is sent", async () => {
  const server = await mswServer(info(1_000_000), echo);
  const { examples } = createDatasetResources(server.endpoint);
  const bad = [...numbered(1_500), { inputs: {}, split: "" }];
  const message = "Example 1500: split must contain at least one name, and no name may be empty";
  const array = examples.createMany({ datasetId, examples: bad });
  await expect(array).rejects.toMatchObject({ code: "VALIDATION", message });
  expect(server.requests).toEqual([]);
  const iterated = examples.createMany({ datasetId, examples: new Set(bad) });
  await expect(iterated).rejects.toMatchObject({
    code: "INCOMPLETE",
    cause: { code: "VALIDATION", message },
  });
  expect(server.requests.slice(1).map(({ body }) => sentIn(body).length)).toEqual([1_000]);
});

test("generated ids that the server already has were stored by an earlier attempt", async () => {
  let isThere = true;
  const server = await mswServer(
    info(1_000_000),
    on.post("*/examples/bulk", () => HttpResponse.json({ detail: "known" }, { status: 409 })),
    on.get("*/examples", ({ request }) => {
      const ids = new URL(request.url).searchParams.getAll("id");
      const found = ids.map((id) => ({ id, dataset_id: datasetId, inputs: {} }));
      return HttpResponse.json(isThere ? found : found.slice(1));
    }),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const created = await examples.createMany({ datasetId, examples: numbered(130) });
  expect(created.exampleIds).toHaveLength(130);
  isThere = false;
  const conflict = { code: "CONFLICT" };
  const lost = examples.createMany({ datasetId, examples: numbered(130) });
  await expect(lost).rejects.toMatchObject(conflict);
  isThere = true;
  const own = [{ id: someId, inputs: {} }];
  const given = examples.createMany({ datasetId, examples: own });
  await expect(given).rejects.toMatchObject(conflict);
});

test("a response with fewer examples than were sent is an error", async () => {
  const server = await mswServer(
    info(1_000_000),
    on.post("*/examples/bulk", () => HttpResponse.json([])),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const call = examples.createMany({ datasetId, examples: numbered(2) });
  await expect(call).rejects.toMatchObject({
    code: "ANSWER",
    message:
      "Failed to create examples: 2 were sent, 0 were created. Read the dataset to find which are missing, and create those",
  });
});

test("a stalled source delays neither a failure nor an abort", async () => {
  const server = await mswServer(
    info(1_000_000),
    on.post("*/examples/bulk", () => HttpResponse.json({ detail: "no" }, { status: 400 })),
  );
  const { examples } = createDatasetResources(server.endpoint);
  async function* quietAfter(count: number): AsyncGenerator<NewExample, void> {
    yield* numbered(count);
    await new Promise(() => {});
  }
  const failing = examples.createMany({ datasetId, examples: quietAfter(1_001) });
  await expect(failing).rejects.toMatchObject({ status: 400 });
  const controller = new AbortController();
  const ended = examples.createMany({
    datasetId,
    examples: quietAfter(1),
    signal: controller.signal,
  });
  setImmediate(() => controller.abort(new Error("enough")));
  await expect(ended).rejects.toMatchObject({ code: "ABORTED" });
});

test("updates are sent in chunks too, and a failure lists what was changed", async () => {
  const updates = numbered(2_500).map(({ inputs }) => ({ id: someId, inputs }));
  const server = await mswServer(
    info(20_971_520),
    on.patch("*/examples/bulk", async ({ request }) => {
      const body = sentIn(await request.json());
      return body.length < 1_000
        ? HttpResponse.json({ detail: "no" }, { status: 404 })
        : HttpResponse.json({});
    }),
  );
  const { examples } = createDatasetResources(server.endpoint);
  const call = examples.updateMany({ examples: updates });
  await expect(call).rejects.toMatchObject({
    code: "INCOMPLETE",
    doneIds: { length: 2_000 },
    openIds: { length: 500 },
    cause: { code: "NOT_FOUND" },
  });
  expect(sentIn(server.requests[1]?.body)[7]).toEqual({ id: someId, inputs: { n: 7 } });
});
