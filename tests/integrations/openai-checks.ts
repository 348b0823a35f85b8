import type { AzureOpenAI, OpenAI } from "openai";
import { describe, expect, test } from "vitest";
import { withRunOptions, wrapOpenAI } from "../../src/integrations/openai/index.ts";
import { RunTree, withRun } from "../../src/main/index.ts";
import { startModelApi } from "../support/fake-model-api.ts";
import type { FakeModelApi } from "../support/fake-model-api.ts";
import { answerText, replyAsOpenAi } from "../support/openai-replies.ts";
import { eventNamesOf, storeRuns, warningsOf } from "./stored-runs.ts";
import type { StoredRuns } from "./stored-runs.ts";

/** The classes of one version of the package `openai`. */
export interface OpenAiLibrary {
  readonly OpenAI: typeof OpenAI;
  readonly AzureOpenAI: typeof AzureOpenAI;
}

interface Setup extends StoredRuns {
  readonly api: FakeModelApi;
  /** A client that is not recorded. */
  readonly bare: OpenAI;
  readonly wrapped: OpenAI;
}

const messages = [{ role: "user", content: "Where is the horse?" }] as const;
const request = { model: "gpt-4o", messages: [...messages] };
const jsonSchema = {
  type: "json_schema",
  json_schema: { name: "answer", schema: { type: "object" }, strict: true },
} as const;

const toolNames = ["getWeather", "getTime"] as const;
const tools = toolNames.map((name) => ({
  type: "function" as const,
  function: { name, parameters: { type: "object" } },
}));

const toolCalls = [
  {
    id: "call_a",
    type: "function",
    function: { name: "getWeather", arguments: '{"city":"Zürich","days":2}' },
  },
  { id: "call_b", type: "function", function: { name: "getTime", arguments: '{"zone":"CET"}' } },
];

const usage = {
  input_tokens: 11,
  output_tokens: 7,
  total_tokens: 18,
  input_token_details: { cache_read: 4 },
  output_token_details: { reasoning: 2 },
};

interface PartialChoice {
  readonly message: { readonly content: string };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) {
    collected.push(item);
  }
  return collected;
}

/** Waits until the API has seen a number of responses that were closed before their end. */
const closed = (api: FakeModelApi, count: number): Promise<void> =>
  expect.poll(() => api.closedEarly).toBe(count);

/** The checks of `wrapOpenAI`, for one version of the package. */
export function describeOpenAi(title: string, { OpenAI, AzureOpenAI }: OpenAiLibrary): void {
  const setUp = async (): Promise<Setup> => {
    const api = await startModelApi(replyAsOpenAi);
    const options = { apiKey: "sk-secret", baseURL: `${api.url}/v1`, maxRetries: 0 };
    const stored = await storeRuns();
    return {
      ...stored,
      api,
      bare: new OpenAI(options),
      wrapped: wrapOpenAI(new OpenAI(options), { client: stored.client }),
    };
  };

  describe(`wrapOpenAI with ${title}`, () => {
    test("without an own client, the current run's records, with what it hides", async () => {
      const { api, client, read } = await setUp();
      const hiding = await storeRuns({ hideInputs: true, hideOutputs: true });
      const wrapped = wrapOpenAI(
        new OpenAI({ apiKey: "k", baseURL: `${api.url}/v1`, maxRetries: 0 }),
      );
      const run = hiding.client.startRun({ name: "ask" });
      await withRun(run, () => wrapped.chat.completions.create(request));
      run.end();
      await client.flush();
      await expect(read()).rejects.toThrow("not found");
      expect(await hiding.read()).toMatchObject([
        { name: "ask" },
        { runType: "llm", parentRunId: run.id, inputs: {}, outputs: {} },
      ]);
    });

    test("a wrapped client is the same object, with all that a client has", async () => {
      const { api, client, bare, wrapped, read } = await setUp();
      class OwnClient extends OpenAI {
        readonly #secret = 7;
        readSecret = () => this.#secret;
      }
      const own = new OwnClient({ apiKey: "k", baseURL: `${api.url}/v1` });
      expect(wrapOpenAI(own, { client })).toBe(own);
      expect(own).toBeInstanceOf(OpenAI);
      expect(own.readSecret()).toBe(7);
      expect(Object.keys(wrapped)).toEqual(Object.keys(bare));
      const copy = wrapped.withOptions({ maxRetries: 1 });
      expect(copy).toBeInstanceOf(OpenAI);
      expect(copy.maxRetries).toBe(1);
      await copy.chat.completions.create(request);
      expect(await wrapped.post("/chat/completions", { body: request })).toEqual(
        await bare.post("/chat/completions", { body: request }),
      );
      await expect(wrapped.models.list()).resolves.toMatchObject({ data: [{ id: "gpt-4o" }] });
      const runs = await read();
      expect(runs.map(({ name, status }) => ({ name, status }))).toEqual([
        { name: "ChatOpenAI", status: "success" },
        { name: "ChatOpenAI", status: "success" },
      ]);
    });

    test("withResponse, asResponse and tee give what they give without recording", async () => {
      const { bare, wrapped, read } = await setUp();
      const use = async (openai: OpenAI) => {
        const { data, response, request_id } = await openai.chat.completions
          .create(request)
          .withResponse();
        const raw = await openai.chat.completions.create(request).asResponse();
        const stream = await openai.chat.completions.create({ ...request, stream: true });
        const [left, right] = stream.tee();
        const controller = stream.controller instanceof AbortController;
        return {
          data,
          request_id,
          isResponse: response instanceof Response && raw instanceof Response,
          url: response.url,
          status: response.status,
          type: response.headers.get("content-type"),
          raw: await raw.json(),
          teed: await Promise.all([collect(left), collect(right)]),
          controller,
        };
      };
      expect(await use(wrapped)).toEqual(await use(bare));
      const runs = await read();
      expect(runs.map(({ status, error }) => ({ status, error }))).toEqual(
        Array.from({ length: 3 }, () => ({ status: "success", error: undefined })),
      );
      expect(runs.map(warningsOf)).toEqual([undefined, undefined, undefined]);
    });

    test("a completion is recorded as request and response, below the current run, without secrets", async () => {
      const { client, wrapped, read } = await setUp();
      const parent = new RunTree({ client, name: "agent" });
      const completion = await withRun(parent, () =>
        withRunOptions({ name: "ask", tags: ["t"], metadata: { user: "u" } }, () =>
          wrapped.chat.completions.create({ ...request, temperature: 0.5, max_tokens: 9 }),
        ),
      );
      parent.end();
      const [, run] = await read();
      const { _request_id: _id, ...response } = completion;
      expect(run).toMatchObject({
        name: "ask",
        runType: "llm",
        parentRunId: parent.id,
        traceId: parent.id,
        status: "success",
        inputs: { ...request, temperature: 0.5, max_tokens: 9 },
        outputs: { ...response, usage_metadata: usage },
        tags: ["t"],
      });
      expect(run?.extra?.metadata).toMatchObject({
        user: "u",
        ls_provider: "openai",
        ls_model_type: "chat",
        ls_model_name: "gpt-4o-2024-08-06",
        ls_temperature: 0.5,
        ls_max_tokens: 9,
      });
      expect(run).toMatchObject({ promptTokens: 11, completionTokens: 7, totalTokens: 18 });
      expect(JSON.stringify(run)).not.toContain("sk-secret");
    });

    test("two parallel tool calls of a stream are recorded as two, with their exact arguments", async () => {
      const { bare, wrapped, readOnly } = await setUp();
      const streamed = { ...request, tools, stream: true } as const;
      const chunks = await collect(await wrapped.chat.completions.create(streamed));
      expect(chunks).toEqual(await collect(await bare.chat.completions.create(streamed)));
      const run = await readOnly();
      expect(run.outputs).toMatchObject({
        object: "chat.completion",
        choices: [
          {
            message: { role: "assistant", content: null, tool_calls: toolCalls },
            finish_reason: "tool_calls",
          },
        ],
      });
      expect(eventNamesOf(run)).toContain("new_token");
    });

    test("the caller's chunks are as without recording, and the request's body is never altered", async () => {
      const { api, bare, wrapped, read } = await setUp();
      const plain = { ...request, stream: true } as const;
      const counted = { ...plain, stream_options: { include_usage: true } } as const;
      for (const streamed of [plain, counted]) {
        const chunks = await collect(await wrapped.chat.completions.create(streamed));
        expect(chunks).toEqual(await collect(await bare.chat.completions.create(streamed)));
      }
      const sent = api.requests.map(({ text }) => text);
      expect(sent[0]).toBe(sent[1]);
      expect(sent[2]).toBe(sent[3]);
      expect(JSON.parse(sent[0] ?? "")).toEqual(plain);
      const [withoutUsage, withUsage] = await read();
      expect(withoutUsage?.outputs).not.toHaveProperty("usage_metadata");
      expect(withUsage?.outputs).toMatchObject({
        choices: [{ message: { content: answerText } }],
        usage_metadata: usage,
      });
    });

    test("parse, stream, runTools and responses.stream each record one run for each request", async () => {
      const { api, bare, wrapped, read } = await setUp();
      const use = async (openai: OpenAI) => {
        const parsed = await openai.chat.completions.parse({
          ...request,
          response_format: jsonSchema,
        });
        const contents: string[] = [];
        const stream = openai.chat.completions
          .stream(request)
          .on("content", (piece) => contents.push(piece));
        const content = await stream.finalContent();
        const calls: unknown[] = [];
        const runnable = toolNames.map((name) => ({
          type: "function" as const,
          function: {
            name,
            description: name,
            parameters: { type: "object" },
            parse: (text: string) => JSON.parse(text) as object,
            function: (args: object) => {
              calls.push([name, args]);
              return "fine";
            },
          },
        }));
        const runner = openai.chat.completions.runTools({ ...request, tools: runnable });
        const final = await runner.finalContent();
        const streamingRunner = openai.chat.completions.runTools({
          ...request,
          tools: runnable,
          stream: true,
        });
        const streamedFinal = await streamingRunner.finalContent();
        const events: string[] = [];
        const responses = openai.responses.stream({ model: "gpt-5", input: "Where?" });
        responses.on("event", ({ type }) => events.push(type));
        const response = await responses.finalResponse();
        const created = await openai.responses.parse({
          model: "gpt-5",
          input: "Where?",
          text: { format: { type: "json_schema", name: "a", schema: { type: "object" } } },
        });
        return {
          parsed: parsed.choices[0]?.message.parsed,
          contents,
          content,
          calls,
          final,
          streamedFinal,
          events,
          response,
          created: created.output_parsed,
        };
      };
      expect(await use(wrapped)).toEqual(await use(bare));
      const runs = await read();
      expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "success"));
      // One for `parse`, one for `stream`, two for each `runTools`, and two responses: half of the requests are recorded.
      expect(runs).toHaveLength(8);
      expect(api.requests).toHaveLength(16);
      expect(runs.map(warningsOf)).toEqual(runs.map(() => undefined));
      expect(runs[2]?.outputs).toMatchObject({ choices: [{ message: { tool_calls: toolCalls } }] });
      expect(runs[6]).toMatchObject({
        inputs: { model: "gpt-5", input: "Where?" },
        outputs: {
          object: "response",
          output: [{ type: "reasoning" }, { content: [{ text: answerText }] }],
          usage_metadata: usage,
        },
      });
    });

    test("a stream that is left by break or aborted ends its run with what was received", async () => {
      const { api, wrapped, read } = await setUp();
      const slow = { ...request, model: "slow", stream: true } as const;
      let count = 0;
      for await (const chunk of await wrapped.chat.completions.create(slow)) {
        count += chunk.choices.length;
        if (count === 3) {
          break;
        }
      }
      await closed(api, 1);
      const controller = new AbortController();
      const stream = await wrapped.chat.completions.create(slow, { signal: controller.signal });
      count = 0;
      for await (const chunk of stream) {
        count += chunk.choices.length;
        if (count === 3) {
          controller.abort();
        }
      }
      await closed(api, 2);
      const runs = await read();
      expect(runs).toHaveLength(2);
      for (const run of runs) {
        expect(run.outputs).toMatchObject({ choices: [{ message: { role: "assistant" } }] });
        const [choice] = (run.outputs ?? {})["choices"] as readonly PartialChoice[];
        expect(choice?.message.content).not.toBe("");
        expect(answerText.startsWith(choice?.message.content ?? "-")).toBe(true);
        expect(run.endTime).toBeDefined();
        // The loop of the program ends without an error, in both cases.
        expect(run).toMatchObject({
          status: "success",
          extra: { metadata: { millrace_cancelled: true } },
        });
      }
    });

    test("errors of the API, pages of HTML and timeouts fail the run, and the program sees the same", async () => {
      const { bare, wrapped, read } = await setUp();
      const errorOf = async (openai: OpenAI, model: string) => {
        try {
          const timeout = model === "hangs" ? 200 : 30_000;
          return await openai.chat.completions.create({ ...request, model }, { timeout });
        } catch (error) {
          const { message, status, code, type } = error as Error & Record<string, unknown>;
          return { name: (error as object).constructor.name, message, status, code, type };
        }
      };
      for (const model of ["fails", "html", "hangs"]) {
        expect(await errorOf(wrapped, model)).toEqual(await errorOf(bare, model));
      }
      const [failed, page, hung] = await read();
      expect(failed).toMatchObject({
        status: "error",
        error: "500 It broke (server_error)",
        outputs: { error: { message: "It broke" } },
      });
      expect(page).toMatchObject({
        status: "error",
        error: 'The response with status 200 is not JSON, but an HTML page, "Log in"',
      });
      expect(hung?.status).toBe("error");
      expect(hung?.error).toMatch(/^AbortError/);
    });

    test("retries of the client are attempts of one run", async () => {
      const { api, wrapped, readOnly } = await setUp();
      const retrying = wrapped.withOptions({ maxRetries: 2 });
      await expect(
        retrying.chat.completions.create({ ...request, model: "fails" }),
      ).rejects.toThrow("It broke");
      expect(api.requests).toHaveLength(3);
      const run = await readOnly();
      expect(run.error).toBe("500 It broke (server_error)");
      expect(eventNamesOf(run)).toEqual(["attempt", "attempt", "attempt"]);
      expect(run.events).toMatchObject(
        [1, 2, 3].map((attempt) => ({ kwargs: { attempt, status: 500 } })),
      );
    });

    test("the other calls are recorded in their shapes", async () => {
      const { bare, wrapped, read } = await setUp();
      const use = async (openai: OpenAI) => ({
        completion: await openai.completions.create({ model: "m", prompt: "Say" }),
        streamed: await collect(
          await openai.completions.create({ model: "m", prompt: "Say", stream: true }),
        ),
        embedding: await openai.embeddings.create({ model: "e", input: "Grüße" }),
        image: await openai.images.generate({ model: "i", prompt: "a horse" }),
        transcript: await openai.audio.transcriptions.create({
          model: "whisper-1",
          file: new File(["RIFF"], "a.wav", { type: "audio/wav" }),
        }),
      });
      expect(await use(wrapped)).toEqual(await use(bare));
      const runs = await read();
      expect(runs.map(({ name, runType, status }) => [name, runType, status])).toEqual([
        ["OpenAI", "llm", "success"],
        ["OpenAI", "llm", "success"],
        ["OpenAIEmbeddings", "embedding", "success"],
        ["OpenAIImages", "llm", "success"],
        ["OpenAITranscription", "llm", "success"],
      ]);
      expect(runs[1]?.outputs).toMatchObject({
        choices: [{ text: "Grüße", finish_reason: "stop" }],
      });
      expect(runs[2]).toMatchObject({
        inputs: { input: "Grüße" },
        outputs: {
          data: [{ embedding: "[256 numbers, not recorded]" }],
          usage_metadata: { input_tokens: 5, total_tokens: 5 },
        },
      });
      expect(runs[3]?.outputs).toMatchObject({
        data: [{ b64_json: "[image/png, 6 bytes, not recorded]" }],
      });
      expect(runs[4]).toMatchObject({
        inputs: { model: "whisper-1", file: { filename: "a.wav" } },
        outputs: { text: "Grüße" },
      });
      expect(runs.map(warningsOf)).toEqual(runs.map(() => undefined));
    });

    test("wrapping twice is wrapping once", async () => {
      const { client, wrapped, readOnly } = await setUp();
      expect(wrapOpenAI(wrapOpenAI(wrapped, { client }), { client })).toBe(wrapped);
      const copy = wrapOpenAI(wrapped.withOptions({ timeout: 10_000 }), { client });
      await copy.chat.completions.create(request);
      await expect(readOnly()).resolves.toMatchObject({ name: "ChatOpenAI" });
    });

    test("a client of Azure is recorded with its deployment, and the key in no run", async () => {
      const { api, client, readOnly } = await setUp();
      const azure = wrapOpenAI(
        new AzureOpenAI({
          endpoint: api.url,
          apiKey: "azure-secret",
          apiVersion: "2024-10-21",
          deployment: "my-gpt",
        }),
        { client, metadata: { ls_provider: "azure" } },
      );
      expect(azure).toBeInstanceOf(AzureOpenAI);
      await azure.chat.completions.create({ ...request, model: "" });
      expect(api.requests[0]?.path).toContain("/deployments/my-gpt/chat/completions?api-version=");
      const run = await readOnly();
      expect(run.extra?.metadata).toMatchObject({ ls_provider: "azure" });
      expect(JSON.stringify(run)).not.toContain("azure-secret");
    });

    test("a client of a server at an unusual address is recorded too", async () => {
      const { api, client, readOnly } = await setUp();
      const openai = wrapOpenAI(new OpenAI({ apiKey: "k", baseURL: `${api.url}/models/llama` }), {
        client,
        name: "llama",
      });
      await openai.responses.create({ model: "llama", input: "Where?" });
      await expect(readOnly()).resolves.toMatchObject({
        name: "llama",
        inputs: { input: "Where?" },
      });
    });

    test("what is no client, and unknown options, are refused with a sentence", () => {
      expect(() => wrapOpenAI(undefined as never)).toThrow(
        "wrapOpenAI expects a client such as new OpenAI() as its first argument.",
      );
      expect(() => wrapOpenAI({ chat: {} } as never)).toThrow("wrapOpenAI expects a client");
      const openai = new OpenAI({ apiKey: "k" });
      expect(() => wrapOpenAI(openai, { tags: [] } as never)).toThrow(
        'wrapOpenAI has no option "tags". Its options are client, name, metadata.',
      );
      expect(() => wrapOpenAI(Object.freeze(openai))).toThrow("because it is frozen");
    });
  });
}
