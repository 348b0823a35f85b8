import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { tracedFetch, withRunOptions } from "../../src/integrations/fetch/index.ts";
import { markModelCall, OptionError, RunTree, withRun } from "../../src/main/index.ts";
import { ExchangeCollector } from "./collecting-exchanges.ts";

/** An API on loopback. Its handler gets the request's body as text. */
type Handler = (response: ServerResponse, request: IncomingMessage, body: string) => void;

async function startApi(handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => handler(response, request, Buffer.concat(chunks).toString("latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends parts one after the other, each in its own turn of the event loop, and then ends the response. */
const stream =
  (parts: readonly (string | Uint8Array)[], type = "text/event-stream"): Handler =>
  (response) => {
    void (async () => {
      response.writeHead(200, { "content-type": type, "x-request-id": "req_7" });
      response.flushHeaders();
      for (const part of parts) {
        response.write(part);
        await nextTurn();
        await nextTurn();
      }
      response.end();
    })();
  };

const json =
  (value: unknown, status = 200): Handler =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };

const events = ['data: {"n": 1}\n\n', 'data: {"n": "é', 'é"}\n\n', "data: [DONE]\n\n"];
const path = "/v1/chat/completions";
const post = (body: RequestInit["body"] = "{}", init: RequestInit = {}): RequestInit => ({
  method: "POST",
  body: body ?? null,
  ...init,
});

async function collect(body: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
  }
  return chunks;
}

/** Waits until the only exchange has ended this many times. */
async function ended(client: ExchangeCollector, times = 1) {
  await vi.waitFor(() => expect(client.only.ends).toHaveLength(times));
  return client.only;
}

afterEach(() => vi.unstubAllGlobals());

describe("recognition", () => {
  test.each([
    ["https://api.openai.com/v1/chat/completions", "openai.chat"],
    [
      "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
      "openai.chat",
    ],
    ["https://api.deepseek.com/chat/completions", "openai.chat"],
    ["https://api.openai.com/v1/responses", "openai.responses"],
    ["https://x.openai.azure.com/openai/v1/responses", "openai.responses"],
    ["https://api.openai.com/v1/completions", "openai.completions"],
    ["https://api.openai.com/v1/embeddings", "openai.embeddings"],
    ["https://api.openai.com/v1/images/edits", "openai.images"],
    ["https://api.openai.com/v1/audio/transcriptions", "openai.transcription"],
    ["https://api.anthropic.com/v1/messages?beta=true", "anthropic.messages"],
    ["https://g.example/v1beta/models/gemini-3:streamGenerateContent?alt=sse", "google.generate"],
    ["https://g.example/v1beta/models/gemini-3:batchEmbedContents", "google.embed"],
    ["https://api.anthropic.com/v1/messages/count_tokens", undefined],
    ["https://api.anthropic.com/v1/messages/batches", undefined],
    ["https://example.org/blog/responses", undefined],
    ["https://api.openai.com/v1/files", undefined],
  ])("the call %s is recorded as %s", async (url, format) => {
    const client = new ExchangeCollector();
    const fetch = tracedFetch(async () => new Response("{}"), { client });
    await (await fetch(url, post())).text();
    expect(client.exchanges.map(({ options }) => options.format)).toEqual(
      format === undefined ? [] : [format],
    );
  });

  test("a query and credentials in an address are not recorded", async () => {
    const client = new ExchangeCollector();
    const fetch = tracedFetch(async () => new Response("{}"), { client });
    await fetch("https://user:secret@g.example/secret/v1beta/models/m:generateContent?key=secret", {
      ...post("{}"),
      headers: { authorization: "secret", "x-goog-api-key": "secret" },
    });
    expect(client.only.options.url).toBe("https://g.example/models/m:generateContent");
    expect(JSON.stringify({ ...client.only.options, client: undefined })).not.toContain("secret");
  });

  test("a list of providers restricts what is recorded and names compatible servers", async () => {
    const client = new ExchangeCollector();
    const fetch = tracedFetch(async () => new Response("{}"), {
      client,
      providers: ["anthropic", { baseURL: "http://localhost:11434/api/", api: "openai" }],
    });
    await fetch("https://api.openai.com/v1/embeddings", post());
    await fetch("https://api.anthropic.com/v1/messages", post());
    await fetch("http://localhost:11434/api/embeddings", post());
    await fetch("http://localhost:11434/apis/embeddings", post());
    expect(client.exchanges.map(({ options }) => options.format)).toEqual([
      "anthropic.messages",
      "openai.embeddings",
    ]);
  });

  test.each([
    [{ providers: ["mistral"] }, /names no known API \(mistral\); each of its entries is "openai"/],
    [{ providers: "openai" }, /must be a list; each of its entries/],
    [{ providers: [{ api: "openai" }] }, /without a valid baseURL; each of its entries/],
    [{ tags: [] }, /has no option "tags"\. Its options are client, providers, name, metadata\./],
  ])("the options %j are refused with what is allowed", (options, message) => {
    expect(() => tracedFetch(undefined, options as object)).toThrow(OptionError);
    expect(() => tracedFetch(undefined, options as object)).toThrow(message);
  });

  test("a request that is no call of a model is passed on with the same arguments, and not recorded", async () => {
    const client = new ExchangeCollector();
    const calls: unknown[][] = [];
    const response = new Response("page");
    const fetch = tracedFetch(
      async (...args) => {
        calls.push(args);
        return response;
      },
      { client },
    );
    const init = { method: "GET" };
    await expect(fetch("https://api.openai.com/v1/models", init)).resolves.toBe(response);
    await fetch("/relative/v1/messages", post());
    await expect(fetch(undefined as unknown as string)).resolves.toBe(response);
    expect(calls[0]?.[1]).toBe(init);
    expect(Object.getOwnPropertyNames(response)).toEqual([]);
    expect(client.exchanges).toEqual([]);
  });
});

describe("the response", () => {
  test("is the one that the wrapped fetch returned, with its address, type and headers", async () => {
    const api = await startApi((response, request, body) => {
      if (request.url === path) {
        response.writeHead(307, { location: "/elsewhere/v1/chat/completions" }).end();
      } else {
        json({ body }, 201)(response, request, body);
      }
    });
    const client = new ExchangeCollector();
    const plain = await globalThis.fetch(api + path, post());
    let inner: Response | undefined;
    const fetch = tracedFetch(async (...args) => (inner = await globalThis.fetch(...args)), {
      client,
    });
    const response = await fetch(api + path, post());
    expect(response).toBe(inner);
    const read = ({ url, redirected, type, status, statusText, ok, headers }: Response) => ({
      url,
      redirected,
      type,
      status,
      statusText,
      ok,
      headers: [...headers].filter(([name]) => name !== "date"),
    });
    expect(read(response)).toEqual(read(plain));
    expect(Object.keys(response)).toEqual([]);
    expect(response.bodyUsed).toBe(false);
    await expect(response.json()).resolves.toEqual({ body: "{}" });
    expect(response.bodyUsed).toBe(true);
    await expect(response.text()).rejects.toThrow(TypeError);
    expect((await ended(client)).text).toBe('{"body":"{}"}');
  });

  test.each(["text", "json", "arrayBuffer", "blob"] as const)(
    "read with %s() is as without recording, also if it is not valid",
    async (method) => {
      const bodies = ['{"text": "é"}', "\uFEFF{}", Buffer.from([0x7b, 0xff, 0x7d]), "<html>", ""];
      for (const body of bodies) {
        const api = await startApi((response) => response.end(body));
        const client = new ExchangeCollector();
        const outcome = async (response: Response): Promise<unknown> => {
          try {
            const value: unknown = await response[method]();
            return value instanceof Blob
              ? { type: value.type, bytes: Buffer.from(await value.arrayBuffer()) }
              : value;
          } catch (error) {
            return String(error);
          }
        };
        const plain = await outcome(await globalThis.fetch(api + path, post()));
        const recorded = await outcome(
          await tracedFetch(undefined, { client })(api + path, post()),
        );
        expect(recorded).toEqual(plain);
        expect(await ended(client)).toMatchObject({
          text: Buffer.from(body).toString(),
          ends: [{ ending: "complete" }],
        });
      }
    },
  );

  test.each([
    ["an iteration", async (body: ReadableStream<Uint8Array>) => collect(body)],
    [
      "a reader",
      async (body: ReadableStream<Uint8Array>) => {
        const chunks: Uint8Array[] = [];
        const reader = body.getReader();
        for (let r = await reader.read(); !r.done; r = await reader.read()) {
          chunks.push(r.value);
        }
        return chunks;
      },
    ],
    [
      "a reader with its own buffer",
      async (body: ReadableStream<Uint8Array>) => {
        const chunks: Uint8Array[] = [];
        const reader = body.getReader({ mode: "byob" });
        for (;;) {
          const { done, value } = await reader.read(new Uint8Array(7));
          if (done) {
            return chunks;
          }
          chunks.push(value);
        }
      },
    ],
    [
      "a pipe",
      async (body: ReadableStream<Uint8Array>) =>
        collect(body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>())),
    ],
    [
      "both branches of tee()",
      async (body: ReadableStream<Uint8Array>) => {
        const [left, right] = body.tee();
        const [chunks, others] = await Promise.all([collect(left), collect(right)]);
        expect(Buffer.concat(others)).toEqual(Buffer.concat(chunks));
        return chunks;
      },
    ],
  ])("read with %s delivers the bytes of the server, which are recorded once", async (_, read) => {
    const api = await startApi(stream(events));
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    expect(response.body).toBe(response.body);
    const chunks = await read(response.body!);
    expect(Buffer.concat(chunks).toString()).toBe(events.join(""));
    expect(await ended(client)).toMatchObject({
      text: events.join(""),
      status: 200,
      contentType: "text/event-stream",
      requestId: "req_7",
      ends: [{ ending: "complete" }],
    });
  });

  test("arrives chunk by chunk: each is delivered before the next was sent", async () => {
    const sent: (() => void)[] = [];
    const api = await startApi((response) => {
      response.write("first");
      sent.push(
        () => response.write("second"),
        () => response.end("third"),
      );
    });
    const response = await tracedFetch(undefined, { client: new ExchangeCollector() })(
      api + path,
      post(),
    );
    const received: string[] = [];
    for await (const chunk of response.body!) {
      received.push(Buffer.from(chunk as Uint8Array).toString());
      sent.shift()?.();
    }
    expect(received).toEqual(["first", "second", "third"]);
  });

  test("is read by a clone and by itself, and recorded once, from whichever is ahead", async () => {
    const api = await startApi(stream(events));
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    const copy = response.clone();
    expect(copy.url).toBe(response.url);
    const reader = response.body!.getReader();
    await reader.read();
    await expect(copy.text()).resolves.toBe(events.join(""));
    expect((await ended(client)).text).toBe(events.join(""));
    await reader.cancel();
    expect(client.only.ends).toHaveLength(1);
    expect(() => response.clone()).toThrow(TypeError);
  });

  test("that has a reader can't be read as a whole, as without recording", async () => {
    const api = await startApi(stream(events));
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    const reader = response.body!.getReader();
    await expect(response.text()).rejects.toThrow(TypeError);
    expect(() => response.clone()).toThrow(TypeError);
    expect(client.only.ends).toEqual([]);
    const first = (await reader.read()) as { readonly value: Uint8Array };
    expect(Buffer.from(first.value).toString()).toContain("data:");
    expect(response.bodyUsed).toBe(true);
  });

  test("that was read as a whole shows that in its stream, as without recording", async () => {
    const api = await startApi(json({}));
    const look = async (fetch: typeof globalThis.fetch): Promise<unknown> => {
      const response = await fetch(api + path, post());
      const { body } = response;
      await response.text();
      const again = await response.text().catch(String);
      return [body?.locked, response.body === body, response.bodyUsed, again];
    };
    const plain = await look(globalThis.fetch);
    expect(plain).toEqual([true, true, true, expect.stringContaining("TypeError")]);
    await expect(
      look(tracedFetch(undefined, { client: new ExchangeCollector() })),
    ).resolves.toEqual(plain);
  });

  test("can become a stream of Node", async () => {
    const api = await startApi(stream(events));
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    const parts: unknown[] = [];
    for await (const part of Readable.fromWeb(response.body as WebStream)) {
      parts.push(part);
    }
    expect(Buffer.concat(parts as Buffer[]).toString()).toBe(events.join(""));
    expect((await ended(client)).text).toBe(events.join(""));
  });

  test("without a body ends the run", async () => {
    const api = await startApi((response) => response.writeHead(204).end());
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    expect(response.body).toBeNull();
    expect(client.only).toMatchObject({ status: 204, ends: [{ ending: "complete" }] });
  });

  test("that is compressed is recorded as the program sees it", async () => {
    const api = await startApi((response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
      response.end(gzipSync('{"a":1}'));
    });
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    await expect(response.json()).resolves.toEqual({ a: 1 });
    expect((await ended(client)).text).toBe('{"a":1}');
  });

  test("that a fetch returns without a promise is returned and recorded", async () => {
    const client = new ExchangeCollector();
    const fetch = tracedFetch((() => new Response("now")) as unknown as typeof globalThis.fetch, {
      client,
    });
    const response = fetch(`http://localhost${path}`, post()) as unknown as Response;
    expect(response).toBeInstanceOf(Response);
    await response.text();
    expect(client.only.text).toBe("now");
  });

  test("of a fetch that is not standard is passed on, and the run says what is missing", async () => {
    const client = new ExchangeCollector();
    const odd = { status: 200, headers: new Headers(), body: "text", json: () => 1 };
    const fetch = tracedFetch(async () => odd as unknown as Response, { client });
    await expect(fetch(`http://localhost${path}`, post())).resolves.toBe(odd);
    expect(client.only).toMatchObject({
      warnings: ["The response is not a Response of the Fetch standard; its body was not recorded"],
      ends: [{ ending: "complete" }],
    });
  });
});

describe("an early end", () => {
  test("break ends the run as cancelled, with what had arrived", async () => {
    const closed = vi.fn<() => void>();
    const api = await startApi((response) => {
      response.on("close", closed);
      response.write("first");
    });
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    for await (const _ of response.body!) {
      break;
    }
    expect(client.only).toMatchObject({ text: "first", ends: [{ ending: "cancelled" }] });
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
  });

  test("cancelling an unread body ends the run and the request", async () => {
    const closed = vi.fn<() => void>();
    const api = await startApi((response) => {
      response.on("close", closed);
      response.write("first");
    });
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    await response.body!.cancel();
    expect(client.only.ends).toEqual([{ ending: "cancelled" }]);
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
  });

  test.each([
    [
      "before the response",
      "fails",
      { ending: "failed", error: "AbortError: This operation was aborted" },
    ],
    ["between two reads", "cancels", { ending: "cancelled" }],
    ["during a read", "cancels", { ending: "cancelled" }],
  ])(
    "an abort %s rejects with the same error as without recording, and %s the run",
    async (moment, _, end) => {
      const api = await startApi((response) => {
        if (moment !== "before the response") {
          response.write("first");
        }
      });
      const outcome = async (fetch: typeof globalThis.fetch): Promise<unknown> => {
        const controller = new AbortController();
        try {
          const pending = fetch(api + path, post("{}", { signal: controller.signal }));
          if (moment === "before the response") {
            setTimeout(() => controller.abort(), 20);
          }
          const reader = (await pending).body!.getReader();
          await reader.read();
          if (moment === "between two reads") {
            controller.abort();
            await reader.closed;
          }
          const next = reader.read();
          controller.abort();
          return await next;
        } catch (error) {
          return error;
        }
      };
      const client = new ExchangeCollector();
      const plain = await outcome(globalThis.fetch);
      const recorded = await outcome(tracedFetch(undefined, { client }));
      expect(recorded).toBeInstanceOf(DOMException);
      expect(recorded).toMatchObject({ name: "AbortError", message: (plain as Error).message });
      expect(await ended(client)).toMatchObject({
        text: moment === "before the response" ? "" : "first",
        ends: [end],
      });
    },
  );

  test("a timeout fails the run", async () => {
    const api = await startApi((response) => response.write("first"));
    const client = new ExchangeCollector();
    const fetch = tracedFetch(undefined, { client });
    const response = await fetch(api + path, post("{}", { signal: AbortSignal.timeout(50) }));
    await expect(response.text()).rejects.toThrow("The operation was aborted due to timeout");
    expect((await ended(client)).ends[0]).toMatchObject({ ending: "failed" });
  });

  test("a connection that breaks in the middle of the body fails the run with what had arrived", async () => {
    const api = await startApi((response) => {
      response.write("first");
      setTimeout(() => response.destroy(), 20);
    });
    const client = new ExchangeCollector();
    const response = await tracedFetch(undefined, { client })(api + path, post());
    await expect(collect(response.body!)).rejects.toThrow("terminated");
    expect(await ended(client)).toMatchObject({
      text: "first",
      ends: [{ ending: "failed", error: "TypeError: terminated" }],
    });
  });

  test("a server that is not there fails the run, and rejects as without recording", async () => {
    const client = new ExchangeCollector();
    const pending = tracedFetch(undefined, { client })(`http://127.0.0.1:9${path}`, post());
    await expect(pending).rejects.toThrow("fetch failed");
    expect(client.only.ends).toEqual([{ ending: "failed", error: "TypeError: fetch failed" }]);
  });

  test("a fetch that throws at once throws the same error", () => {
    const client = new ExchangeCollector();
    const error = new RangeError("no");
    const fetch = tracedFetch(
      () => {
        throw error;
      },
      { client },
    );
    expect(() => void fetch(`http://localhost${path}`, post())).toThrow(error);
    expect(client.only.ends).toEqual([{ ending: "failed", error: "RangeError: no" }]);
  });
});

describe("the request", () => {
  const form = (): FormData => {
    const data = new FormData();
    data.append("model", "whisper-1");
    data.append("timestamps[]", "word");
    data.append("timestamps[]", "segment");
    data.append("file", new File(["sound"], "a.wav", { type: "audio/wav" }));
    return data;
  };

  test.each([
    ["a string", () => '{"é":1}', '{"é":1}'],
    ["bytes", () => Buffer.from('{"é":1}'), '{"é":1}'],
    ["a view", () => new DataView(new TextEncoder().encode('{"a":1}').buffer), '{"a":1}'],
    ["an ArrayBuffer", () => new TextEncoder().encode('{"a":1}').buffer, '{"a":1}'],
    ["parameters", () => new URLSearchParams({ a: "1" }), "a=1"],
    [
      "a form",
      form,
      '{"model":"whisper-1","timestamps[]":["word","segment"],"file":{"filename":"a.wav","content_type":"audio/wav","size":5}}',
    ],
  ])("with %s as its body is recorded at once and sent unchanged", async (_, create, expected) => {
    const received: string[] = [];
    const api = await startApi((response, request, body) => {
      received.push(body);
      json({})(response, request, body);
    });
    const client = new ExchangeCollector();
    await tracedFetch(undefined, { client })(api + path, post(create() as RequestInit["body"]));
    await globalThis.fetch(api + path, post(create() as RequestInit["body"]));
    const [traced = "", plain] = received.map((body) =>
      body.replaceAll(/-*formdata-undici-\d+/g, "boundary"),
    );
    expect(traced).toBe(plain);
    const { request } = client.only.options;
    const text =
      typeof request === "string"
        ? request
        : Buffer.from(
            ArrayBuffer.isView(request)
              ? new Uint8Array(request.buffer, request.byteOffset, request.byteLength)
              : new Uint8Array(request!),
          ).toString();
    expect(text).toBe(expected);
  });

  test.each([
    [
      "a Blob",
      (url: string): Parameters<typeof fetch> => [url, post(new Blob(["{}"], { type: "text/x" }))],
    ],
    ["a Request", (url: string): Parameters<typeof fetch> => [new Request(url, post("{}"))]],
  ])("with the body in %s is recorded later and sent unchanged", async (_, create) => {
    const received: string[] = [];
    const api = await startApi((response, request, body) => {
      received.push(body);
      json({})(response, request, body);
    });
    const client = new ExchangeCollector();
    await tracedFetch(undefined, { client })(...create(api + path));
    expect(received).toEqual(["{}"]);
    await vi.waitFor(() => expect(client.only.request).toBeDefined());
    expect(Buffer.from(client.only.request as ArrayBuffer).toString()).toBe("{}");
  });

  test("with a stream as its body is not delayed or read by us", async () => {
    const received: string[] = [];
    const api = await startApi((response, request, body) => {
      received.push(body);
      json({})(response, request, body);
    });
    const client = new ExchangeCollector();
    const body = new Blob(["streamed"]).stream();
    const init = { ...post(body), duplex: "half" } as RequestInit;
    await tracedFetch(undefined, { client })(api + path, init);
    expect(received).toEqual(["streamed"]);
    expect(client.only.warnings).toEqual([
      "The request's body is a stream, so it was not recorded",
    ]);
  });

  test("whose options throw when they are read is passed on", async () => {
    const client = new ExchangeCollector();
    const hostile = new Proxy(
      { method: "POST" },
      {
        get: (target, key) => {
          if (key === "body") {
            throw new RangeError("hostile");
          }
          return Reflect.get(target, key) as unknown;
        },
      },
    );
    const fetch = tracedFetch(async () => new Response("ok"), { client });
    const response = await fetch(`http://localhost${path}`, hostile);
    await expect(response.text()).resolves.toBe("ok");
    expect(client.exchanges).toEqual([]);
  });
});

describe("attempts", () => {
  const withCount = (count: number, body = "{}"): RequestInit =>
    post(body, { headers: { "X-Stainless-Retry-Count": String(count) } });

  test("that a client library counts belong to one run", async () => {
    let calls = 0;
    const api = await startApi((...args) => {
      calls += 1;
      json({ calls }, calls < 3 ? 500 : 200)(...args);
    });
    const client = new ExchangeCollector();
    const fetch = tracedFetch(undefined, { client });
    for (const count of [0, 1, 2]) {
      await (await fetch(api + path, withCount(count))).text();
    }
    expect(client.only).toMatchObject({ attempts: 3, text: '{"calls":3}', status: 200 });
    expect(client.only.ends).toHaveLength(3);
  });

  test("after a failed connection belong to one run", async () => {
    const client = new ExchangeCollector();
    let calls = 0;
    const fetch = tracedFetch(
      async () => {
        calls += 1;
        if (calls === 1) {
          throw new TypeError("fetch failed");
        }
        return new Response("ok");
      },
      { client },
    );
    const url = `http://localhost${path}`;
    await expect(fetch(url, withCount(0))).rejects.toThrow("fetch failed");
    await (await fetch(url, withCount(1))).text();
    expect(client.only).toMatchObject({ attempts: 2, text: "ok" });
  });

  test("with the same options object belong to one run, if the attempt before failed", async () => {
    const statuses = [429, 200, 200];
    const client = new ExchangeCollector();
    const fetch = tracedFetch(async () => new Response("{}", { status: statuses.shift()! }), {
      client,
    });
    const init = post();
    for (let call = 0; call < 3; call++) {
      await (await fetch(`http://localhost${path}`, init)).text();
    }
    expect(client.exchanges.map(({ attempts }) => attempts)).toEqual([2, 1]);
  });

  test("do not end with what becomes of the response of an earlier one", async () => {
    const responses: Response[] = [];
    const statuses = [503, 200];
    const client = new ExchangeCollector();
    const fetch = tracedFetch(async () => new Response("body", { status: statuses.shift()! }), {
      client,
    });
    responses.push(await fetch(`http://localhost${path}`, withCount(0)));
    const last = await fetch(`http://localhost${path}`, withCount(1));
    await expect(responses[0]!.text()).resolves.toBe("body");
    expect(client.only).toMatchObject({ attempts: 2, text: "", ends: [] });
    await last.text();
    expect(client.only).toMatchObject({ text: "body", ends: [{ ending: "complete" }] });
  });

  test("of different calls are kept apart", async () => {
    const client = new ExchangeCollector();
    const statuses = [500, 500, 200, 200];
    const fetch = tracedFetch(async () => new Response("{}", { status: statuses.shift()! }), {
      client,
    });
    const url = `http://localhost${path}`;
    await fetch(url, withCount(0, '"one"'));
    await fetch(url, withCount(0, '"two"'));
    await fetch(url, withCount(1, '"two"'));
    await fetch(url, withCount(1, '"one"'));
    expect(client.exchanges.map(({ options, attempts }) => [options.request, attempts])).toEqual([
      ['"one"', 2],
      ['"two"', 2],
    ]);
    await fetch(`http://localhost${path}`, withCount(3, '"one"')).catch(() => undefined);
    expect(client.exchanges).toHaveLength(3);
  });
});

describe("wrapping", () => {
  test("twice is wrapping once", () => {
    const fetch = tracedFetch(async () => new Response());
    expect(tracedFetch(fetch)).toBe(fetch);
  });

  test("looks up the global fetch at the call, also if it is the traced one", async () => {
    const api = await startApi(json({ from: "server" }));
    const client = new ExchangeCollector();
    const fetch = tracedFetch(undefined, { client });
    vi.stubGlobal("fetch", fetch);
    await expect((await globalThis.fetch(api + path, post())).json()).resolves.toEqual({
      from: "server",
    });
    vi.stubGlobal("fetch", async () => new Response("replaced"));
    await expect((await fetch(api + path, post())).text()).resolves.toBe("replaced");
    expect(client.exchanges).toHaveLength(2);
  });

  test("around a function that calls another traced fetch records each call once", async () => {
    const inner = new ExchangeCollector();
    const outer = new ExchangeCollector();
    const innerFetch = tracedFetch(async () => new Response("{}"), { client: inner });
    const fetch = tracedFetch(
      async (...args) => {
        await innerFetch("http://localhost/v1/embeddings", post());
        return innerFetch(...args);
      },
      { client: outer },
    );
    await (await fetch(`http://localhost${path}`, post())).text();
    expect(outer.exchanges.map(({ options }) => options.format)).toEqual(["openai.chat"]);
    expect(inner.exchanges.map(({ options }) => options.format)).toEqual(["openai.embeddings"]);
  });
});

test("a request of a model call that an integration records is passed on, and not recorded", async () => {
  const client = new ExchangeCollector();
  const fetch = tracedFetch(async () => new Response("{}"), { client });
  const call = new RunTree({ client, name: "call", runType: "llm" });
  markModelCall(call);
  await withRun(call, () => fetch(`http://localhost${path}`, post()));
  expect(client.exchanges).toEqual([]);
  const tool = call.startChild({ name: "tool" });
  await withRun(tool, () => fetch(`http://localhost${path}`, post()));
  expect(client.exchanges).toHaveLength(1);
});

describe("run options", () => {
  test("of the wrapper and of the surrounding functions are combined", async () => {
    const client = new ExchangeCollector();
    const fetch = tracedFetch(async () => new Response("{}"), {
      client,
      name: "default",
      metadata: { team: "a", level: 0 },
    });
    const url = `http://localhost${path}`;
    await withRunOptions({ tags: ["outer"], metadata: { level: 1 } }, async () => {
      await Promise.resolve();
      await fetch(url, post());
      await withRunOptions({ name: "inner", tags: ["inner"], metadata: { level: 2 } }, () =>
        fetch(url, post()),
      );
    });
    await fetch(url, post());
    expect(
      client.exchanges.map(({ options: { name, tags, metadata } }) => ({ name, tags, metadata })),
    ).toEqual([
      { name: "default", tags: ["outer"], metadata: { team: "a", level: 1 } },
      { name: "inner", tags: ["outer", "inner"], metadata: { team: "a", level: 2 } },
      { name: "default", tags: undefined, metadata: { team: "a", level: 0 } },
    ]);
  });

  test.each([
    [{ tags: "nightly" }, "The option tags of withRunOptions must be a list of strings."],
    [{ metadata: 1 }, "The option metadata of withRunOptions must be an object."],
    [{ name: 1 }, "The option name of withRunOptions must be a string."],
    [undefined, "The options of withRunOptions must be an object."],
  ])("with the value %j are refused", (options, message) => {
    expect(() => withRunOptions(options as object, () => 1)).toThrow(message);
  });

  test("that are unknown are refused", () => {
    expect(() => withRunOptions({ title: "x" } as object, () => 1)).toThrow(
      'withRunOptions has no option "title". Its options are name, tags, metadata.',
    );
  });
});
