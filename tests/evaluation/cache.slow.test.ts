import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../server/tests/support/running-server.ts";
import { cachedFetch, evaluate } from "../../src/evaluation/index.ts";
import type { CacheMode, EvaluateOptions } from "../../src/evaluation/index.ts";
import { Client } from "../../src/main/index.ts";
import { openClient, settle, toArray } from "./evaluation-setup.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A remote API on loopback. By default each answer is different. */
async function startApi(handle: Handler = answerCount) {
  const requests: { readonly url: string; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      requests.push({ url: request.url ?? "", body: await readText(request) });
      handle(request, response, requests.length);
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests };
}

const answerCount: Handler = (_, response, count) => {
  response.setHeader("content-type", "application/json");
  response.setHeader("x-secret", "header-secret");
  response.end(JSON.stringify({ answer: count }));
};

/** Runs an evaluation of `ask` over two rows, and returns the outputs by row and repetition. */
async function createRunner() {
  const { client, journalDir, url } = await openClient();
  const folder = await temporaryFolder();
  const run = async (
    ask: (question: string, repetition: number) => unknown,
    mode: CacheMode,
    options: Partial<EvaluateOptions<{ question: string }>> = {},
  ) => {
    const result = await evaluate(
      async ({ question }: { question: string }, { repetition }) => ask(question, repetition),
      {
        data: [{ inputs: { question: "a" } }, { inputs: { question: "b" } }],
        cache: { mode, folder },
        client,
        journalDir,
        resume: false,
        ...options,
      },
    );
    const rows = (await toArray(result.readRows())).toSorted((left, right) =>
      [left.inputs.question, left.repetition].join() <
      [right.inputs.question, right.repetition].join()
        ? -1
        : 1,
    );
    return { ...result, list: rows, outputs: rows.map(({ outputs, error }) => error ?? outputs) };
  };
  return { client, url, folder, run };
}

const post = async (url: string, body: unknown): Promise<unknown> => {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return response.json();
};

/** The paths and texts of all files of a cache. */
const readFiles = (folder: string): readonly { readonly path: string; readonly text: string }[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));

describe("record and replay", () => {
  test("a second evaluation makes no request and has the same outputs", async () => {
    const api = await startApi();
    const { folder, run } = await createRunner();
    const ask = (question: string) => post(`${api.url}/ask`, { question });
    const first = await run(ask, "auto");
    expect(first).toMatchObject({
      failed: 0,
      warnings: [],
      cache: { replayed: 0, recorded: 2, passed: 0, missed: 0 },
    });
    expect(api.requests).toHaveLength(2);
    expect(readFiles(folder)).toHaveLength(2);
    for (const mode of ["auto", "replay"] as const) {
      const second = await run(ask, mode);
      expect(second).toMatchObject({
        outputs: first.outputs,
        failed: 0,
        warnings: [],
        cache: { replayed: 2, recorded: 0, passed: 0, missed: 0 },
      });
    }
    expect(api.requests).toHaveLength(2);
  });

  test("repetitions have distinct answers the first time, and the same ones afterwards", async () => {
    const api = await startApi();
    const { run } = await createRunner();
    // The later repetition asks first, so the order of the requests differs from that of the repetitions.
    const ask = async (question: string, repetition: number) => {
      await delay((3 - repetition) * 30);
      return post(api.url, { question });
    };
    const first = await run(ask, "auto", { repetitions: 3 });
    expect(new Set(first.outputs.map((output) => JSON.stringify(output))).size).toBe(6);
    const reversed = async (question: string, repetition: number) => {
      await delay(repetition * 30);
      return post(api.url, { question });
    };
    const second = await run(reversed, "auto", { repetitions: 3, concurrency: 1 });
    expect(second.outputs).toEqual(first.outputs);
    expect(api.requests).toHaveLength(6);
  });

  test("equal requests of one row have an answer each, and rows share the answers to equal requests", async () => {
    const api = await startApi();
    const { run } = await createRunner();
    const ask = async () => [
      await post(api.url, { same: true }),
      await post(api.url, { same: true }),
    ];
    const { outputs } = await run(ask, "auto");
    expect(outputs).toEqual([
      [{ answer: 1 }, { answer: 2 }],
      [{ answer: 1 }, { answer: 2 }],
    ]);
    expect((await run(ask, "replay")).outputs).toEqual(outputs);
    expect(api.requests).toHaveLength(2);
  });

  test("the mode record requests each answer again, once", async () => {
    const api = await startApi();
    const { run, folder } = await createRunner();
    const ask = (question: string) => post(api.url, { question });
    await run(ask, "auto");
    const second = await run(ask, "record");
    expect(new Set(second.outputs)).toEqual(new Set([{ answer: 3 }, { answer: 4 }]));
    expect(api.requests).toHaveLength(4);
    expect(readFiles(folder)).toHaveLength(2);
    expect((await run(ask, "replay")).outputs).toEqual(second.outputs);
  });

  test("a replayed stream arrives in the same pieces", async () => {
    const pieces = ['data: {"text":"Gr', 'üße"}\n\n', "data: [DONE]\n\n"];
    const api = await startApi((_, response) => {
      response.setHeader("content-type", "text/event-stream");
      void (async () => {
        for (const piece of pieces) {
          response.write(piece);
          await delay(20);
        }
        response.end();
      })();
    });
    const { run, folder } = await createRunner();
    const ask = async (question: string) => {
      const response = await fetch(api.url, { method: "POST", body: question });
      const received: string[] = [];
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        received.push(Buffer.from(chunk).toString());
      }
      return { received, type: response.headers.get("content-type") };
    };
    const first = await run(ask, "auto");
    expect(first.outputs[0]).toEqual({ received: pieces, type: "text/event-stream" });
    expect((await run(ask, "replay")).outputs).toEqual(first.outputs);
    expect(JSON.parse(readFiles(folder)[0]?.text ?? "")).toMatchObject({
      response: { body: { chunks: pieces } },
    });
  });

  test("the client of a model that exists before the evaluation is cached with cachedFetch", async () => {
    const api = await startApi((_, response, count) => {
      response.setHeader("content-type", "text/event-stream");
      const chunk = { choices: [{ index: 0, delta: { content: `Answer ${count}` } }] };
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    });
    const openai = new OpenAI({ apiKey: "sk-1", baseURL: api.url, fetch: cachedFetch() });
    const { run } = await createRunner();
    const ask = async (question: string) => {
      const stream = await openai.chat.completions.create({
        model: "m",
        stream: true,
        messages: [{ role: "user", content: question }],
      });
      const parts = await toArray(stream);
      return parts.map(({ choices }) => choices[0]?.delta.content).join("");
    };
    const first = await run(ask, "auto");
    expect(new Set(first.outputs)).toEqual(new Set(["Answer 1", "Answer 2"]));
    expect((await run(ask, "auto")).outputs).toEqual(first.outputs);
    expect(api.requests).toHaveLength(2);
  });

  test("evaluators' requests are recorded too, and those outside of rows are not", async () => {
    const api = await startApi();
    const { run, folder } = await createRunner();
    const judge = async () => Object.keys((await post(api.url, { judge: 1 })) as object).length;
    let isRunning = true;
    const beside = (async () => {
      while (isRunning) {
        await post(`${api.url}/beside`, {});
        await delay(5);
      }
    })();
    const { scores } = await run((question) => question, "auto", { evaluators: [judge] });
    isRunning = false;
    await beside;
    expect(scores["judge"]).toMatchObject({ count: 2, mean: 1 });
    expect(readFiles(folder)).toHaveLength(1);
    expect(api.requests.length).toBeGreaterThan(1);
  });

  test("forms, files, streams and bytes are recognized when they are sent again", async () => {
    const api = await startApi((request, response, count) => {
      response.setHeader("content-type", "application/octet-stream");
      response.end(
        Buffer.from([0xff, count, request.headers["content-type"] === undefined ? 0 : 1]),
      );
    });
    const { run } = await createRunner();
    const ask = async (question: string) => {
      const form = new FormData();
      form.set("question", question);
      form.set("file", new Blob(["content"]), "a.txt");
      const inits: RequestInit[] = [
        { body: form },
        { body: new Blob([question]) },
        { body: new Blob([question]).stream(), duplex: "half" },
        { body: Buffer.from([1, 2, 3, 0xff]) },
      ];
      const answers: unknown[] = [];
      for (const init of inits) {
        const response = await fetch(
          new Request(`${api.url}/${answers.length}`, { method: "POST", ...init }),
        );
        answers.push([...new Uint8Array(await response.arrayBuffer())]);
      }
      return answers;
    };
    const first = await run(ask, "auto", { concurrency: 1 });
    expect(first.outputs[0]).toEqual([
      [0xff, 1, 1],
      [0xff, 2, 0],
      [0xff, 3, 0],
      [0xff, 4, 0],
    ]);
    expect(api.requests.slice(0, 4).map(({ body }) => body)).toEqual([
      expect.stringContaining('name="question"'),
      "a",
      "a",
      expect.any(String),
    ]);
    const count = api.requests.length;
    expect((await run(ask, "auto")).outputs).toEqual(first.outputs);
    expect(api.requests).toHaveLength(count);
  });

  test("a failed answer is not recorded, and when it is repeated it is the same request", async () => {
    const api = await startApi((_, response, count) => {
      response.statusCode = count === 1 ? 429 : 200;
      response.end(`answer ${count}`);
    });
    const { run, folder } = await createRunner();
    const data = [{ inputs: { question: "a" } }];
    const ask = async (question: string) => {
      for (;;) {
        const response = await fetch(api.url, { method: "POST", body: question });
        if (response.ok) {
          return response.text();
        }
        await response.text();
      }
    };
    expect((await run(ask, "auto", { data })).outputs).toEqual(["answer 2"]);
    expect((await run(ask, "auto", { data })).outputs).toEqual(["answer 2"]);
    expect(api.requests).toHaveLength(2);
    expect(readFiles(folder)).toHaveLength(1);
  });
});

describe("files", () => {
  test("they contain text that people can read, and neither headers nor the query", async () => {
    const api = await startApi();
    const { run, folder } = await createRunner();
    const ask = async (question: string) => {
      const headers = { authorization: "Bearer key-secret", "x-other": "other-secret" };
      const url = `${api.url}/ask?key=query-secret&model=m`;
      const init = { method: "POST", headers, body: JSON.stringify({ question }) };
      return (await fetch(url, init)).json();
    };
    await run(ask, "auto");
    const [file] = readFiles(folder);
    expect(file?.text).not.toContain("secret");
    const { host } = new URL(api.url);
    expect(file?.path).toMatch(new RegExp(`${host.replace(":", "-")}/[0-9a-f]{32}-1-1\\.json$`));
    expect(JSON.parse(file?.text ?? "")).toEqual({
      format: 1,
      request: {
        method: "POST",
        url: `${api.url}/ask`,
        repetition: 1,
        occurrence: 1,
        body: { json: { question: expect.any(String) as unknown } },
      },
      response: {
        status: 200,
        contentType: "application/json",
        body: { json: { answer: expect.any(Number) as unknown } },
      },
      digest: expect.any(String) as unknown,
    });
    expect(file?.text).toContain('\n    "status": 200,\n');
  });

  test("another key finds the same answers, and another parameter does not", async () => {
    const api = await startApi();
    const { run } = await createRunner();
    const askWith = (query: string) => (question: string) =>
      post(`${api.url}/ask?${query}`, { question });
    const first = await run(askWith("key=1&model=m"), "auto");
    expect((await run(askWith("key=2&model=m"), "replay")).outputs).toEqual(first.outputs);
    expect((await run(askWith("api_key=2&model=m"), "replay")).outputs).toEqual(first.outputs);
    expect((await run(askWith("key=1&model=n"), "replay")).failed).toBe(2);
  });

  test("the client's redaction rules apply to requests, responses and streams", async () => {
    const { url } = await openClient();
    const rules = ["emails", { name: "pin", keys: ["pin"] }] as const;
    const client = new Client({ endpoint: url, redact: rules });
    onTestFinished(async () => {
      await client.close();
    });
    const api = await startApi((request, response) => {
      const isStream = request.url === "/stream";
      response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
      const json = JSON.stringify({ mail: "bob@example.com", pin: "12345678" });
      response.end(isStream ? `data: ${json}\n\n` : json);
    });
    const { run, folder } = await createRunner();
    const ask = async (question: string) => {
      await fetch(`${api.url}/stream`, { method: "POST", body: question });
      return post(api.url, { from: "ann@example.com", question });
    };
    const first = await run(ask, "auto", { client });
    expect(first.outputs[0]).toEqual({ mail: "bob@example.com", pin: "12345678" });
    for (const { text } of readFiles(folder)) {
      expect(text).not.toMatch(/example\.com|12345678/);
    }
    const second = await run(ask, "replay", { client });
    expect(second.outputs[0]).toEqual({ mail: "[email]********", pin: "[pin]***" });
  });

  test("a damaged file is reported by name, kept under another name, and recorded again", async () => {
    const api = await startApi();
    const { run, folder } = await createRunner();
    const ask = (question: string) => post(api.url, { question });
    await run(ask, "auto");
    const [file] = readFiles(folder);
    writeFileSync(file?.path ?? "", file?.text.slice(0, 100) ?? "");
    const replayed = await run(ask, "replay");
    expect(replayed.failed).toBe(1);
    expect(replayed.outputs.join()).toContain(`The file ${file?.path} of the cache can't be read`);
    expect(readFiles(folder)).toHaveLength(2);
    const repaired = await run(ask, "auto");
    expect(repaired.failed).toBe(0);
    expect(repaired.warnings).toEqual([
      expect.stringMatching(
        /^cache: .* can't be read .* It was renamed to .*\.damaged, and the request/,
      ),
    ]);
    expect(api.requests).toHaveLength(3);
    expect(readFiles(folder).map(({ path }) => path)).toContain(`${file?.path}.damaged`);
    expect((await run(ask, "replay")).failed).toBe(0);
  });

  test("an edited answer is used, with a warning; a reformatted file is the same", async () => {
    const api = await startApi();
    const { run, folder } = await createRunner();
    const ask = () => post(api.url, {});
    await run(ask, "auto");
    const [file] = readFiles(folder);
    const reformatted = JSON.stringify(JSON.parse(file?.text ?? ""), null, 8);
    writeFileSync(file?.path ?? "", reformatted);
    expect(await run(ask, "auto")).toMatchObject({
      outputs: [{ answer: 1 }, { answer: 1 }],
      warnings: [],
    });
    writeFileSync(file?.path ?? "", reformatted.replace('"answer": 1', '"answer": 77'));
    expect(await run(ask, "auto")).toMatchObject({
      outputs: [{ answer: 77 }, { answer: 77 }],
      warnings: [
        `cache: ${file?.path} was edited after it was recorded. The edited response is used; remove the file to record the response again.`,
      ],
    });
    expect(api.requests).toHaveLength(1);
  });
});

describe("what is not cached", () => {
  test("replay without an answer makes no request, and the row says why also if a client hides it", async () => {
    const api = await startApi();
    const { run } = await createRunner();
    const openai = new OpenAI({
      apiKey: "sk-1",
      baseURL: api.url,
      fetch: cachedFetch(),
      maxRetries: 0,
    });
    const { outputs, list, warnings } = await run(
      async () =>
        openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: "?" }] }),
      "replay",
    );
    expect(outputs[0]).toContain("Connection error");
    expect(list[0]?.warnings[0]).toMatch(/The cache has no response to POST .*chat\/completions/);
    expect(warnings).toEqual([
      'cache: 2 requests have no recorded response. Use the mode "auto" to record them.',
    ]);
    expect(api.requests).toHaveLength(0);
  });

  test("an evaluation without any request warns, and says what to do", async () => {
    const { run } = await createRunner();
    const { warnings } = await run((question) => question, "auto");
    expect(warnings).toEqual([expect.stringContaining("no request was intercepted")]);
  });

  test("requests of the client are not recorded", async () => {
    const { run, client, folder } = await createRunner();
    const { id: datasetId } = await client.datasets.create({ name: "read by the target" });
    const { outputs } = await run(
      async () => (await client.datasets.read({ datasetId })).name,
      "auto",
    );
    expect(outputs).toEqual(["read by the target", "read by the target"]);
    expect(readFiles(folder)).toEqual([]);
  });

  test("a stream that the program cancels is not recorded, with a warning", async () => {
    const api = await startApi((_, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write("data: 1\n\n");
    });
    const { run, folder } = await createRunner();
    const { outputs, warnings } = await run(async (question) => {
      const { body } = await fetch(api.url, { method: "POST", body: question });
      const reader = body?.getReader();
      const { value } = ((await reader?.read()) ?? {}) as { readonly value?: Uint8Array };
      await reader?.cancel();
      return Buffer.from(value ?? []).toString();
    }, "auto");
    expect(outputs).toEqual(["data: 1\n\n", "data: 1\n\n"]);
    expect(warnings).toEqual([
      expect.stringContaining("is not recorded, because the program stopped reading it"),
    ]);
    expect(readFiles(folder)).toEqual([]);
  });

  test("a stream that does not end is ended after the evaluation, with a warning", async () => {
    let isClosed = false;
    const api = await startApi((_, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write("data: 1\n\n");
      response.on("close", () => {
        isClosed = true;
      });
    });
    const { run } = await createRunner();
    const { warnings } = await run(async (question) => {
      await fetch(api.url, { method: "POST", body: question });
      return question;
    }, "auto");
    expect(warnings).toEqual([
      `cache: the response to POST ${api.url}/ is not recorded, because it had not ended when the evaluation did.`,
    ]);
    await expect.poll(() => isClosed).toBe(true);
  });

  test("an aborted request does not wait for the equal request of another row", async () => {
    const api = await startApi((_, response, count) => {
      // The first answer never comes.
      if (count > 1) {
        response.end("late");
      }
    });
    const { run } = await createRunner();
    const { outputs } = await run(
      async (question) => {
        const signal = AbortSignal.timeout(question === "a" ? 1_000 : 100);
        return (await fetch(api.url, { method: "POST", body: "same", signal })).text();
      },
      "auto",
      { retries: 0 },
    );
    expect(outputs.map((output) => String(output).split(":")[0])).toEqual([
      "TimeoutError",
      "TimeoutError",
    ]);
    expect(api.requests).toHaveLength(1);
  });

  test("addresses that are no request to a server, and requests of clients, are passed on", async () => {
    const { run, folder } = await createRunner();
    const api = await startApi();
    const own = { method: "POST", [Symbol.for("millrace.ownRequest")]: true };
    const { outputs } = await run(
      async () => [
        await (await fetch("data:text/plain,hello")).text(),
        (await fetch(api.url, own)).status,
      ],
      "auto",
    );
    expect(outputs[0]).toEqual(["hello", 200]);
    expect(readFiles(folder)).toEqual([]);
  });

  test("the global fetch is restored, and wrong options are named", async () => {
    const before = globalThis.fetch;
    const { run } = await createRunner();
    const { outputs } = await run(() => globalThis.fetch === before, "auto");
    expect(outputs).toEqual([false, false]);
    expect(globalThis.fetch).toBe(before);
    const bad = { data: [], cache: "always" as CacheMode };
    await expect(settle(evaluate(() => 1, bad))).rejects.toThrow(
      '`cache` must be "auto", "record", "replay", or an object such as { mode: "auto", folder }, not "always"',
    );
    expect(() => cachedFetch(undefined, { mod: "auto" } as object)).toThrow("unknown option `mod`");
    expect(() => cachedFetch(1 as unknown as typeof fetch)).toThrow("must be a fetch function");
  });
});

test("cachedFetch with a mode records without an evaluation", async () => {
  const api = await startApi();
  const folder = await temporaryFolder();
  const ask = async (fetch: typeof globalThis.fetch) =>
    (await fetch(api.url, { method: "POST", body: "{}" })).json();
  const cached = cachedFetch(undefined, { mode: "auto", folder });
  expect([await ask(cached), await ask(cached)]).toEqual([{ answer: 1 }, { answer: 1 }]);
  expect(await ask(cachedFetch(fetch, { mode: "replay", folder }))).toEqual({ answer: 1 });
  await expect(cached(`${api.url}/x`, { signal: AbortSignal.abort() })).rejects.toThrow("abort");
  expect(api.requests).toHaveLength(1);
});
