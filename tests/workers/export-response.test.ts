import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readPartialSuccess, toErrorText } from "../../src/workers/otlp/export-response.ts";
import { encodePartialSuccess } from "../support/otlp-collector.ts";

test("the number of rejected spans and the reason are read from protobuf", () => {
  fc.assert(
    fc.property(fc.nat(), fc.string({ unit: "grapheme" }), (rejectedSpans, message) => {
      const body = encodePartialSuccess(rejectedSpans, message);
      expect(readPartialSuccess(body)).toEqual({ rejectedSpans, message });
    }),
  );
});

test.each([
  ['{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}', 2, "no"],
  ['{"partialSuccess":{"rejectedSpans":3}}', 3, ""],
  ['{"partialSuccess":{"rejectedSpans":-1,"errorMessage":7}}', 0, ""],
  ['{"partialSuccess":null}', 0, ""],
  ["{}", 0, ""],
  ['{"broken', 0, ""],
])("they are read from JSON: %s", (json, rejectedSpans, message) => {
  expect(readPartialSuccess(Buffer.from(json))).toEqual({ rejectedSpans, message });
});

test("a response of any other form rejects nothing", () => {
  expect(readPartialSuccess(Buffer.alloc(0))).toEqual({ rejectedSpans: 0, message: "" });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(readPartialSuccess(Buffer.from(bytes)).rejectedSpans).toBeGreaterThanOrEqual(0);
    }),
  );
});

test("an error message is readable although its encoding is removed", () => {
  expect(toErrorText("\u0008\u0003\u0012\u001abad span\n\ufffd")).toBe("bad span");
  expect(toErrorText('{"error":"no"}')).toBe('{"error":"no"}');
});
