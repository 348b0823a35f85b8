import { AsyncLocalStorage } from "node:async_hooks";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import type { Context, ContextManager } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { assert, expect, onTestFinished, test } from "vitest";
import { wrapAnthropic } from "../../src/integrations/anthropic/index.ts";
import { isRecordedSpan } from "../../src/integrations/recorded-spans.ts";
import { messageText, replyAsAnthropic } from "../support/anthropic-replies.ts";
import { startModelApi } from "../support/fake-model-api.ts";
import type { FakeModelApi } from "../support/fake-model-api.ts";
import { eventNamesOf, storeRuns } from "./stored-runs.ts";
import type { StoredRuns } from "./stored-runs.ts";

interface Setup extends StoredRuns {
  readonly api: FakeModelApi;
  /** A client that is not recorded. */
  readonly bare: Anthropic;
  readonly wrapped: Anthropic;
}

async function setUp(): Promise<Setup> {
  const api = await startModelApi(replyAsAnthropic);
  const options = { apiKey: "sk-secret", baseURL: api.url, maxRetries: 0 };
  const stored = await storeRuns();
  return {
    ...stored,
    api,
    bare: new Anthropic(options),
    wrapped: wrapAnthropic(new Anthropic(options), { client: stored.client }),
  };
}

const request = {
  model: "claude-next",
  max_tokens: 100,
  system: "Be brief.",
  messages: [{ role: "user", content: "Where is the horse?" }],
} satisfies Anthropic.MessageCreateParamsNonStreaming;

const usage = {
  input_tokens: 3_210,
  output_tokens: 40,
  total_tokens: 3_250,
  input_token_details: { cache_read: 3_000, cache_creation: 200 },
};

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) {
    collected.push(item);
  }
  return collected;
}

test("a message is recorded as request and response; cached tokens are within the input, once", async () => {
  const { bare, wrapped, readOnly } = await setUp();
  const message = await wrapped.messages.create(request);
  expect(message).toEqual(await bare.messages.create(request));
  const { _request_id: _id, ...response } = message;
  const run = await readOnly();
  expect(run).toMatchObject({
    name: "ChatAnthropic",
    runType: "llm",
    status: "success",
    inputs: request,
    outputs: { ...response, usage_metadata: usage },
    promptTokens: 3_210,
    completionTokens: 40,
    totalTokens: 3_250,
  });
  expect(run.extra?.metadata).toMatchObject({
    ls_provider: "anthropic",
    ls_model_name: "claude-next",
    ls_max_tokens: 100,
  });
  expect(JSON.stringify(run)).not.toContain("sk-secret");
});

test("a stream is recorded as the message that it adds up to, and the caller's events are the same", async () => {
  const { bare, wrapped, read } = await setUp();
  const tools = [{ name: "look", input_schema: { type: "object" as const } }];
  const streamed = { ...request, tools, stream: true } as const;
  expect(await collect(await wrapped.messages.create(streamed))).toEqual(
    await collect(await bare.messages.create(streamed)),
  );
  const whole = await bare.messages.create({ ...request, tools });
  const [run] = await read();
  assert(run !== undefined);
  expect(run.outputs).toEqual({
    ...JSON.parse(JSON.stringify(whole)),
    usage_metadata: usage,
  });
  expect(run.extra?.metadata).not.toHaveProperty("millrace_exchange_warnings");
  expect(eventNamesOf(run)).toContain("new_token");
});

test("helpers, beta and responses are as without recording, with one run for each request", async () => {
  const { api, bare, wrapped, read } = await setUp();
  const use = async (anthropic: Anthropic) => {
    const texts: string[] = [];
    const stream = anthropic.messages.stream(request).on("text", (text) => texts.push(text));
    const final = await stream.finalMessage();
    const { data, response } = await anthropic.messages.create(request).withResponse();
    const raw = await anthropic.messages.create(request).asResponse();
    const inputs: unknown[] = [];
    const tool = betaTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object", properties: {} },
      run: (input) => {
        inputs.push(input);
        return "fine";
      },
    });
    const runner = anthropic.beta.messages.toolRunner({ ...request, tools: [tool] });
    const answer = await runner.runUntilDone();
    const beta = await collect(await anthropic.beta.messages.create({ ...request, stream: true }));
    const posted = await anthropic.post("/v1/messages", { body: request });
    return {
      texts,
      final,
      data,
      isResponse: response instanceof Response,
      raw: await raw.json(),
      inputs,
      answer,
      beta,
      posted,
    };
  };
  expect(await use(wrapped)).toEqual(await use(bare));
  const runs = await read();
  expect(runs.map(({ name, status }) => [name, status])).toEqual(
    Array.from({ length: api.requests.length / 2 }, () => ["ChatAnthropic", "success"]),
  );
  expect(runs).toHaveLength(7);
});

test("a wrapped client is the same object; its copies are recorded, and wrapping twice is wrapping once", async () => {
  const { client, wrapped, readOnly } = await setUp();
  class OwnClient extends Anthropic {
    readonly own = true;
  }
  const own = new OwnClient({ apiKey: "k" });
  expect(wrapAnthropic(own, { client })).toBe(own);
  expect(own).toBeInstanceOf(Anthropic);
  expect(wrapAnthropic(wrapAnthropic(wrapped, { client }), { client })).toBe(wrapped);
  const copy = wrapped.withOptions({ timeout: 10_000 });
  expect(copy).toBeInstanceOf(Anthropic);
  await wrapAnthropic(copy, { client }).messages.create(request);
  await expect(readOnly()).resolves.toMatchObject({ name: "ChatAnthropic" });
});

test("break, abort, errors inside the stream, errors of the API and timeouts end the run with what was received", async () => {
  const { api, bare, wrapped, read } = await setUp();
  const slow = { ...request, model: "slow", stream: true } as const;
  let events = 0;
  for await (const _event of await wrapped.messages.create(slow)) {
    events += 1;
    if (events === 5) {
      break;
    }
  }
  await expect.poll(() => api.closedEarly).toBe(1);
  const stream = wrapped.messages.stream({ ...request, model: "slow" });
  stream.on("streamEvent", () => {
    events += 1;
    if (events === 10) {
      stream.abort();
    }
  });
  await expect(stream.done()).rejects.toThrow("aborted");
  const errorOf = async (anthropic: Anthropic, model: string) => {
    try {
      const answer = await anthropic.messages.create(
        { ...request, model, stream: true },
        { timeout: model === "hangs" ? 200 : 30_000 },
      );
      return await collect(answer);
    } catch (error) {
      const { message, status } = error as Error & { readonly status?: number };
      return { name: (error as object).constructor.name, message, status };
    }
  };
  for (const model of ["breaks", "overloaded", "hangs"]) {
    expect(await errorOf(wrapped, model)).toEqual(await errorOf(bare, model));
  }
  const runs = await read();
  const content = [{ type: "thinking", thinking: expect.stringMatching(/^Let/) as string }];
  expect(runs).toMatchObject([
    { status: "success", outputs: { content }, extra: { metadata: { millrace_cancelled: true } } },
    { status: "success", outputs: { content }, extra: { metadata: { millrace_cancelled: true } } },
    { status: "error", error: "Overloaded (overloaded_error)", outputs: { content: [{}, {}] } },
    { status: "error", error: "529 Overloaded (overloaded_error)" },
    { status: "error", error: expect.stringMatching(/^AbortError/) as string },
  ]);
  const partial = runs[2]?.outputs?.["content"] as readonly { readonly text?: string }[];
  expect(messageText.startsWith(partial[1]?.text ?? "-")).toBe(true);
});

/** Keeps the context over asynchronous calls, as the context manager of OpenTelemetry's package for Node does. */
class LocalStorageContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active = (): Context => this.#storage.getStore() ?? ROOT_CONTEXT;
  with: ContextManager["with"] = (active, fn, thisArg, ...args) =>
    this.#storage.run(active, () => fn.call(thisArg as never, ...args));
  bind: ContextManager["bind"] = (_context, target) => target;
  enable = (): this => this;
  disable = (): this => this;
}

test("the spans of Anthropic's own OpenTelemetry are kept, and marked as recorded by the wrapper", async () => {
  const exporter = new InMemorySpanExporter();
  const ended: ReadableSpan[] = [];
  const provider = new BasicTracerProvider({
    spanProcessors: [
      new SimpleSpanProcessor(exporter),
      {
        onStart: () => undefined,
        onEnd: (span) => ended.push(span),
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      },
    ],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new LocalStorageContextManager());
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  const { bare, wrapped, readOnly } = await setUp();
  await trace.getTracer("app").startActiveSpan("app", async (span) => {
    await wrapped.messages.stream(request).finalMessage();
    await bare.messages.create(request);
    span.end();
  });
  expect(exporter.getFinishedSpans()).toHaveLength(3);
  expect(ended.map((span) => [span.name, isRecordedSpan(span)])).toEqual([
    [expect.stringContaining("messages"), true],
    [expect.stringContaining("messages"), false],
    ["app", false],
  ]);
  await expect(readOnly()).resolves.toMatchObject({ status: "success" });
});

test("what is no client is refused with a sentence", () => {
  expect(() => wrapAnthropic({} as never)).toThrow(
    "wrapAnthropic expects a client such as new Anthropic() as its first argument.",
  );
});
