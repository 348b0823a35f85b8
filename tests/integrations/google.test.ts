import { GoogleGenAI } from "@google/genai";
import type { GoogleGenAIOptions } from "@google/genai";
import { expect, test } from "vitest";
import { geminiOptions, withRunOptions } from "../../src/integrations/google/index.ts";
import { startModelApi, toDataEvents } from "../support/fake-model-api.ts";
import type { FakeModelApi, ModelReply, ModelRequest } from "../support/fake-model-api.ts";
import { eventNamesOf, storeRuns } from "./stored-runs.ts";
import type { StoredRuns } from "./stored-runs.ts";

const usageMetadata = {
  promptTokenCount: 11,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 5,
  totalTokenCount: 23,
};
const usage = {
  input_tokens: 11,
  output_tokens: 12,
  total_tokens: 23,
  input_token_details: { cache_read: 4 },
  output_token_details: { reasoning: 5 },
};

const responseOf = (parts: readonly object[], members: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...members }],
  modelVersion: "gemini-2.5-flash",
  responseId: "r1",
});

/** The responses of a stream, whose texts are cut in the middle of characters. */
const responses = [
  responseOf([{ text: "Let me see", thought: true }]),
  responseOf([{ text: "Grüße \uD83D" }]),
  responseOf([{ text: "\uDC0E, und so weiter" }]),
  responseOf([{ functionCall: { name: "look", args: { at: "Zürich" } } }]),
  {
    ...responseOf([{ functionCall: { name: "look", args: { at: "Bern" } } }], {
      finishReason: "STOP",
    }),
    usageMetadata,
  },
];

const parts = [
  { text: "Let me see", thought: true },
  { text: "Grüße 🐎, und so weiter" },
  { functionCall: { name: "look", args: { at: "Zürich" } } },
  { functionCall: { name: "look", args: { at: "Bern" } } },
];

/** Answers a request as Gemini's API does. The name of the model says what to do instead. */
function replyAsGoogle({ path }: ModelRequest): ModelReply | undefined {
  if (path.includes("/models/hangs:")) {
    return undefined;
  }
  if (path.includes("/models/fails:")) {
    return {
      status: 429,
      body: { error: { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" } },
    };
  }
  if (path.includes("mbedContent")) {
    return { body: { embeddings: [{ values: Array.from({ length: 768 }, () => 0.5) }] } };
  }
  if (path.includes(":streamGenerateContent")) {
    const isSlow = path.includes("/models/slow:");
    return {
      body: toDataEvents(isSlow ? responses.slice(0, 3) : responses, ""),
      isHeld: isSlow,
    };
  }
  return { body: { ...responseOf(parts, { finishReason: "STOP" }), usageMetadata } };
}

interface Setup extends StoredRuns {
  readonly api: FakeModelApi;
  /** A client that is not recorded. */
  readonly bare: GoogleGenAI;
  readonly wrapped: GoogleGenAI;
}

async function setUp(): Promise<Setup> {
  const api = await startModelApi(replyAsGoogle);
  const options: GoogleGenAIOptions = { apiKey: "secret-key", httpOptions: { baseUrl: api.url } };
  const stored = await storeRuns();
  return {
    ...stored,
    api,
    bare: new GoogleGenAI(options),
    wrapped: new GoogleGenAI(geminiOptions(options, { client: stored.client })),
  };
}

const request = {
  model: "gemini-2.5-flash",
  contents: "Where is the horse?",
  config: { systemInstruction: "Be brief.", temperature: 0.5, maxOutputTokens: 9 },
};

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) {
    collected.push(item);
  }
  return collected;
}

/** A response without the headers, of which the date differs. */
const withoutHeaders = (response: object): unknown => ({ ...response, sdkHttpResponse: undefined });

test("a call is recorded as request and response, with thoughts as output tokens and no key", async () => {
  const { bare, wrapped, readOnly } = await setUp();
  const response = await withRunOptions({ tags: ["t"] }, () =>
    wrapped.models.generateContent(request),
  );
  expect(withoutHeaders(response)).toEqual(
    withoutHeaders(await bare.models.generateContent(request)),
  );
  const run = await readOnly();
  expect(run).toMatchObject({
    name: "ChatGoogleGenerativeAI",
    runType: "llm",
    status: "success",
    tags: ["t"],
    inputs: {
      contents: [{ role: "user", parts: [{ text: "Where is the horse?" }] }],
      systemInstruction: { parts: [{ text: "Be brief." }] },
      generationConfig: { temperature: 0.5, maxOutputTokens: 9 },
    },
    outputs: { candidates: [{ content: { parts } }], usage_metadata: usage },
    promptTokens: 11,
    completionTokens: 12,
    totalTokens: 23,
  });
  expect(run.extra?.metadata).toMatchObject({
    ls_provider: "google",
    ls_model_name: "gemini-2.5-flash",
    ls_temperature: 0.5,
    ls_max_tokens: 9,
  });
  expect(JSON.stringify(run)).not.toContain("secret-key");
});

test("a message of a chat is one run, joined to one response; the caller's parts are the same", async () => {
  const { bare, wrapped, readOnly } = await setUp();
  const use = async (genai: GoogleGenAI) => {
    const chat = genai.chats.create({ model: "gemini-2.5-flash" });
    const stream = await chat.sendMessageStream({ message: "Where is the horse?" });
    const received = (await collect(stream)).map(withoutHeaders);
    return { received, history: chat.getHistory() };
  };
  expect(await use(wrapped)).toEqual(await use(bare));
  const run = await readOnly();
  expect(run).toMatchObject({
    status: "success",
    outputs: {
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
      usage_metadata: usage,
    },
  });
  expect(run.extra?.metadata).not.toHaveProperty("millrace_exchange_warnings");
  expect(eventNamesOf(run)).toContain("new_token");
});

test("break, abort, errors and timeouts end the run with what was received", async () => {
  const { api, bare, wrapped, read } = await setUp();
  const slow = { ...request, model: "slow" };
  for await (const _response of await wrapped.models.generateContentStream(slow)) {
    break;
  }
  const controller = new AbortController();
  const config = { abortSignal: controller.signal };
  const stream = await wrapped.models.generateContentStream({ ...slow, config });
  const received: unknown[] = [];
  const leave = async () => {
    for await (const response of stream) {
      received.push(response);
      controller.abort();
    }
  };
  await expect(leave()).rejects.toThrow("abort");
  const errorOf = async (genai: GoogleGenAI, model: string) => {
    try {
      return await genai.models.generateContent({
        model,
        contents: "Hi",
        config: { httpOptions: { timeout: model === "hangs" ? 200 : 30_000 } },
      });
    } catch (error) {
      const { name, message, status } = error as Error & { readonly status?: number };
      return { name, message, status };
    }
  };
  for (const model of ["fails", "hangs"]) {
    expect(await errorOf(wrapped, model)).toEqual(await errorOf(bare, model));
  }
  expect(api.requests).toHaveLength(6);
  const runs = await read();
  const thought = { text: "Let me see", thought: true };
  const begun = { candidates: [{ content: { parts: [thought] } }] };
  expect(runs.map(({ status }) => status)).toEqual(["success", "success", "error", "error"]);
  expect(runs[0]?.outputs).toMatchObject({ candidates: [{ content: { role: "model" } }] });
  expect(runs[1]).toMatchObject({
    outputs: begun,
    extra: { metadata: { millrace_cancelled: true } },
  });
  expect(runs[2]?.error).toBe("429 Quota exceeded (RESOURCE_EXHAUSTED)");
  expect(runs[3]?.error).toMatch(/^AbortError/);
});

test("embeddings are counted", async () => {
  const { bare, wrapped, readOnly } = await setUp();
  const embed = { model: "text-embedding-004", contents: ["a"] };
  expect(withoutHeaders(await wrapped.models.embedContent(embed))).toEqual(
    withoutHeaders(await bare.models.embedContent(embed)),
  );
  const run = await readOnly();
  expect(run).toMatchObject({
    name: "GoogleGenerativeAIEmbeddings",
    runType: "embedding",
    outputs: { embeddings: [{ values: "[768 numbers, not recorded]" }] },
  });
  expect(run.extra?.metadata).toMatchObject({ ls_model_name: "text-embedding-004" });
});

test("options that were made twice record one run, and keep what the program had set", async () => {
  const { api, client, readOnly } = await setUp();
  const sent: RequestInit[] = [];
  const own: typeof fetch = (input, init) => {
    sent.push(init ?? {});
    return fetch(input, init);
  };
  const options = {
    apiKey: "k",
    httpOptions: { baseUrl: api.url, headers: { a: "b" }, fetch: own },
  };
  const made = geminiOptions(geminiOptions(options, { client }), { client });
  expect(made).toEqual({
    ...options,
    httpOptions: { ...options.httpOptions, fetch: expect.any(Function) as unknown },
  });
  expect(options.httpOptions.fetch).toBe(own);
  await new GoogleGenAI(made).models.generateContent(request);
  expect(sent).toHaveLength(1);
  await expect(readOnly()).resolves.toMatchObject({ status: "success" });
});

test("requests have no timeouts of undici, as without recording", async () => {
  const { api, client } = await setUp();
  const sent: (readonly [url: string, init: object])[] = [];
  const original = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    sent.push([String(input instanceof Request ? input.url : input), init ?? {}]);
    return original(input, init);
  };
  try {
    const options = { apiKey: "k", httpOptions: { baseUrl: api.url } };
    await new GoogleGenAI(options).models.generateContent(request);
    await new GoogleGenAI(geminiOptions(options, { client })).models.generateContent(request);
  } finally {
    globalThis.fetch = original;
  }
  const timeouts = sent.map(([, init]) => {
    const seen: object[] = [];
    const symbol = Symbol.for("undici.globalDispatcher.1");
    const known: unknown = Reflect.get(globalThis, symbol);
    Reflect.set(globalThis, symbol, { dispatch: (options: object) => seen.push(options) > 0 });
    (init as { dispatcher: { dispatch(options: object): void } }).dispatcher.dispatch({
      path: "/",
    });
    Reflect.set(globalThis, symbol, known);
    return seen;
  });
  const expected = [{ path: "/", headersTimeout: 0, bodyTimeout: 0 }];
  expect(timeouts).toEqual([expected, expected]);
});

test("what are no options is refused with a sentence", () => {
  expect(() => geminiOptions(undefined as never)).toThrow(
    "geminiOptions expects the options of GoogleGenAI as its first argument",
  );
  expect(() => geminiOptions({}, { tags: [] } as never)).toThrow(
    'geminiOptions has no option "tags". Its options are client, name, metadata.',
  );
});
