import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createFrameHead,
  frameHeadBytes,
  readSegment,
  parseSalt,
  formatSegmentName,
} from "../../src/workers/spool/spool-format.ts";

const salt = 0xde_ad_be_ef;

const frame = (text: string, by = salt): Buffer => {
  const body = Buffer.from(text, "latin1");
  return Buffer.concat([createFrameHead(body, { kind: 1, recordCount: 1, salt: by }), body]);
};

const segment = (...texts: readonly string[]): Buffer => Buffer.concat(texts.map((t) => frame(t)));

const flip = (bytes: Buffer, at: number): void => {
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
};

/** The valid bodies of a segment, and everything else that the reader reported. */
function read(bytes: Buffer): { readonly bodies: string[]; readonly others: string[] } {
  const bodies: string[] = [];
  const others: string[] = [];
  for (const part of readSegment(bytes, salt)) {
    if (part.is === "frame") {
      bodies.push(part.body.toString("latin1"));
    } else {
      others.push(part.is);
    }
  }
  return { bodies, others };
}

test("written tapes are read in order", () => {
  const texts = ["first", "", "\u0000\u00ff\r\n", "x".repeat(100_000)];
  expect(read(segment(...texts))).toEqual({ bodies: texts, others: [] });
});

describe("damage affects only the frame that contains it", () => {
  const first = frameHeadBytes + "one".length;
  const damages: readonly (readonly [string, (bytes: Buffer) => void, string])[] = [
    ["a bit of a body", (bytes) => flip(bytes, first + frameHeadBytes), "damaged"],
    ["a bit of a magic", (bytes) => flip(bytes, first), "damaged"],
    ["a bit of a checksum", (bytes) => flip(bytes, first + 17), "damaged"],
    ["a huge length", (bytes) => bytes.writeUInt32LE(0xff_ff_ff_ff, first + 8), "damaged"],
    ["zeros", (bytes) => bytes.fill(0, first, first + 10), "damaged"],
  ];

  test.each(damages)("%s", (_, harm, is) => {
    const bytes = segment("one", "two", "three");
    harm(bytes);
    expect(read(bytes)).toEqual({ bodies: ["one", "three"], others: [is] });
  });

  test("a frame of a newer version", () => {
    const [one, two, three] = [frame("one"), frame("two"), frame("three")];
    const newer = frameOfVersion(two, 3);
    expect(read(Buffer.concat([one, newer, three]))).toEqual({
      bodies: ["one", "three"],
      others: ["newer"],
    });
  });

  test("a tail that is cut off at any position", () => {
    const whole = segment("one", "two");
    for (let end = 27 + 1; end < whole.length; end++) {
      expect(read(whole.subarray(0, end))).toEqual({ bodies: ["one"], others: ["torn"] });
    }
  });
});

test("frames of the version before attachments can still be read", () => {
  const old = frameOfVersion(frame("one"), 1);
  expect(read(Buffer.concat([old, frame("two")]))).toEqual({ bodies: ["one", "two"], others: [] });
});

/** A frame with another version and a valid header. */
function frameOfVersion(bytes: Buffer, version: number): Buffer {
  const body = bytes.subarray(frameHeadBytes);
  const found = Buffer.from(bytes);
  found[4] = version;
  // The header's checksum covers the version.
  const head = createFrameHead(body, { kind: 1, recordCount: 1, salt });
  head[4] = version;
  found.writeUInt32LE(crcOf(head.subarray(0, 20)), 20);
  return found;
}

function crcOf(bytes: Buffer): number {
  let crc = ~salt;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xed_b8_83_20 : 0);
    }
  }
  return ~crc >>> 0;
}

test("a frame of another segment inside a body is not accepted when the body's own frame is damaged", () => {
  const bytes = segment(frame("forged", 12_345).toString("latin1"), "next");
  flip(bytes, 0);
  expect(read(bytes)).toEqual({ bodies: ["next"], others: ["damaged"] });
});

test("a body with a million magic numbers is skipped quickly", () => {
  const bytes = segment("RS\u00a5M".repeat(4) + "MRS\u00a5".repeat(1_000_000), "next");
  flip(bytes, 0);
  const began = performance.now();
  expect(read(bytes).bodies).toEqual(["next"]);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test("with any corruption: nothing throws, only written frames are read, and all untouched ones are", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary-ascii", maxLength: 60 }), { minLength: 1, maxLength: 8 }),
      fc.array(fc.record({ at: fc.nat(600), value: fc.nat(255) }), { maxLength: 6 }),
      fc.option(fc.nat(600), { nil: undefined }),
      (texts, changes, cut) => {
        const whole = segment(...texts);
        const harmed = Buffer.from(whole.subarray(0, cut ?? whole.length));
        for (const { at, value } of changes) {
          if (at < harmed.length) {
            harmed[at] = value;
          }
        }
        const intact: string[] = [];
        let at = 0;
        for (const text of texts) {
          const end = at + frameHeadBytes + text.length;
          if (end <= harmed.length && harmed.subarray(at, end).equals(whole.subarray(at, end))) {
            intact.push(text);
          }
          at = end;
        }
        expect(read(harmed).bodies).toEqual(intact);
      },
    ),
    { numRuns: 500 },
  );
});

test("random bytes contain no frame", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (noise) => {
      expect(read(Buffer.from(noise)).bodies).toEqual([]);
    }),
  );
});

test("a segment's name contains its salt; other names do not", () => {
  expect(parseSalt(formatSegmentName(7, 0xff))).toBe(0xff);
  expect(formatSegmentName(7, 0xff)).toBe("00000007-000000ff.seg");
  expect(["x.seg", "00000007-000000ff.seg.bad", "notes.txt"].map(parseSalt)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
