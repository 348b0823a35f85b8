import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client, traceable } from "millrace";
import type { ClientOptions } from "millrace";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { acceptPartly, refuse, runCollector } from "../support/otlp-collector.ts";
import type { Collector } from "../support/otlp-collector.ts";

/** A client that sends spans to a collector, and closes after the test. */
function createClient(collector: Pick<Collector, "url">, options: Partial<ClientOptions> = {}) {
  const { otlp, ...otherOptions } = options;
  const messages: string[] = [];
  const client = new Client({
    otlp: { url: collector.url, ...otlp },
    firstDelayMs: 0,
    logger: { warn: (message) => messages.push(message) },
    ...otherOptions,
  });
  onTestFinished(async () => {
    await client.close({ timeoutMs: 0 });
  });
  return { client, messages };
}

/** Whether every record that was accepted is in one state. */
function sumOfStates({
  delivered,
  rejected,
  dropped,
  spooled,
  pending,
}: ReturnType<Client["stats"]>) {
  return delivered + rejected + dropped + spooled + pending;
}

describe("spans of ended runs", () => {
  test("have the tree, the times, the kind, the status and the resource of the runs", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector, { projectName: "mill" });
    const root = client.startRun({ name: "answer", inputs: { question: "rain?" } });
    const model = root.startChild({ name: "model", runType: "llm", inputs: { messages: [] } });
    model.end({ text: "yes" });
    const tool = root.startChild({ name: "weather", runType: "tool", inputs: { city: "Bern" } });
    tool.fail(new TypeError("no such city"));
    root.end({ answer: "no" });
    const result = await client.flush();
    expect(result).toMatchObject({ delivered: 6, pending: 0, lost: 0 });
    expect(client.stats()).toMatchObject({ accepted: 6, delivered: 6, pending: 0 });
    const spans = new Map(collector.spans.map((span) => [span.name, span]));
    const [rootSpan, modelSpan, toolSpan] = ["answer", "model", "weather"].map((name) =>
      spans.get(name),
    );
    const traceId = root.id.replaceAll("-", "");
    expect(rootSpan).toMatchObject({
      traceId,
      spanId: traceId.slice(16),
      parentSpanId: "",
      kind: "SPAN_KIND_INTERNAL",
      status: { code: "STATUS_CODE_UNSET" },
      scope: "millrace",
      resource: {
        "service.name": "mill",
        "openinference.project.name": "mill",
        "telemetry.sdk.name": "millrace",
      },
    });
    expect(modelSpan).toMatchObject({
      traceId,
      spanId: model.id.replaceAll("-", "").slice(16),
      parentSpanId: traceId.slice(16),
      kind: "SPAN_KIND_CLIENT",
    });
    expect(toolSpan).toMatchObject({
      parentSpanId: traceId.slice(16),
      status: { code: "STATUS_CODE_ERROR", message: "TypeError: no such city" },
      attributes: { "error.type": "TypeError" },
      events: [
        {
          name: "exception",
          attributes: { "exception.type": "TypeError", "exception.message": "no such city" },
        },
      ],
    });
    const micros = (rootSpan?.startNanos ?? 0n) / 1_000n;
    expect(Math.abs(Number(micros) / 1_000 - Date.now())).toBeLessThan(60_000);
    expect(rootSpan?.endNanos).toBeGreaterThanOrEqual(toolSpan?.endNanos ?? 0n);
    expect(new Set(collector.requests.map(({ path }) => path))).toEqual(new Set(["/v1/traces"]));
  });

  test("are sent when the run ends on a later tape than it started on, and not before", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector);
    const runs = Array.from({ length: 50 }, (_, index) =>
      client.startRun({ name: `run ${index}`, inputs: { index } }),
    );
    const result = await client.flush();
    expect(result).toEqual({
      delivered: 0,
      pending: 50,
      lost: 0,
      runs: { delivered: 0, pending: 50, lost: 0 },
    });
    expect(collector.requests).toEqual([]);
    for (const run of runs) {
      run.end({ done: true });
    }
    expect(await client.flush()).toEqual({
      delivered: 100,
      pending: 0,
      lost: 0,
      runs: { delivered: 50, pending: 0, lost: 0 },
    });
    expect(
      collector.spans.map(({ attributes }) => String(attributes["input.value"])).toSorted(),
    ).toEqual(runs.map((_, index) => `{"index":${index}}`).toSorted());
    expect(new Set(collector.spans.map(({ attributes }) => attributes["output.value"]))).toEqual(
      new Set(['{"done":true}']),
    );
  });

  test("contain the inputs as they were when the run started", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector);
    const inputs = { text: "before" };
    const run = client.startRun({ name: "run", inputs });
    inputs.text = "after";
    run.end({});
    await client.flush();
    expect(collector.spans[0]?.attributes["input.value"]).toBe('{"text":"before"}');
  });

  test("are grouped by the project of their runs", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector);
    for (const projectName of ["first", "second", "first"]) {
      client.startRun({ name: projectName, projectName }).end();
    }
    await client.flush();
    expect(
      collector.spans
        .map(({ name, resource }) => `${name} ${String(resource["service.name"])}`)
        .toSorted(),
    ).toEqual(["first first", "first first", "second second"]);
  });

  test("are sent for functions, streams and runs in the wire format alike", async () => {
    const collector = await runCollector();
    const { client } = createClient(collector);
    const add = traceable((left: number, right: number) => left + right, { name: "add", client });
    expect(add(1, 2)).toBe(3);
    const id = crypto.randomUUID();
    await client.createRun({
      id,
      name: "wire",
      run_type: "chain",
      inputs: {},
      start_time: 1_700_000_000_000,
    });
    await client.updateRun(id, { extra: { metadata: { step: 1 } } });
    await client.updateRun(id, { outputs: { ok: true }, end_time: "2023-11-14T22:13:21.5Z" });
    await client.flush();
    const spans = new Map(collector.spans.map((span) => [span.name, span]));
    expect(spans.get("add")?.attributes).toMatchObject({
      "output.value": expect.stringContaining("3") as string,
    });
    expect(spans.get("wire")).toMatchObject({
      startNanos: 1_700_000_000_000_000_000n,
      endNanos: 1_700_000_001_500_000_000n,
      attributes: { "output.value": '{"ok":true}', "langsmith.metadata.step": 1 },
    });
  });
});

describe("attachments", () => {
  test("become events with their type, their size and the reason, which the log gives too", async () => {
    const collector = await runCollector();
    const { client, messages } = createClient(collector);
    const photo = { mimeType: "image/png", data: new Uint8Array(1_234) };
    const run = client.startRun({ name: "look", attachments: { photo } });
    run.end({}, { attachments: { note: ["text/plain", "dry"] } });
    expect(await client.flush()).toMatchObject({ delivered: 2, lost: 0 });
    const reason = "spans have no attachments";
    expect(
      collector.spans[0]?.events.map(({ name, attributes }) => ({ name, attributes })),
    ).toEqual(
      [
        { attachment: "photo", mime_type: "image/png", bytes: 1_234, reason },
        { attachment: "note", mime_type: "text/plain", bytes: 3, reason },
      ].map((attributes) => ({ name: "[attachment left out]", attributes })),
    );
    expect(client.stats().truncated).toBe(2);
    // The message is logged in the next turn of the event loop.
    await client.close();
    expect(messages).toEqual([expect.stringContaining("spans have no attachments")]);
  });

  test("that are files become events with what is known of them", async () => {
    const collector = await runCollector();
    const path = join(mkdtempSync(join(tmpdir(), "millrace-otlp-")), "photo.png");
    onTestFinished(() => rmSync(dirname(path), { recursive: true }));
    writeFileSync(path, "12345");
    const { client } = createClient(collector, { dangerouslyAllowFilesystem: true });
    const attachments = {
      photo: { mimeType: "image/png", path },
      gone: { mimeType: "image/gif", path: `${path}.gone` },
    };
    client.startRun({ name: "look", attachments }).end();
    await client.flush();
    expect(collector.spans[0]?.events.map(({ attributes }) => attributes)).toEqual([
      {
        attachment: "photo",
        mime_type: "image/png",
        bytes: 5,
        reason: "spans have no attachments",
      },
      { attachment: "gone", mime_type: "image/gif", reason: "its file can't be read (ENOENT)" },
    ]);
  });
});

describe("headers and compression", () => {
  test("the headers are sent, also x-api-key, and no key of the environment", async () => {
    vi.stubEnv("MILLRACE_API_KEY", "key-of-a-server");
    vi.stubEnv("MILLRACE_WORKSPACE_ID", "workspace");
    vi.stubEnv("MILLRACE_ENDPOINT", "http://127.0.0.1:9");
    const collector = await runCollector();
    const headers = { "X-Api-Key": "key-of-the-backend", authorization: "Basic abc" };
    const { client } = createClient(collector, { otlp: { url: collector.url, headers } });
    client.startRun({ name: "run" }).end();
    await client.flush();
    expect(collector.requests[0]?.headers).toMatchObject({
      "x-api-key": "key-of-the-backend",
      authorization: "Basic abc",
      "content-type": "application/x-protobuf",
    });
    expect(JSON.stringify(collector.requests[0]?.headers)).not.toMatch(/key-of-a-server|workspace/);
  });

  test("bodies are compressed as the option says, and not any more after a 415", async () => {
    const collector = await runCollector((response, { headers }) =>
      headers["content-encoding"] === undefined ? undefined : refuse(response, 415),
    );
    const { client } = createClient(collector, { compression: "gzip" });
    client.startRun({ name: "run", inputs: { text: "x".repeat(5_000) } }).end();
    await client.flush();
    expect(collector.requests.map(({ headers }) => headers["content-encoding"])).toEqual([
      "gzip",
      undefined,
    ]);
    expect(collector.spans).toHaveLength(1);
    expect(collector.requests[0]?.bytes).toBeLessThan(2_000);
  });
});

describe("what a backend refuses", () => {
  /** Records ended runs and returns their names. */
  const record = (client: Client, count: number): void => {
    for (let index = 0; index < count; index++) {
      client.startRun({ name: `run ${index}`, inputs: { index } }).end({});
    }
  };

  test("a partial success counts as many runs as it rejects, and no span is sent again", async () => {
    const collector = await runCollector((response) =>
      acceptPartly(response, 300, "too many attributes"),
    );
    const { client, messages } = createClient(collector);
    record(client, 400);
    const result = await client.flush();
    const stats = client.stats();
    expect(collector.requests.flatMap(({ spans }) => spans)).toHaveLength(400);
    expect(result.lost).toBe(stats.rejected);
    expect(stats.rejected).toBeGreaterThanOrEqual(600);
    expect(stats.rejected % 2).toBe(0);
    expect(sumOfStates(stats)).toBe(stats.accepted);
    expect(messages.join("\n")).toContain("too many attributes");
  });

  test("a remark about spans that are all accepted is logged and counted, without a key that it contains", async () => {
    const collector = await runCollector((response) =>
      acceptPartly(response, 0, "attributes were cut for key-0815-secret"),
    );
    const { client, messages } = createClient(collector, {
      otlp: { url: collector.url, headers: { "x-api-key": "key-0815-secret" } },
    });
    record(client, 3);
    expect(await client.flush()).toMatchObject({ delivered: 6, lost: 0 });
    expect(client.stats().warnings).toEqual({ backendWarning: 1 });
    expect(messages.join("\n")).toContain("attributes were cut for [hidden]");
  });

  test("a request is repeated after 503 and 429 with Retry-After", async () => {
    let requests = 0;
    const collector = await runCollector((response) => {
      requests += 1;
      return requests <= 2
        ? refuse(response, requests === 1 ? 503 : 429, { headers: { "retry-after": "0" } })
        : undefined;
    });
    const { client } = createClient(collector);
    record(client, 3);
    expect(await client.flush()).toMatchObject({ delivered: 6, pending: 0, lost: 0 });
    expect(client.stats().retries).toBe(2);
    expect(collector.spans).toHaveLength(3);
  });

  test("a request that is too large is divided, and a span that is too large arrives without its largest payload", async () => {
    const limit = 20_000;
    const collector = await runCollector((response, { bytes }) =>
      bytes > limit ? refuse(response, 413) : undefined,
    );
    const { client } = createClient(collector);
    record(client, 20);
    client.startRun({ name: "large", inputs: { text: "x".repeat(100_000) } }).end({ small: 1 });
    expect(await client.flush()).toMatchObject({ delivered: 42, lost: 0 });
    expect(collector.spans).toHaveLength(21);
    const large = collector.spans.find(({ name }) => name === "large");
    expect(large?.attributes["input.value"]).toContain("left out");
    expect(large?.attributes["output.value"]).toBe('{"small":1}');
    expect(client.stats().truncated).toBe(1);
  });

  test("a span that the backend refuses with 400 costs only its run", async () => {
    const collector = await runCollector((response, { spans }) =>
      spans.some(({ name }) => name === "run 7")
        ? refuse(response, 400, { message: "bad span" })
        : undefined,
    );
    const { client, messages } = createClient(collector);
    record(client, 16);
    expect(await client.flush()).toMatchObject({ delivered: 30, lost: 2 });
    expect(collector.spans).toHaveLength(15);
    expect(client.stats().lost.rejected).toBe(2);
    expect(messages.join("\n")).toContain("bad span");
  });

  test.each([
    ["/v1/traces", ["/otel/v1/traces"], ["a collector expects"]],
    ["/otel/v1/traces", ["a collector expects /v1/traces"], ["/otel/v1/traces"]],
    ["/spans", ["a collector expects /v1/traces", "a Millrace server /otel/v1/traces"], []],
  ])(
    "a 404 for the path %s names the paths that differ from it",
    async (path, suggested, excluded) => {
      const collector = await runCollector((response) => refuse(response, 404));
      const url = collector.url.replace("/v1/traces", path);
      const { client, messages } = createClient(collector, { otlp: { url } });
      record(client, 1);
      await client.flush();
      const text = messages.join("\n").split("Check the path of the option otlp.url")[1];
      for (const words of suggested) {
        expect(text).toContain(words);
      }
      for (const words of excluded) {
        expect(text).not.toContain(words);
      }
    },
  );

  test("a message about a refused key names the option and never the key", async () => {
    const key = "secret-key-0815";
    const collector = await runCollector((response) =>
      refuse(response, 401, { message: `bad key ${key}` }),
    );
    const { client, messages } = createClient(collector, {
      otlp: { url: collector.url, headers: { "x-api-key": key } },
    });
    record(client, 1);
    await client.flush();
    expect(messages.join("\n")).toMatch(/401.*otlp\.headers/s);
    expect(messages.join("\n")).not.toContain(key);
    expect(JSON.stringify(client.stats())).not.toContain(key);
  });
});
