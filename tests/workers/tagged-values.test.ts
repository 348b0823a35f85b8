import { anything, assert, jsonValue, property } from "fast-check";
import { expect, test } from "vitest";
import { Tape } from "../../src/tracing/tape/tape.ts";
import { TapeWriter } from "../../src/tracing/tape/tape-writer.ts";
import { ValueWriter } from "../../src/tracing/tape/value-writer.ts";
import { RecordWriter } from "../../src/workers/exchange/record-writer.ts";
import { readTaggedValue, skipTaggedValue } from "../../src/workers/exchange/tagged-values.ts";
import { recordHeadBytes } from "../../src/model/records/tape-format.ts";

const isSame = (left: unknown, right: unknown): void =>
  expect(JSON.stringify(left)).toBe(JSON.stringify(right));

test("any JSON value that is written is read again", () => {
  assert(
    property(jsonValue({ noUnicodeString: false }), (value) => {
      const out = new RecordWriter(0);
      out.writeValue(value);
      const read = readTaggedValue(out, 0);
      isSame(read.value, value);
      expect(read.end).toBe(out.length);
      expect(skipTaggedValue(out, 0)).toBe(out.length);
    }),
  );
});

test("whatever the main thread writes to a tape can be read and skipped", () => {
  assert(
    property(anything({ withBigInt: true, withDate: true, withTypedArray: true }), (value) => {
      const writer = new TapeWriter(new Tape(4_096), (size) => new Tape(2 * size));
      writer.beginRecord("post");
      new ValueWriter(writer).write(value);
      const length = writer.endRecord();
      expect(readTaggedValue(writer.tape, recordHeadBytes).end).toBe(length);
      expect(skipTaggedValue(writer.tape, recordHeadBytes)).toBe(length);
    }),
  );
});

test("texts of all lengths and encodings are read as they were written", () => {
  const texts = [
    "",
    "a".repeat(127),
    "a".repeat(128),
    "é".repeat(64),
    "漢".repeat(50),
    "\ud800x",
    "😀",
  ];
  const out = new RecordWriter(0);
  out.writeValue(texts);
  expect(readTaggedValue(out, 0).value).toEqual(texts);
});

test("numbers are read as they were written", () => {
  const numbers = [0, -1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 1.5, 1e300, Number.MAX_SAFE_INTEGER];
  const out = new RecordWriter(0);
  out.writeValue(numbers);
  expect(readTaggedValue(out, 0).value).toEqual(numbers);
});

test("what is nested too deeply is replaced by a marker, and a key __proto__ is kept", () => {
  let value: unknown = 1;
  for (let level = 0; level < 600; level++) {
    value = [value];
  }
  const out = new RecordWriter(0);
  out.writeValue(value);
  expect(JSON.stringify(readTaggedValue(out, 0).value)).toBe(
    `${"[".repeat(500)}"[too deep: 500 levels]"${"]".repeat(500)}`,
  );
  const other = new RecordWriter(0);
  other.writeValue(JSON.parse('{"__proto__": {"a": 1}}'));
  isSame(readTaggedValue(other, 0).value, JSON.parse('{"__proto__": {"a": 1}}'));
});

test("bytes that are no value are refused", () => {
  const out = new RecordWriter(0);
  out.writeTag(99);
  expect(() => readTaggedValue(out, 0)).toThrow(RangeError);
  expect(() => skipTaggedValue(out, 0)).toThrow(RangeError);
});
