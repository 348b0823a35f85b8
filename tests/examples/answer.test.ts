import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import {
  bestSentences,
  extractiveModel,
  stalledModel,
} from "../../examples/ask-the-docs/answer.ts";
import { chooseModel } from "../../examples/ask-the-docs/model.ts";
import { OpenAiError } from "../../examples/ask-the-docs/openai.ts";
import type { Model } from "../../examples/ask-the-docs/answer.ts";
import { assemblePrompt } from "../../examples/ask-the-docs/prompt.ts";
import { countWords, parseCitations } from "../../examples/ask-the-docs/tools.ts";

const section = (id: number, text: string) => ({
  id,
  path: `${id}.md`,
  title: `T${id}`,
  line: 1,
  text,
});
const sections = [
  section(0, "The queue is bounded by count and by bytes, and never grows beyond them.\n"),
  section(1, "Bananas are yellow and grow in warm countries all over the world.\n"),
  section(2, "A flush ships everything that was recorded before the call was made.\n"),
];
const messages = assemblePrompt("How is the queue bounded?", "A page.", sections);

const answer = async (model: Model, signal = new AbortController().signal): Promise<string[]> => {
  const tokens: string[] = [];
  for await (const token of model(messages, signal)) {
    tokens.push(token);
  }
  return tokens;
};

test("the sentence with the rare words of the question is found and cites its source", () => {
  const sentences = bestSentences(messages.at(-1)?.content ?? "");
  expect(sentences[0]).toBe(
    "The queue is bounded by count and by bytes, and never grows beyond them. [1]",
  );
});

test("the local answer comes in tokens, the same ones every time", async () => {
  const tokens = await answer(extractiveModel);
  expect(tokens.length).toBeGreaterThan(10);
  expect(await answer(extractiveModel)).toEqual(tokens);
  expect(parseCitations(tokens.join(""))).toContain(1);
});

test("a model that never answers ends with its signal", async () => {
  await expect(answer(stalledModel, AbortSignal.timeout(5))).rejects.toThrow(/timeout/i);
});

test("counting words fails for a language that does not exist", () => {
  expect(countWords("One two, two", "en")).toBe(2);
  expect(() => countWords("One", "no such language")).toThrow(RangeError);
});

/** Starts a fake chat API on a free port, and closes it after the test. */
const startApi = async (handle: RequestListener): Promise<Record<string, string>> => {
  const api = createServer(handle).listen(0, "127.0.0.1");
  await once(api, "listening");
  onTestFinished(() => {
    api.close();
  });
  const { port } = api.address() as AddressInfo;
  return { OPENAI_API_KEY: "secret", OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` };
};

test("with a key the answer comes from the chat API, and the key goes only there", async () => {
  const seen: (string | undefined)[] = [];
  const env = await startApi((request, response) => {
    seen.push(request.url, request.headers.authorization);
    // A response that is split in the middle of a character and of a line.
    const line = Buffer.from(`data: {"choices":[{"delta":{"content":"naïve "}}]}\n\n`);
    response.write(line.subarray(0, line.indexOf(0xc3) + 1));
    response.write(line.subarray(line.indexOf(0xc3) + 1));
    response.end(`data: {"choices":[{"delta":{"content":"answer"}}]}\n\ndata: [DONE]\n\n`);
  });
  const { kind, model } = chooseModel(env);
  expect(kind).toBe("openai");
  expect(await answer(model)).toEqual(["naïve ", "answer"]);
  expect(seen).toEqual(["/v1/chat/completions", "Bearer secret"]);
});

test("a refusal of the chat API is an error that does not hold the key", async () => {
  const env = await startApi((_request, response) => {
    response.writeHead(429).end("slow down");
  });
  const failure = await answer(chooseModel(env).model).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(OpenAiError);
  expect(String(failure)).toContain("429: slow down");
  expect(String(failure)).not.toContain("secret");
});

test("without a key the answer is made on this machine", () => {
  expect(chooseModel({ OPENAI_API_KEY: "" }).kind).toBe("local");
});
