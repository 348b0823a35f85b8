import { describe, expect, test } from "vitest";
import { mapped, spanUuid, spanIdOf } from "../../../tests/support/otlp-spans.ts";
import type { EventInit } from "../../../tests/support/otlp-spans.ts";

type Members = Readonly<Record<string, unknown>>;

const extraOf = (attributes: object, resource?: object): Members =>
  mapped({ attributes }, resource === undefined ? {} : { resource })["extra"] as Members;

const metadataOf = (attributes: object, resource?: object): Members =>
  extraOf(attributes, resource)["metadata"] as Members;

test.each([
  [{ "langsmith.span.kind": "LLM" }, "llm"],
  [{ "langsmith.span.kind": "parser" }, "parser"],
  [{ "openinference.span.kind": "LLM" }, "llm"],
  [{ "openinference.span.kind": "CHAIN" }, "chain"],
  [{ "openinference.span.kind": "RETRIEVER" }, "retriever"],
  [{ "openinference.span.kind": "EMBEDDING" }, "embedding"],
  [{ "openinference.span.kind": "TOOL" }, "tool"],
  [{ "openinference.span.kind": "AGENT" }, "chain"],
  [{ "openinference.span.kind": "RERANKER" }, "retriever"],
  [{ "openinference.span.kind": "GUARDRAIL" }, "chain"],
  [{ "openinference.span.kind": "EVALUATOR" }, "chain"],
  [{ "openinference.span.kind": "PROMPT" }, "prompt"],
  [{ "gen_ai.operation.name": "chat" }, "llm"],
  [{ "gen_ai.operation.name": "text_completion" }, "llm"],
  [{ "gen_ai.operation.name": "generate_content" }, "llm"],
  [{ "gen_ai.operation.name": "embeddings" }, "embedding"],
  [{ "gen_ai.operation.name": "execute_tool" }, "tool"],
  [{ "gen_ai.operation.name": "invoke_agent" }, "chain"],
  [{ "gen_ai.tool.name": "weather" }, "tool"],
  [{ "gen_ai.request.model": "gpt-4" }, "llm"],
  [{ "traceloop.span.kind": "tool" }, "tool"],
  [{ "llm.request.type": "embedding" }, "embedding"],
  [{ "langsmith.span.kind": "nothing known", "gen_ai.operation.name": "chat" }, "llm"],
  [{ "langsmith.span.kind": "retriever", "gen_ai.operation.name": "embeddings" }, "retriever"],
  [{ "gen_ai.operation.name": "constructor" }, "chain"],
  [{ "gen_ai.request.model": "claude", "http.route": "/v1/messages/count_tokens" }, "chain"],
  [{ "http.method": "GET" }, "chain"],
])("%j gives the run type %s", (attributes, runType) => {
  expect(mapped({ attributes })["run_type"]).toBe(runType);
});

test("the name is that of the span unless an attribute sets another", () => {
  expect(mapped({ id: 7 })["name"]).toBe("span 7");
  expect(mapped({ attributes: { "langsmith.trace.name": "mine" } })["name"]).toBe("mine");
  const tool = { "openinference.span.kind": "TOOL", "tool.name": "weather" };
  expect(mapped({ attributes: tool })["name"]).toBe("weather");
  expect(mapped({ rest: { name: "" } })["name"]).toBe("unnamed");
});

test("times keep their microseconds", () => {
  expect(mapped({ id: 1 })).toMatchObject({
    start_time: "2026-11-21T10:11:12.346678Z",
    end_time: "2026-11-21T10:11:12.846678Z",
  });
});

test("a span without an end is open; one without a start begins when it ends", () => {
  expect(mapped({ rest: { endTimeUnixNano: "0" } })).not.toHaveProperty("end_time");
  const run = mapped({ rest: { startTimeUnixNano: undefined } });
  expect(run["start_time"]).toBe(run["end_time"]);
});

test("a span that ends before it starts ends when it starts, with a warning", () => {
  const run = mapped({ rest: { endTimeUnixNano: "1795255872000000000" } });
  expect(run["end_time"]).toBe(run["start_time"]);
  expect(run).toMatchObject({
    extra: {
      metadata: {
        "otel.warnings": [
          'endTimeUnixNano is before startTimeUnixNano: "2026-11-21T10:11:12.000000Z"',
        ],
      },
    },
  });
});

test("the run id ends with the span id, whatever the trace id is", () => {
  const id = 0xabc;
  expect(mapped({ id, parent: 1 })["id"]).toBe(spanUuid(spanIdOf(id)));
  const halves = ["00000000000000001111222233334444", "11112222333344440000000000000000"];
  const ids = halves.map((traceId) => mapped({ id, parent: 1, rest: { traceId } })["id"]);
  expect(ids).toEqual(ids.map(() => "11112222-3333-4444-0000-000000000abc"));
});

describe("the project", () => {
  const attributes = { "langsmith.trace.session_name": "of the span" };
  const resource = { "openinference.project.name": "of the process" };

  test("is that of the span, or else of the request, or else of the process", () => {
    const project = "of the request";
    expect(mapped({ attributes }, { project, resource })["session_name"]).toBe("of the span");
    expect(mapped({}, { project, resource })["session_name"]).toBe(project);
    expect(mapped({}, { resource })["session_name"]).toBe("of the process");
    expect(mapped({})).not.toHaveProperty("session_name");
  });

  test("may be named by id", () => {
    const id = "0195d3a2-0000-7000-8000-00000000000f";
    const run = mapped({ attributes: { ...attributes, "langsmith.trace.session_id": id } });
    expect(run).toMatchObject({ session_id: id });
    expect(run).not.toHaveProperty("session_name");
  });
});

describe("the error", () => {
  const errorOf = (status: object, events: readonly EventInit[] = [], attributes = {}): unknown =>
    mapped({ rest: { status }, events, attributes })["error"];
  const exception = (attributes: object): EventInit => ({ name: "exception", attributes });

  test("is absent if the span ended successfully", () => {
    expect(errorOf({})).toBeUndefined();
    expect(errorOf({ code: 1, message: "fine" })).toBeUndefined();
  });

  test("comes from the status message, or else its type, or else a generic word", () => {
    expect(errorOf({ code: 2, message: "boom" })).toBe("boom");
    expect(errorOf({ code: 2 }, [], { "error.type": "timeout" })).toBe("timeout");
    expect(errorOf({ code: 2 })).toBe("ERROR");
  });

  test("has its type before the message, unless the type is unknown or in the message", () => {
    const type = { "error.type": "overloaded_error" };
    expect(errorOf({ code: 2, message: "boom" }, [], type)).toBe("overloaded_error: boom");
    expect(errorOf({ code: 2, message: "an overloaded_error" }, [], type)).toBe(
      "an overloaded_error",
    );
    expect(errorOf({ code: 2, message: "boom" }, [], { "error.type": "_OTHER" })).toBe("boom");
    expect(errorOf({ code: 2 }, [], { "error.type": "_OTHER" })).toBe("_OTHER");
    expect(errorOf({}, [], type)).toBeUndefined();
  });

  test("of an exception has type, message and stack, even without a status", () => {
    const stack = "at mill (mill.js:1)";
    const event = exception({
      "exception.type": "TypeError",
      "exception.message": "no grain",
      "exception.stacktrace": stack,
    });
    expect(errorOf({}, [event])).toBe(`TypeError: no grain\n\n${stack}`);
    expect(errorOf({ code: 2, message: "failed" }, [event])).toBe(
      `failed\n\nTypeError: no grain\n\n${stack}`,
    );
    expect(errorOf({ code: 2, message: "no grain" }, [event])).toBe(
      `TypeError: no grain\n\n${stack}`,
    );
  });

  test("is absent if the status is OK: the exception was handled, and stays an event", () => {
    const event = exception({ "exception.type": "TimeoutError", "exception.message": "retrying" });
    expect(errorOf({ code: 1 }, [event])).toBeUndefined();
    expect(errorOf({ code: "STATUS_CODE_OK" }, [event], { "error.type": "x" })).toBeUndefined();
    expect(mapped({ rest: { status: { code: 1 } }, events: [event] })["events"]).toMatchObject([
      { name: "exception", kwargs: event.attributes },
    ]);
  });

  test("does not repeat what the stack begins with", () => {
    const stack = "TypeError: no grain\n    at mill (mill.js:1)";
    const attributes = { "exception.type": "TypeError", "exception.message": "no grain" };
    expect(errorOf({}, [exception({ ...attributes, "exception.stacktrace": stack })])).toBe(stack);
    expect(errorOf({}, [exception({})])).toBe("exception");
  });
});

test("tags are read from a list, from JSON or separated by commas, without duplicates", () => {
  const tagsOf = (attributes: object): unknown => mapped({ attributes })["tags"];
  expect(tagsOf({ "langsmith.span.tags": "a, b,,c" })).toEqual(["a", "b", "c"]);
  expect(tagsOf({ "langsmith.span.tags": ["a", "b"], "tag.tags": '["b", "c,d"]' })).toEqual([
    "a",
    "b",
    "c,d",
  ]);
  expect(tagsOf({ "tag.tags": "[a" })).toEqual(["[a"]);
  expect(tagsOf({})).toBeUndefined();
});

test("attributes without a field of their own become metadata, with their type", () => {
  const attributes = {
    "http.status_code": 200,
    ratio: 0.5,
    ok: true,
    list: ["a", 1],
    nested: { a: { b: [false] } },
    text: "5",
    __proto__x: "x",
  };
  expect(metadataOf(attributes)).toMatchObject(attributes);
});

test("metadata of each convention loses its prefix, and overrides that of the process", () => {
  const metadata = metadataOf(
    {
      "langsmith.metadata.user": "u",
      "traceloop.association.properties.chat": "c",
      metadata: '{"plan": {"tier": 2}, "user": "other"}',
      region: "span",
    },
    { "service.name": "mill", region: "process" },
  );
  expect(metadata).toMatchObject({
    user: "u",
    chat: "c",
    plan: { tier: 2 },
    "service.name": "mill",
    region: "span",
    "otel.scope.name": "a scope",
  });
  expect(metadata).not.toHaveProperty("metadata");
});

test("metadata that is not a JSON object stays unchanged, with a warning", () => {
  expect(metadataOf({ metadata: "[1]" })).toMatchObject({
    metadata: "[1]",
    "otel.warnings": ['metadata is not a JSON object: "[1]"'],
  });
  expect(metadataOf({})).not.toHaveProperty(["otel.warnings"]);
});

test("model, provider and session get the metadata names that runs use", () => {
  const extra = extraOf({
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4",
    "gen_ai.response.model": "gpt-4-0613",
    "gen_ai.request.temperature": 0.5,
    "gen_ai.request.max_tokens": 100,
    "gen_ai.request.stop_sequences": ["END"],
    "session.id": "s",
    "user.id": "u",
  });
  expect(extra["metadata"]).toMatchObject({
    ls_provider: "openai",
    ls_model_name: "gpt-4",
    ls_temperature: 0.5,
    ls_max_tokens: 100,
    ls_stop: ["END"],
    session_id: "s",
    user_id: "u",
    "gen_ai.response.model": "gpt-4-0613",
  });
  expect(extra["invocation_params"]).toEqual({
    model: "gpt-4",
    temperature: 0.5,
    max_tokens: 100,
    stop: ["END"],
  });
  expect(metadataOf({ "llm.model_name": "claude", "llm.system": "anthropic" })).toMatchObject({
    ls_model_name: "claude",
    ls_provider: "anthropic",
  });
});

describe("conversation and user", () => {
  test.each([
    [{ "gen_ai.conversation.id": "c" }],
    [{ "session.id": "c" }],
    [{ "langfuse.session.id": "c" }],
    [{ "ai.telemetry.metadata.threadId": "c" }],
    [{ "ai.telemetry.metadata.sessionId": "c" }],
    [{ "session.id": "", "langfuse.session.id": "c" }],
    [{ "gen_ai.conversation.id": "c", "session.id": "s" }],
  ])("of %j is the thread c, and the attributes stay", (attributes) => {
    expect(metadataOf(attributes)).toMatchObject({
      thread_id: "c",
      session_id: "c",
      ...attributes,
    });
  });

  test.each([
    [{ "user.id": "u" }],
    [{ "langfuse.user.id": "u" }],
    [{ "enduser.id": "u" }],
    [{ "ai.telemetry.metadata.userId": "u" }],
  ])("of %j is the user u, and the attributes stay", (attributes) => {
    expect(metadataOf(attributes)).toMatchObject({ user_id: "u", ...attributes });
  });

  test("of the program's own metadata takes precedence, under all names", () => {
    const attributes = { "langsmith.metadata.thread_id": "own", "session.id": "s" };
    expect(metadataOf(attributes)).toMatchObject({ thread_id: "own", session_id: "own" });
  });

  test("may have the names that integrations of Langfuse give them in the metadata", () => {
    const attributes = {
      "langsmith.metadata.langfuse_session_id": "c",
      "langsmith.metadata.langfuse_user_id": "u",
      "user.id": "other",
    };
    expect(metadataOf(attributes)).toMatchObject({
      thread_id: "c",
      session_id: "c",
      user_id: "u",
      langfuse_session_id: "c",
      langfuse_user_id: "u",
    });
    expect(metadataOf({ ...attributes, "langsmith.metadata.user_id": "own" })).toMatchObject({
      user_id: "own",
      langfuse_user_id: "u",
    });
  });

  test("may be a number, which becomes a text, because threads are found by text", () => {
    expect(metadataOf({ "session.id": 42, "user.id": 7 })).toMatchObject({
      thread_id: "42",
      user_id: "7",
    });
    const metadata = metadataOf({ "session.id": ["a"] });
    expect(metadata).not.toHaveProperty("thread_id");
  });
});

describe("the time of the first token", () => {
  const eventsOf = (attributes: object, events: readonly EventInit[] = []) =>
    mapped({ attributes, events })["events"] as readonly Members[] | undefined;
  const after250ms = { name: "new_token", time: "2026-11-21T10:11:12.596678Z", kwargs: {} };

  test.each([
    [{ "gen_ai.response.time_to_first_chunk": 0.25 }],
    [{ "ai.response.msToFirstChunk": 250 }],
    [{ "ai.stream.msToFirstChunk": 250 }],
  ])("of %j is an event", (attributes) => {
    expect(eventsOf(attributes)).toEqual([after250ms]);
  });

  test.each([["ai.stream.firstChunk"], ["First Token Stream Event"]])(
    "of the event %s is an event before it",
    (name) => {
      const events = eventsOf({ "ai.response.msToFirstChunk": 9 }, [{ name }]);
      const time = "2026-11-21T10:11:12.346678Z";
      expect(events).toMatchObject([
        { name: "new_token", time },
        { name, time },
      ]);
    },
  );

  test("is not added to a span that has such an event", () => {
    const attributes = { "gen_ai.response.time_to_first_chunk": 0.25 };
    expect(eventsOf(attributes, [{ name: "new_token" }])).toHaveLength(1);
  });

  test("is the end of a span that ended just before, because two clocks differ", () => {
    expect(eventsOf({ "ai.response.msToFirstChunk": 501 })).toMatchObject([
      { time: "2026-11-21T10:11:12.846678Z" },
    ]);
  });

  test.each([[-1], [1e300], [3_600], ["soon"], [null], [[0]]])(
    "of %j seconds is not used, and the run has a warning",
    (value) => {
      const name = "gen_ai.response.time_to_first_chunk";
      expect(eventsOf({ [name]: value })).toBeUndefined();
      expect(String(metadataOf({ [name]: value })["otel.warnings"])).toMatch(
        /^gen_ai\.response\.time_to_first_chunk is not a time within the span: /,
      );
    },
  );
});

test("OpenInference parameters and tool definitions become invocation parameters", () => {
  const tools = [{ type: "function", name: "weather" }];
  const extra = extraOf({
    "llm.invocation_parameters": '{"temperature": 0.10, "n": 2}',
    "gen_ai.tool.definitions": JSON.stringify(tools),
  });
  expect(extra["invocation_params"]).toEqual({ temperature: 0.1, n: 2, tools });
});

test("parameters of one provider are invocation parameters, unless the common ones have them", () => {
  const attributes = {
    "gen_ai.openai.request.seed": 1,
    "gen_ai.openai.request.service_tier": "auto",
    "openai.request.service_tier": "flex",
    "anthropic.request.service_tier": "standard_only",
    "gen_ai.request.seed": 2,
    "gen_ai.request.reasoning.level": "high",
  };
  const extra = extraOf(attributes);
  expect(extra["invocation_params"]).toEqual({
    seed: 2,
    service_tier: "standard_only",
    "reasoning.level": "high",
  });
  expect(extra["metadata"]).toMatchObject(attributes);
});

test("tool definitions may be structured values; malformed ones stay a text, with a warning", () => {
  const tools = [{ type: "function", name: "weather" }];
  expect(extraOf({ "gen_ai.tool.definitions": tools })["invocation_params"]).toEqual({ tools });
  const extra = extraOf({ "gen_ai.tool.definitions": "[{", "llm.invocation_parameters": "{" });
  expect(extra["invocation_params"]).toEqual({ tools: "[{" });
  expect(extra["metadata"]).toMatchObject({
    "llm.invocation_parameters": "{",
    "otel.warnings": [
      'gen_ai.tool.definitions is not JSON: "[{"',
      'llm.invocation_parameters is not a JSON object: "{"',
    ],
  });
});

test("events are stored with name, time and attributes; links too", () => {
  const rest = { links: [{ traceId: "11".repeat(16), spanId: "22".repeat(8) }] };
  const run = mapped({ events: [{ name: "new_token", attributes: { token: "a" } }], rest });
  expect(run["events"]).toEqual([
    { name: "new_token", time: "2026-11-21T10:11:12.346678Z", kwargs: { token: "a" } },
  ]);
  expect((run["extra"] as Members)["links"]).toEqual([
    { trace_id: "11".repeat(16), span_id: "22".repeat(8), attributes: {} },
  ]);
});

describe("a position given in attributes of the run format", () => {
  const root = "0195d3a2-0000-7000-8000-00000000000a";
  const own = "0195d3a2-0000-7000-8000-00000000000b";
  const stamp = "20261121T101112345678Z";

  test("is used as it is if it is a dotted order", () => {
    const attributes = {
      "langsmith.span.id": own,
      "langsmith.trace.id": root,
      "langsmith.span.parent_id": root,
      "langsmith.span.dotted_order": `${stamp}${root}.${stamp}${own}`,
    };
    const run = mapped({ attributes, parent: 9 });
    expect(run).toMatchObject({ id: own, trace_id: root, parent_run_id: root });
    expect(run["dotted_order"]).toBe(attributes["langsmith.span.dotted_order"]);
  });

  test("keeps the span's own id if it names no run id but a parent run", () => {
    const run = mapped({ id: 2, attributes: { "langsmith.span.parent_id": root } });
    expect(run).toMatchObject({ id: spanUuid(spanIdOf(2)), parent_run_id: root });
  });

  test("stays in the metadata if it is not valid", () => {
    const attributes = { "langsmith.span.dotted_order": "nonsense" };
    expect(metadataOf(attributes)).toMatchObject(attributes);
  });
});

test("the reference example is a UUID, or stays in the metadata", () => {
  const name = "langsmith.reference_example_id";
  const id = "0195d3a2-0000-7000-8000-00000000000a";
  expect(mapped({ attributes: { [name]: id } })["reference_example_id"]).toBe(id);
  expect(metadataOf({ [name]: "first" })).toMatchObject({ [name]: "first" });
});
