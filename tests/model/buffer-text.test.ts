import { expect, test } from "vitest";
import { readLatin1, writeLatin1, writeUtf16, writeUtf8 } from "../../src/model/buffer-text.ts";

test.each(["plain", "", "Köln", "x".repeat(1_000)])(
  "%j goes into shared memory and out of it as Buffer.write and toString have it",
  (text) => {
    const shared = Buffer.from(new SharedArrayBuffer(2_100));
    const wanted = Buffer.alloc(2_100);
    expect(writeLatin1(shared, text, 7)).toBe(wanted.write(text, 7, "latin1"));
    expect(shared.equals(wanted)).toBe(true);
    expect(readLatin1(shared, 7, 7 + text.length)).toBe(text);
    expect(writeUtf16(shared, text, 3)).toBe(wanted.write(text, 3, "utf16le"));
    expect(shared.equals(wanted)).toBe(true);
    expect(writeUtf8(shared, text, 5)).toBe(wanted.write(text, 5));
    expect(shared.equals(wanted)).toBe(true);
  },
);

test("UTF-8 that does not fit is truncated between characters", () => {
  const bytes = Buffer.alloc(8);
  expect(writeUtf8(bytes, "ab€cd", 4)).toBe(2);
  expect(bytes.toString("latin1", 4, 6)).toBe("ab");
});
