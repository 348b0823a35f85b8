import protobuf from "protobufjs/light.js";
import { describe, expect, test } from "vitest";
import { decodeSpans } from "../decode.ts";
import { traceRequestType } from "../proto-types.ts";
import type { Span } from "millrace/spans";
import {
  encodeSpans,
  otlpRequest,
  otlpSpan,
  someNanos,
  spanIdOf,
  traceId,
} from "../../../tests/support/otlp-spans.ts";

const json = (request: unknown) => Buffer.from(JSON.stringify(request));

function only(request: unknown): Span {
  const { spans, spanErrors } = decodeSpans(json(request), "json");
  expect(spanErrors).toEqual([]);
  expect(spans).toHaveLength(1);
  return spans[0]!;
}

const valueOf = (value: unknown): unknown =>
  only(otlpRequest([otlpSpan({ rest: { attributes: [{ key: "a", value }] } })])).attributes.get(
    "a",
  );

const reasons = (span: object): readonly string[] =>
  decodeSpans(json(otlpRequest([span])), "json").spanErrors.map(({ reason }) => reason);

describe("JSON", () => {
  test("a span is returned with its resource and its scope", () => {
    const span = only(otlpRequest([otlpSpan({ id: 2, parent: 1 })], { "service.name": "mill" }));
    expect(span).toMatchObject({
      traceId,
      spanId: spanIdOf(2),
      parentSpanId: spanIdOf(1),
      name: "span 2",
      kind: "INTERNAL",
      startNanos: someNanos + 2_000_000n,
      scopeName: "a scope",
      scopeVersion: "1.2.3",
    });
    expect(span.resource.get("service.name")).toBe("mill");
  });

  test.each([
    ["a text", { stringValue: "x" }, "x"],
    ["an empty text", { stringValue: "" }, ""],
    ["a boolean", { boolValue: false }, false],
    ["an integer as text", { intValue: "42" }, 42],
    ["an integer as number", { intValue: -42 }, -42],
    ["the largest integer", { intValue: "9223372036854775807" }, 9_223_372_036_854_775_807n],
    ["halves of an integer", { intValue: { low: 1, high: 2, unsigned: false } }, 8_589_934_593],
    ["a number", { doubleValue: 0.5 }, 0.5],
    ["a number that is not finite", { doubleValue: "NaN" }, "NaN"],
    ["bytes", { bytesValue: "AQI=" }, "AQI="],
    ["nothing", {}, null],
    ["a list", { arrayValue: { values: [{ intValue: 1 }, { stringValue: "b" }] } }, [1, "b"]],
    ["a snake_case name", { string_value: "x" }, "x"],
  ])("decodes %s as what it is", (_, value, expected) => {
    expect(valueOf(value)).toEqual(expected);
  });

  test("an object keeps member names that are special in JavaScript", () => {
    const values = [{ key: "__proto__", value: { intValue: 1 } }];
    expect(Object.entries(valueOf({ kvlistValue: { values } }) as object)).toEqual([
      ["__proto__", 1],
    ]);
  });

  test("integers beyond 2^53 sent as numbers keep their precision", () => {
    const span = otlpSpan({ rest: { attributes: [{ key: "a", value: { intValue: 77 } }] } });
    const text = JSON.stringify(otlpRequest([span]))
      .replace('"intValue":77', '"intValue" : 9007199254740993')
      .replace(`"${span.startTimeUnixNano}"`, span.startTimeUnixNano);
    const [read] = decodeSpans(Buffer.from(text), "json").spans;
    expect(read?.attributes.get("a")).toBe(9_007_199_254_740_993n);
    expect(read?.startNanos).toBe(BigInt(span.startTimeUnixNano));
  });

  test("a text that looks like a member with a large integer stays unchanged", () => {
    const text =
      'the "intValue": 12345678901234567890, of "startTimeUnixNano":12345678901234567890}';
    expect(valueOf({ stringValue: text })).toBe(text);
  });

  test("ids may be upper-case, base64 or all zero; unknown members are ignored", () => {
    const upper = only(
      otlpRequest([
        otlpSpan({
          rest: { traceId: traceId.toUpperCase(), parentSpanId: "0000000000000000", newer: {} },
        }),
      ]),
    );
    expect(upper).toMatchObject({ traceId, parentSpanId: "" });
    const base64 = Buffer.from(traceId, "hex").toString("base64");
    expect(only(otlpRequest([otlpSpan({ rest: { traceId: base64 } })])).traceId).toBe(traceId);
  });

  test("states may be sent by name", () => {
    const rest = { kind: "SPAN_KIND_CLIENT", status: { code: "STATUS_CODE_ERROR" } };
    expect(only(otlpRequest([otlpSpan({ rest })]))).toMatchObject({
      kind: "CLIENT",
      isError: true,
    });
  });

  test("a span that names itself as its parent has no parent", () => {
    expect(only(otlpRequest([otlpSpan({ id: 1, parent: 1 })])).parentSpanId).toBe("");
  });

  test.each([
    [{ spanId: "abc" }, 'spanId is not 8 bytes: "abc"'],
    [{ traceId: "zz" }, 'traceId is not 16 bytes: "zz"'],
    [{ traceId: "0".repeat(32) }, "traceId is missing or zero"],
    [{ spanId: "" }, "spanId is missing or zero"],
    [{ parentSpanId: 5 }, "parentSpanId is not 8 bytes: 5"],
  ])("a span with %j is rejected with the reason", (rest, reason) => {
    expect(reasons(otlpSpan({ rest }))).toEqual([reason]);
  });

  test("a value that is nested too deeply is kept as text from the limit on, with a warning", () => {
    let value: unknown = { intValue: 1 };
    let expected: unknown = JSON.stringify({ arrayValue: { values: [value] } });
    for (let level = 0; level < 33; level += 1) {
      value = { arrayValue: { values: [value] } };
      expected = level < 32 ? [expected] : expected;
    }
    const span = only(otlpRequest([otlpSpan({ rest: { attributes: [{ key: "a", value }] } })]));
    expect(span.attributes.get("a")).toEqual(expected);
    expect(span.warnings).toEqual(["a has more than 32 levels; those below are kept as text"]);
  });

  test.each([
    ["an integer beyond 64 bits", { intValue: "9223372036854775808" }, "9223372036854775808"],
    ["an integer that is a word", { intValue: "many" }, "many"],
    ["a huge number as integer", { intValue: 1e30 }, 1e30],
    ["a fraction as integer", { intValue: 0.5 }, 0.5],
    ["a boolean that is a word", { boolValue: "perhaps" }, "perhaps"],
  ])("%s is kept as it is, with a warning", (_, value, expected) => {
    const span = only(otlpRequest([otlpSpan({ rest: { attributes: [{ key: "a", value }] } })]));
    expect(span.attributes.get("a")).toBe(expected);
    expect(span.warnings).toHaveLength(1);
    expect(span.warnings[0]).toMatch(/^a is not a (64-bit integer|boolean)$/);
  });

  test.each([["18446744073709551615"], ["-1"], ["soon"], [1e300], [true]])(
    "the start %j is no time: the span is kept without it, with a warning",
    (startTimeUnixNano) => {
      const span = only(otlpRequest([otlpSpan({ rest: { startTimeUnixNano } })]));
      expect(span.startNanos).toBe(0n);
      expect(span.warnings).toEqual([
        `startTimeUnixNano is not a time between 1970-01-01 and 2255-06-05: ${
          startTimeUnixNano === 1e300 ? BigInt(1e300).toString().slice(0, 80) : startTimeUnixNano
        }`,
      ]);
    },
  );

  test("a malformed value of an event, a link or the resource does not reject the span", () => {
    const bad = [{ key: "a", value: { intValue: "many" } }];
    const rest = {
      events: [{ name: "e", timeUnixNano: "soon", attributes: bad }],
      links: [{ traceId: "1", spanId: "2" }],
      attributes: { a: 1 },
    };
    const request = {
      resourceSpans: [{ resource: { attributes: bad }, scopeSpans: [] as object[] }],
    };
    request.resourceSpans[0]!.scopeSpans.push({ spans: [otlpSpan({ rest })] });
    const span = only(request);
    expect(span.links).toEqual([]);
    expect(span.warnings).toEqual([
      "resource: a is not a 64-bit integer",
      "attributes is not a list",
      "event e: timeUnixNano is not a time between 1970-01-01 and 2255-06-05: soon",
      "event e: a is not a 64-bit integer",
      'a link is left out: traceId is not 16 bytes: "1"',
    ]);
  });

  test("the number of warnings of a span is limited", () => {
    const attributes = Array.from({ length: 1_000 }, (_, index) => ({
      key: `${index}${"x".repeat(1_000)}`,
      value: { intValue: "many" },
    }));
    const { warnings } = only(otlpRequest([otlpSpan({ rest: { attributes } })]));
    expect(warnings).toHaveLength(21);
    expect(warnings.at(-1)).toBe("further warnings are left out");
    expect(JSON.stringify(warnings).length).toBeLessThan(10_000);
  });

  test.each([["{"], ["[]"], ["5"], ['"a"'], [""]])("%j is rejected", (body) => {
    expect(() => decodeSpans(Buffer.from(body), "json")).toThrow(
      "the body is not a JSON trace request",
    );
  });

  test("a request without spans is valid", () => {
    expect(decodeSpans(Buffer.from("{}"), "json")).toEqual({ spans: [], spanErrors: [] });
  });

  test("a request may have at most 10,000 spans", () => {
    const spans = Array.from({ length: 10_001 }, (_, id) => ({
      traceId,
      spanId: spanIdOf(id + 1),
    }));
    expect(() => decodeSpans(json(otlpRequest(spans)), "json")).toThrow(
      "10001 spans in one request",
    );
  });
});

describe("protobuf", () => {
  test("decodes the same span as from JSON", () => {
    const attributes = [
      { key: "text", value: { stringValue: "" } },
      { key: "large", value: { intValue: "-9223372036854775808" } },
      { key: "no", value: { boolValue: false } },
      { key: "list", value: { arrayValue: { values: [{ doubleValue: 0.5 }] } } },
      { key: "bytes", value: { bytesValue: "AQI=" } },
      { key: "none", value: {} },
    ];
    const rest = {
      attributes,
      flags: 0x301,
      status: { code: 2, message: "no" },
      traceState: "a=b",
    };
    const span = otlpSpan({ id: 2, parent: 1, events: [{ name: "e" }], rest });
    const bytes = encodeSpans(span);
    const [read] = decodeSpans(bytes, "protobuf").spans;
    const [expected] = decodeSpans(
      json({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
      "json",
    ).spans;
    expect(read).toEqual(expected);
    expect(read).toMatchObject({ isError: true, hasRemoteParent: true });
    expect(read?.attributes.get("large")).toBe(-9_223_372_036_854_775_808n);
  });

  test("text that is not UTF-8 does not reject the span", () => {
    const bytes = encodeSpans({ traceId, spanId: spanIdOf(1), name: "abc" });
    bytes[bytes.indexOf("abc")] = 0xff;
    expect(decodeSpans(bytes, "protobuf").spans[0]?.name).toBe("\uFFFDbc");
  });

  test("fields of newer schemas are ignored", () => {
    const bytes = encodeSpans({ traceId, spanId: spanIdOf(1), name: "abc" });
    const field = protobuf.Writer.create().uint32(8_002).string("newer").finish();
    const { spans } = decodeSpans(Buffer.concat([bytes, field]), "protobuf");
    expect(spans).toHaveLength(1);
  });

  test.each([
    ["cut off", Buffer.from([0x0a, 0x05, 0x01])],
    ["that is not protobuf", Buffer.from("not protobuf at all")],
  ])("a body %s is rejected", (_, bytes) => {
    expect(() => decodeSpans(bytes, "protobuf")).toThrow(
      "the body is not a protobuf trace request",
    );
  });

  test("endless nesting neither overflows the stack nor rejects the span", () => {
    // From the inside out, so each head contains the length of all heads before it.
    const heads: Uint8Array[] = [];
    let length = 0;
    for (let level = 0; level < 20_000; level += 1) {
      for (const tag of [0x0a, 0x2a]) {
        const head = protobuf.Writer.create().uint32(tag).uint32(length).finish();
        heads.push(head);
        length += head.length;
      }
    }
    const span = onlyWithValue(Buffer.concat(heads.toReversed()));
    expect(span.warnings).toEqual(["a has more than 32 levels; those below are kept as text"]);
    let leaf: unknown = span.attributes.get("a");
    while (Array.isArray(leaf)) {
      [leaf] = leaf as readonly unknown[];
    }
    expect(leaf).toMatch(/^[\w+/]{100,}=*$/);
  });

  test("a malformed value is kept as base64, with a warning, beside the other attributes", () => {
    const span = onlyWithValue(Buffer.from([0x0a, 0x05, 0x01]));
    expect([...span.attributes]).toEqual([["a", "CgUB"]]);
    expect(span.warnings).toEqual(["a is malformed; its bytes are kept as base64"]);
  });

  /** A span with the attribute `a`, whose encoded value is given. */
  function onlyWithValue(value: Buffer): Span {
    const attributes = [{ key: "a", value }];
    const encodedSpan = {
      traceId: Buffer.from(traceId, "hex"),
      spanId: Buffer.from(spanIdOf(1), "hex"),
      attributes,
    };
    const request = { resourceSpans: [{ scopeSpans: [{ spans: [encodedSpan] }] }] };
    const body = Buffer.from(
      traceRequestType.encode(traceRequestType.fromObject(request)).finish(),
    );
    const { spans, spanErrors } = decodeSpans(body, "protobuf");
    expect(spanErrors).toEqual([]);
    return spans[0]!;
  }
});
