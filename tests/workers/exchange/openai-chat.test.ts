import { assert, boolean, constantFrom, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { eventStream, readRequestOf, readResponseOf, toEvents, warningsOf } from "./exchanges.ts";

const chunk = (choices: readonly object[], members: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o-2024-08-06",
  system_fingerprint: "fp_1",
  choices,
  ...members,
});

const delta = (value: object, members: object = {}) => ({
  index: 0,
  delta: value,
  logprobs: null,
  finish_reason: null,
  ...members,
});

const readChat = (chunks: readonly unknown[], end?: string) =>
  readResponseOf("openai.chat", toEvents(chunks, end), eventStream);

const messageOf = (fields: ReturnType<typeof readChat>): unknown =>
  (fields.outputs?.["choices"] as readonly { readonly message: unknown }[] | undefined)?.[0]
    ?.message;

describe("a request of a chat completion", () => {
  test("is the inputs as it was sent, with the model and its settings as metadata", () => {
    const request = {
      model: "gpt-4o",
      messages: [{ role: "user", content: "Hi" }],
      temperature: 0.5,
      max_completion_tokens: 7,
      stop: "END",
      unknown_member: [1],
    };
    expect(readRequestOf("openai.chat", request)).toEqual({
      name: "ChatOpenAI",
      runType: "llm",
      inputs: request,
      metadata: {
        ls_provider: "openai",
        ls_model_type: "chat",
        ls_model_name: "gpt-4o",
        ls_temperature: 0.5,
        ls_max_tokens: 7,
        ls_stop: ["END"],
      },
    });
  });

  test("to another server names its provider, and a deployment in the path is the model", () => {
    const { metadata } = readRequestOf(
      "openai.chat",
      { messages: [] },
      { url: "x.openai.azure.com/openai/deployments/my%20gpt/chat/completions" },
    );
    expect(metadata).toMatchObject({ ls_provider: "azure", ls_model_name: "my gpt" });
    const groq = readRequestOf("openai.chat", { model: "m" }, { url: "https://api.groq.com/v1" });
    expect(groq.metadata).toMatchObject({ ls_provider: "groq", ls_model_name: "m" });
  });

  test("keeps images as they are, and of recordings and files only the size", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const { inputs } = readRequestOf("openai.chat", {
      messages: [
        {
          role: "user",
          content: [
            image,
            { type: "input_audio", input_audio: { data: "AAAAAAAA", format: "wav" } },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" },
            },
          ],
        },
      ],
    });
    expect(inputs).toEqual({
      messages: [
        {
          role: "user",
          content: [
            image,
            {
              type: "input_audio",
              input_audio: { data: "[audio, 6 bytes, not recorded]", format: "wav" },
            },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "[file, 3 bytes, not recorded]" },
            },
          ],
        },
      ],
    });
  });

  test("that is not JSON is recorded as text, with a warning", () => {
    const fields = readRequestOf("openai.chat", "{oops");
    expect(fields.inputs).toEqual({ body: "{oops" });
    expect(warningsOf(fields)).toEqual([expect.stringContaining("could not be parsed")]);
    expect(readRequestOf("openai.chat", "[1]").inputs).toEqual({ body: [1] });
    expect(readRequestOf("openai.chat", "").inputs).toEqual({});
  });
});

describe("the stream of a chat completion", () => {
  test("is joined to the completion that a request without streaming would have got", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
    const fields = readChat([
      chunk([delta({ role: "assistant", content: "", refusal: null })]),
      chunk([delta({ content: "Hel" })], { obfuscation: "xyz" }),
      chunk([delta({ content: "lo" })]),
      chunk([delta({}, { finish_reason: "stop" })]),
      chunk([], { usage }),
    ]);
    expect(fields).toEqual({
      outputs: {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "gpt-4o-2024-08-06",
        system_fingerprint: "fp_1",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Hello", refusal: null },
            logprobs: null,
            finish_reason: "stop",
          },
        ],
        usage,
        usage_metadata: { input_tokens: 9, output_tokens: 2, total_tokens: 11 },
      },
      metadata: {
        ls_provider: "openai",
        ls_model_type: "chat",
        ls_model_name: "gpt-4o-2024-08-06",
      },
      isComplete: true,
    });
  });

  test("keeps parallel tool calls apart, with their exact arguments", () => {
    const call = (index: number, parts: object) =>
      chunk([delta({ tool_calls: [{ index, ...parts }] })]);
    const fields = readChat([
      chunk([delta({ role: "assistant", content: null })]),
      call(1, { id: "b", type: "function", function: { name: "g", arguments: "" } }),
      call(0, { id: "a", type: "function", function: { name: "f", arguments: "" } }),
      call(0, { function: { arguments: '{"x":' } }),
      call(1, { function: { arguments: '{"text":"a ' } }),
      call(0, { function: { arguments: "1}" } }),
      call(1, { function: { arguments: '\\n"}' } }),
      chunk([delta({}, { finish_reason: "tool_calls" })]),
    ]);
    expect(messageOf(fields)).toEqual({
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } },
        { id: "b", type: "function", function: { name: "g", arguments: '{"text":"a \\n"}' } },
      ],
    });
  });

  test("keeps tool calls apart that a server sends with the same index, or without one", () => {
    const call = (parts: object) => chunk([delta({ tool_calls: [parts] })]);
    const whole = (id: string, index?: number) => ({
      ...(index === undefined ? {} : { index }),
      id,
      type: "function",
      function: { name: "f", arguments: `{"id":"${id}"}` },
    });
    for (const index of [undefined, 0]) {
      const fields = readChat([call(whole("a", index)), call(whole("b", index))]);
      expect(messageOf(fields)).toEqual({
        tool_calls: ["a", "b"].map((id) => {
          const { index: _index, ...members } = { index, ...whole(id) };
          return members;
        }),
      });
    }
    // A server that repeats name and id, or creates a new id for each chunk, sends one call.
    const pieces = readChat([
      call({ index: 0, id: "a", function: { name: "f", arguments: "{" } }),
      call({ index: 0, id: "a", function: { name: "f", arguments: "" } }),
      call({ index: 0, id: "z", function: { arguments: "}" } }),
    ]);
    expect(messageOf(pieces)).toMatchObject({
      tool_calls: [{ function: { name: "f", arguments: "{}" } }],
    });
  });

  test("joins several choices, refusals, log probabilities, speech, and members that are not known", () => {
    const logprob = (token: string) => ({ logprobs: { content: [{ token, logprob: -1 }] } });
    const { outputs } = readChat([
      chunk([delta({ role: "assistant", content: "a" }, logprob("a"))], { usage: null }),
      chunk([
        { ...delta({ role: "assistant", refusal: "I " }), index: 1 },
        delta({ content: "b" }, logprob("b")),
      ]),
      chunk([
        { ...delta({ refusal: "won't" }, { finish_reason: "stop" }), index: 1 },
        delta(
          { reasoning_content: "hm", annotations: [{ type: "url_citation" }] },
          { content_filter_results: { hate: { severity: "safe" } } },
        ),
        delta(
          { reasoning_content: "m", audio: { id: "x", data: "AAAA", transcript: "one " } },
          { content_filter_results: { hate: { severity: "safe" } } },
        ),
        delta({ audio: { data: "AA==", transcript: "two" } }, { finish_reason: "stop" }),
      ]),
      chunk([], { service_tier: "default", x_new: { y: 1 } }),
    ]);
    expect(outputs).toEqual({
      ...chunk([]),
      object: "chat.completion",
      usage: undefined,
      service_tier: "default",
      x_new: { y: 1 },
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "ab",
            reasoning_content: "hmm",
            annotations: [{ type: "url_citation" }],
            audio: { id: "x", data: "[audio, 4 bytes, not recorded]", transcript: "one two" },
          },
          logprobs: {
            content: [
              { token: "a", logprob: -1 },
              { token: "b", logprob: -1 },
            ],
          },
          content_filter_results: { hate: { severity: "safe" } },
          finish_reason: "stop",
        },
        {
          index: 1,
          message: { role: "assistant", refusal: "I won't" },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
    });
  });

  test("that was left early has what was received; if the server ended it early, there is a warning", () => {
    const half = toEvents(
      [chunk([delta({ role: "assistant", content: "Hel" })])],
      'data: {"id":"ch',
    );
    const cancelled = readResponseOf("openai.chat", half, { ...eventStream, ending: "cancelled" });
    expect(messageOf(cancelled)).toEqual({ role: "assistant", content: "Hel" });
    expect(cancelled.isComplete).toBe(false);
    expect(warningsOf(cancelled)).toBeUndefined();
    const cut = readResponseOf("openai.chat", half, eventStream);
    expect(messageOf(cut)).toEqual({ role: "assistant", content: "Hel" });
    expect(warningsOf(cut)).toEqual([
      'The response ended in the middle of an event, which begins with: {"id":"ch',
      "The response ended before the provider reported that it is complete.",
    ]);
  });

  test("with an error in it fails with the provider's message, and keeps the partial answer", () => {
    const fields = readChat([
      chunk([delta({ role: "assistant", content: "Hel" })]),
      { error: { message: "The server is overloaded", type: "server_error", code: null } },
    ]);
    expect(fields.error).toBe("The server is overloaded (server_error)");
    expect(messageOf(fields)).toEqual({ role: "assistant", content: "Hel" });
  });

  test("with events that are not JSON names them, and reads the others", () => {
    const events = `: comment\n\nevent: ping\n\ndata: {oops\n\n${toEvents([chunk([delta({ content: "x" })])])}`;
    const fields = readResponseOf("openai.chat", events, eventStream);
    expect(messageOf(fields)).toEqual({ content: "x" });
    expect(warningsOf(fields)).toEqual(["An event of the response is not an object: {oops"]);
  });

  test("whose middle was too large is joined from both ends", () => {
    const bytes = new TextEncoder().encode(
      toEvents(["a", "b", "c", "é", "e"].map((content) => chunk([delta({ content })]))),
    );
    const eventBytes = toEvents([chunk([delta({ content: "a" })])], "").length;
    // Both cuts are in the middle of an event, and the second in the middle of a character.
    const [from, to] = [2 * eventBytes + 30, bytes.indexOf(0xc3) + 1];
    const kept = new Uint8Array([...bytes.subarray(0, from), ...bytes.subarray(to)]);
    const fields = readResponseOf("openai.chat", kept, {
      ...eventStream,
      omittedBytes: to - from,
      omittedAt: from,
    });
    expect(messageOf(fields)).toEqual({ content: "abe" });
    expect(warningsOf(fields)).toBeUndefined();
    expect(fields.isComplete).toBe(true);
  });

  test("gives the same fields whatever line ends, comments and byte order mark it has", () => {
    const chunks = [
      chunk([delta({ content: "Grüße 🐎\u2028" })]),
      chunk([delta({ content: "\r\n" })]),
    ];
    const expected = readChat(chunks);
    assert(
      property(constantFrom("\n", "\r\n", "\r"), boolean(), (lineEnd, hasMark) => {
        const text = `${hasMark ? "\uFEFF" : ""}: hi\n\nid: 7\nretry: 10\n${toEvents(chunks)}`;
        const events = text.replaceAll("\n", lineEnd);
        expect(readResponseOf("openai.chat", events, eventStream)).toEqual(expected);
      }),
    );
  });

  test("never fails, wherever it is cut or damaged, and keeps the beginning of the answer", () => {
    const bytes = new TextEncoder().encode(
      toEvents(["Häl", "lö", " 🐎"].map((content) => chunk([delta({ content })]))),
    );
    assert(
      property(nat(bytes.length), nat(255), (length, byte) => {
        const cut = readResponseOf("openai.chat", bytes.subarray(0, length), {
          ...eventStream,
          ending: "failed",
        });
        const { content = "" } = (messageOf(cut) ?? {}) as { readonly content?: string };
        expect("Hällö 🐎".startsWith(content)).toBe(true);
        const damaged = Uint8Array.from(bytes);
        damaged[length] = byte;
        const fields = readResponseOf("openai.chat", damaged, eventStream);
        expect(fields.outputs ?? fields.error).toBeDefined();
      }),
    );
  });

  test("with a member named __proto__ sets no prototype", () => {
    const { outputs } = readResponseOf(
      "openai.chat",
      'data: {"__proto__":{"a":1},"choices":[{"delta":{"__proto__":{"b":"x"}}}]}\n\n',
      eventStream,
    );
    expect(Object.getPrototypeOf(outputs)).toBe(Object.prototype);
    expect(JSON.stringify(outputs)).toContain('"__proto__":{"a":1}');
    expect(JSON.stringify(outputs)).toContain('"__proto__":{"b":"x"}');
  });
});

describe("a completion without streaming", () => {
  test("is the outputs as it was received, with the usage that runs record", () => {
    const completion = {
      id: "c",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      model: "gpt-4o-2024-08-06",
      usage: {
        prompt_tokens: 20,
        completion_tokens: 10,
        total_tokens: 30,
        prompt_tokens_details: { cached_tokens: 16, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    };
    const fields = readResponseOf("openai.chat", completion, { contentType: "application/json" });
    expect(fields.outputs).toEqual({
      ...completion,
      usage_metadata: {
        input_tokens: 20,
        output_tokens: 10,
        total_tokens: 30,
        input_token_details: { cache_read: 16 },
        output_token_details: { reasoning: 4 },
      },
    });
    expect(fields.error).toBeUndefined();
    expect(warningsOf(fields)).toBeUndefined();
  });

  test("whose usage contradicts itself keeps the numbers, with warnings", () => {
    const read = (usage: object) => {
      const fields = readResponseOf("openai.chat", { choices: [], usage });
      return { usage: fields.outputs?.["usage_metadata"], warnings: warningsOf(fields) };
    };
    expect(
      read({
        prompt_tokens: 5,
        completion_tokens: 2,
        total_tokens: 100,
        prompt_tokens_details: { cached_tokens: 6 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
    ).toEqual({
      usage: {
        input_tokens: 5,
        output_tokens: 2,
        total_tokens: 100,
        input_token_details: { cache_read: 6 },
        output_token_details: { reasoning: 3 },
      },
      warnings: [
        "The usage contradicts itself: 100 tokens in total are not 5 input and 2 output tokens.",
        "The usage contradicts itself: 6 cached tokens are more than 5 input tokens.",
        "The usage contradicts itself: 3 reasoning tokens are more than 2 output tokens.",
      ],
    });
    expect(read({ prompt_tokens: -1, completion_tokens: "2", total_tokens: 1.5 })).toEqual({
      usage: undefined,
      warnings: [
        "The usage reports a value of prompt_tokens that is not a number of tokens.",
        "The usage reports a value of completion_tokens that is not a number of tokens.",
        "The usage reports a value of total_tokens that is not a number of tokens.",
      ],
    });
    // Some servers report the reasoning beside the output.
    expect(
      read({
        prompt_tokens: 5,
        completion_tokens: 2,
        total_tokens: 10,
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
    ).toEqual({
      usage: {
        input_tokens: 5,
        output_tokens: 5,
        total_tokens: 10,
        output_token_details: { reasoning: 3 },
      },
      warnings: undefined,
    });
  });

  test.each([
    [
      400,
      {
        error: { message: "No such model", type: "invalid_request_error", code: "model_not_found" },
      },
      "400 No such model (invalid_request_error, model_not_found)",
    ],
    [401, { error: "No key" }, "401 No key"],
    [404, { detail: "Not Found" }, "404 Not Found"],
    [422, { message: "Bad" }, "422 Bad"],
    [500, { odd: 1 }, '500 {"odd":1}'],
    [502, "<html><head><title>502 Bad\n Gateway</title></head></html>", "502 Bad Gateway"],
    [503, "", "503"],
  ])("with status %d has the provider's message as error", (status, body, error) => {
    const fields = readResponseOf("openai.chat", body, { status });
    expect(fields.error).toBe(error);
    expect(fields.isComplete).toBe(true);
    const payload = body === "" ? undefined : { body };
    expect(fields.outputs).toEqual(typeof body === "object" ? body : payload);
  });

  test("with status 200 and no JSON fails and keeps the text", () => {
    const html = "<!DOCTYPE html><html><title>Log in</title></html>";
    const page = readResponseOf("openai.chat", html, { contentType: "text/html" });
    expect(page.error).toBe('The response with status 200 is not JSON, but an HTML page, "Log in"');
    expect(page.outputs).toEqual({ body: html });
    const cut = readResponseOf("openai.chat", '{"id": "a', { contentType: "application/json" });
    expect(cut.error).toMatch(/^The response with status 200 is not valid JSON: /);
    const aborted = readResponseOf("openai.chat", '{"id": "a', { ending: "cancelled" });
    expect(aborted.error).toBeUndefined();
    expect(warningsOf(aborted)).toEqual([expect.stringContaining("could not be parsed")]);
    expect(warningsOf(readResponseOf("openai.chat", ""))).toEqual(["The response has no content."]);
    expect(warningsOf(readResponseOf("openai.chat", "[1]"))).toEqual([
      "The response is JSON, but not an object.",
    ]);
  });

  test("with status 200 and an error in it fails with the message", () => {
    const fields = readResponseOf("openai.chat", { error: { message: "Quota", code: "429" } });
    expect(fields.error).toBe("Quota (429)");
  });

  test("with bytes that are not UTF-8 is read, with a warning", () => {
    const bytes = new Uint8Array([...new TextEncoder().encode('{"id":"'), 0xff, 0x22, 0x7d]);
    const fields = readResponseOf("openai.chat", bytes);
    expect(fields.outputs).toEqual({ id: "\uFFFD" });
    expect(warningsOf(fields)).toEqual([expect.stringContaining("not valid UTF-8")]);
  });
});
