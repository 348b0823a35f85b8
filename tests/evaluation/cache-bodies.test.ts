import { describe, expect, test } from "vitest";
import { observeBody, replayChunks } from "../../src/evaluation/cache/observe-body.ts";
import { readLimited } from "../../src/evaluation/cache/read-limited.ts";
import { redactBody, toChunks, toStoredBody } from "../../src/evaluation/cache/stored-body.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const streamOf = (...texts: readonly string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      texts.forEach((text) => controller.enqueue(bytes(text)));
      controller.close();
    },
  });

const readText = async (stream: ReadableStream<Uint8Array> | undefined): Promise<string> =>
  new Response(stream ?? null).text();

describe("a body that is larger than the limit", () => {
  test("of a request is passed on as a whole", async () => {
    const { chunks, wholeBody } = await readLimited(streamOf("abc", "def", "ghi"), 4);
    expect(chunks).toEqual([]);
    expect(await readText(wholeBody)).toBe("abcdefghi");
  });

  test("of a response reaches the program, and is not kept", async () => {
    const { stream, observed } = observeBody(streamOf("abc", "def", "ghi"), 4);
    expect(await readText(stream)).toBe("abcdefghi");
    expect(await observed).toEqual({
      kind: "incomplete",
      reason: "it is larger than 4 bytes",
    });
  });
});

test("a body that the program does not read is observed completely", async () => {
  const { observed } = observeBody(streamOf("abc", "def"));
  expect(await observed).toEqual({ kind: "complete", chunks: [bytes("abc"), bytes("def")] });
});

test.each([
  ["observed", () => observeBody(streamOf("ab", "c")).stream],
  ["replayed", () => replayChunks([bytes("ab"), bytes("c")], new AbortController().signal)],
])("a reader with a buffer of its own reads an %s stream to its end", async (_, open) => {
  const reader = open().getReader({ mode: "byob" });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read(new Uint8Array(1));
    if (done) {
      break;
    }
    text += new TextDecoder().decode(value);
  }
  expect(text).toBe("abc");
});

test("an aborted signal ends a replayed stream with its reason", async () => {
  const abort = new AbortController();
  const reader = replayChunks([bytes("ab"), bytes("c")], abort.signal).getReader();
  await reader.read();
  abort.abort(new Error("no more"));
  await expect(reader.read()).rejects.toThrow("no more");
});

test.each([
  ['{"a":[1,2],"b":"ü"}', { json: { a: [1, 2], b: "ü" } }],
  ['{\n  "a": 1\n}', { json: { a: 1 }, indent: 2 }],
  ['{"a": 1}', { text: '{"a": 1}' }],
  ['{"big":12345678901234567890}', { text: '{"big":12345678901234567890}' }],
  ["plain", { text: "plain" }],
  ["", { text: "" }],
])("%j is stored so that the same bytes are replayed", (text, stored) => {
  const body = toStoredBody([bytes(text)], false);
  expect(body).toEqual(stored);
  expect(Buffer.concat([...toChunks(body)]).toString()).toBe(text);
});

test("a character that is divided between pieces of a stream keeps its bytes", () => {
  const [first, second] = [bytes("aü").subarray(0, 2), bytes("aü").subarray(2)];
  const body = toStoredBody([first, second], true);
  expect(body).toEqual({ chunks: ["a", "ü"] });
  expect(toStoredBody([Buffer.from([0xff]), Buffer.from([0x00])], true)).toEqual({
    base64Chunks: ["/w==", "AA=="],
  });
});

test("redaction keeps the pieces of a stream if no length changes, and else divides it after events", async () => {
  const body = { chunks: ['data: {"a":"se', 'cret"}\n', "\ndata: {}\n\n"] };
  const replace = (text: string) => async (value: unknown) =>
    JSON.parse(JSON.stringify(value).replaceAll("secret", text)) as unknown;
  expect(await redactBody(body, replace("******"))).toEqual({
    chunks: ['data: {"a":"**', '****"}\n', "\ndata: {}\n\n"],
  });
  expect(await redactBody(body, replace("[x]"))).toEqual({
    chunks: ['data: {"a":"[x]"}\n\n', "data: {}\n\n"],
  });
});
