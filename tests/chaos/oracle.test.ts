import type { ClientStats } from "millrace";
import { describe, expect, test } from "vitest";
import { fingerprint } from "./soak/fingerprint.ts";
import { formatLine, noDottedOrder, parseLine } from "./soak/journal.ts";
import type { Line, Part } from "./soak/journal.ts";
import { counterFaults, memoryFaults, Oracle } from "./soak/oracle.ts";
import type { Verdict } from "./soak/oracle.ts";

const dottedOrder = "20261121T000000000000Za";
const intent = (id: string, part: Part = "start", print = "0123456789abcdef"): Line => ({
  is: "intent",
  id,
  part,
  print,
});
const returned = (id: string, part: Part = "start"): Line => ({
  is: "returned",
  id,
  part,
  dottedOrder,
});
const stored = (id: string, part: Part = "start", print = "0123456789abcdef"): Line => ({
  is: "stored",
  id,
  part,
  print,
  dottedOrder,
});

interface Journals {
  readonly recorded: readonly Line[];
  readonly received: readonly Line[];
  readonly lost?: number;
}

function judge({ recorded, received, lost = 0 }: Journals): Verdict {
  const oracle = new Oracle();
  recorded.forEach((line) => oracle.recorded(line));
  received.forEach((line) => oracle.received(line));
  return oracle.judge({ lost });
}

const startAndEnd = [intent("a"), returned("a"), intent("a", "end"), returned("a", "end")];

describe("the oracle accepts", () => {
  test("all records in any order, including a duplicate with the same content", () => {
    const received = [stored("a", "end"), stored("a"), stored("a", "end")];
    expect(judge({ recorded: startAndEnd, received })).toEqual({
      faults: [],
      intended: 2,
      obliged: 2,
      arrived: 2,
      duplicates: 1,
      marked: 0,
      missing: 0,
    });
  });

  test("a record that was about to be recorded at a kill, whether it arrived or not", () => {
    const recorded = [...startAndEnd, intent("b")];
    const received = [stored("a"), stored("a", "end")];
    expect(judge({ recorded, received }).faults).toEqual([]);
    expect(judge({ recorded, received: [...received, stored("b")] }).faults).toEqual([]);
  });

  test("an attachment that an event replaces, and counts it separately", () => {
    const recorded = [
      ...startAndEnd,
      intent("a", "file"),
      { ...returned("a", "file"), dottedOrder: noDottedOrder } as Line,
    ];
    const received = [
      stored("a"),
      stored("a", "end"),
      { is: "omitted", id: "a", part: "file" } as const,
    ];
    expect(judge({ recorded, received })).toMatchObject({ faults: [], arrived: 3, marked: 1 });
  });

  test("as many missing records as were counted as lost", () => {
    const verdict = judge({ recorded: startAndEnd, received: [stored("a")], lost: 1 });
    expect(verdict).toMatchObject({ faults: [], missing: 1 });
  });
});

describe("the oracle reports", () => {
  const cases: readonly (readonly [string, Journals, RegExp])[] = [
    [
      "a lost run",
      { recorded: startAndEnd, received: [stored("a")] },
      /1 records are missing \(a end\)/,
    ],
    [
      "a run that arrived although it was counted as lost",
      { recorded: startAndEnd, received: [stored("a"), stored("a", "end")], lost: 1 },
      /0 records are missing .* 1 were counted/,
    ],
    [
      "an altered payload",
      { recorded: startAndEnd, received: [stored("a"), stored("a", "end", "ffffffffffffffff")] },
      /a end arrived altered/,
    ],
    [
      "a duplicate with another payload",
      {
        recorded: startAndEnd,
        received: [stored("a"), stored("a", "end"), stored("a", "start", "f".repeat(16))],
      },
      /a start arrived again, altered/,
    ],
    [
      "a duplicate with another dotted order",
      {
        recorded: startAndEnd,
        received: [stored("a"), { ...stored("a", "end"), dottedOrder: "another" } as Line],
      },
      /a has two dotted orders/,
    ],
    [
      "an unknown run",
      { recorded: startAndEnd, received: [stored("a"), stored("a", "end"), stored("z")] },
      /z start arrived and was never recorded/,
    ],
    [
      "an altered record whose call had not returned at a kill",
      { recorded: [intent("b")], received: [stored("b", "start", "f".repeat(16))] },
      /b start arrived altered/,
    ],
    [
      "malformed data at the server",
      { recorded: [], received: [{ is: "malformed", why: "no JSON" }] },
      /received malformed data: no JSON/,
    ],
  ];

  test.each(cases)("%s", (_, story, fault) => {
    const { faults } = judge(story);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
  });

  test("only the first of a thousand faults in full", () => {
    const received = Array.from({ length: 1_000 }, (_, index) => stored(`z${index}`));
    const { faults } = judge({ recorded: [], received });
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)).toBe("and 980 more");
  });
});

describe("counters", () => {
  const stats = (counts: Partial<ClientStats>): ClientStats =>
    ({
      accepted: 10,
      delivered: 4,
      rejected: 1,
      dropped: 2,
      spooled: 2,
      pending: 1,
      lost: { rejected: 1, queueFull: 2 },
      ...counts,
    }) as unknown as ClientStats;

  test("that add up cause no fault", () => {
    expect(counterFaults(stats({}))).toEqual([]);
  });

  test.each<readonly [string, Partial<ClientStats>, RegExp]>([
    ["a record in no state", { accepted: 11 }, /11 records were accepted, and 10/],
    ["a record in two states", { delivered: 5 }, /10 records were accepted, and 11/],
    ["a loss without a reason", { dropped: 3, pending: 0 }, /4 records are lost, and 3 by reason/],
    ["a negative count", { delivered: 6, pending: -1 }, /pending is -1/],
  ])("with %s cause a fault", (_, counts, fault) => {
    expect(counterFaults(stats(counts))).toEqual([expect.stringMatching(fault)]);
  });
});

describe("memory", () => {
  const mebibyte = 1_048_576;
  const bounds = { bufferBytes: 10 * mebibyte, growthBytes: 20 * mebibyte };
  const at = (rssMb: number, bufferMb: number) => ({
    rssBytes: rssMb * mebibyte,
    bufferBytes: bufferMb * mebibyte,
  });
  const flat = Array.from({ length: 40 }, () => at(100, 5));

  test("that stays constant causes no fault, whatever the first quarter was", () => {
    expect(memoryFaults([...flat.slice(0, 9).map(() => at(50, 1)), ...flat], bounds)).toEqual([]);
  });

  test("in buffers beyond the limit causes a fault, even once", () => {
    expect(memoryFaults([...flat, at(100, 11), ...flat], bounds)).toEqual([
      "buffers used 11.0 MiB, more than 10.0 MiB",
    ]);
  });

  test("that grows causes a fault", () => {
    const growing = Array.from({ length: 40 }, (_, index) => at(100 + index, 5));
    expect(memoryFaults(growing, { ...bounds, growthBytes: 15 * mebibyte })).toEqual([
      "the process grew by 20.0 MiB from its second quarter to its last",
    ]);
  });
});

test("a fingerprint depends on the value, but not on the order of its keys", () => {
  expect(fingerprint({ a: 1, b: [{ c: "x", d: null }] })).toBe(
    fingerprint({ b: [{ d: null, c: "x" }], a: 1 }),
  );
  const prints = [{ a: 1 }, { a: "1" }, { a: [1] }, [1], { b: 1 }, { a: null }, {}, "{}", 1];
  expect(new Set(prints.map(fingerprint)).size).toBe(prints.length);
});

test.each([...startAndEnd, stored("a")])(
  "a line of a journal can be written and parsed: $is $part",
  (line) => {
    const text = formatLine(line);
    expect(text.indexOf("\n")).toBe(text.length - 1);
    expect(parseLine(text.trimEnd())).toEqual(line);
    expect(parseLine(text.slice(0, text.lastIndexOf(" ")))).toBeUndefined();
  },
);

test("malformed data is written as one line, whatever it contains", () => {
  const text = formatLine({ is: "malformed", why: "'a b'\n stored" });
  expect(text.indexOf("\n")).toBe(text.length - 1);
  expect(parseLine(text.trimEnd())?.is).toBe("malformed");
});
