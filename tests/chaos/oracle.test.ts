import type { ClientStats } from "millrace";
import { describe, expect, test } from "vitest";
import { fingerprint } from "./soak/fingerprint.ts";
import { lineText, nowhere, parseLine } from "./soak/journal.ts";
import type { Line, Part } from "./soak/journal.ts";
import { counterFaults, memoryFaults, Oracle } from "./soak/oracle.ts";
import type { Verdict } from "./soak/oracle.ts";

const place = "20261121T000000000000Za";
const will = (id: string, part: Part = "start", print = "0123456789abcdef"): Line => ({
  is: "will",
  id,
  part,
  print,
});
const done = (id: string, part: Part = "start"): Line => ({ is: "done", id, part, place });
const got = (id: string, part: Part = "start", print = "0123456789abcdef"): Line => ({
  is: "got",
  id,
  part,
  print,
  place,
});

interface Story {
  readonly recorded: readonly Line[];
  readonly received: readonly Line[];
  readonly lost?: number;
}

function judged({ recorded, received, lost = 0 }: Story): Verdict {
  const oracle = new Oracle();
  recorded.forEach((line) => oracle.recorded(line));
  received.forEach((line) => oracle.received(line));
  return oracle.judge({ lost });
}

const two = [will("a"), done("a"), will("a", "end"), done("a", "end")];

describe("the oracle is content", () => {
  test("with all that was recorded, in any order, a duplicate that merges included", () => {
    const received = [got("a", "end"), got("a"), got("a", "end")];
    expect(judged({ recorded: two, received })).toEqual({
      faults: [],
      intended: 2,
      obliged: 2,
      arrived: 2,
      duplicates: 1,
      marked: 0,
      missing: 0,
    });
  });

  test("with a record that was about to be made at a kill, whether it arrived or not", () => {
    const recorded = [...two, will("b")];
    const received = [got("a"), got("a", "end")];
    expect(judged({ recorded, received }).faults).toEqual([]);
    expect(judged({ recorded, received: [...received, got("b")] }).faults).toEqual([]);
  });

  test("with an attachment in whose place an event says why, and counts it apart", () => {
    const recorded = [...two, will("a", "file"), { ...done("a", "file"), place: nowhere } as Line];
    const received = [got("a"), got("a", "end"), { is: "left", id: "a", part: "file" } as const];
    expect(judged({ recorded, received })).toMatchObject({ faults: [], arrived: 3, marked: 1 });
  });

  test("where just as many are missing as were counted as lost", () => {
    const verdict = judged({ recorded: two, received: [got("a")], lost: 1 });
    expect(verdict).toMatchObject({ faults: [], missing: 1 });
  });
});

describe("the oracle catches", () => {
  const cases: readonly (readonly [string, Story, RegExp])[] = [
    ["a lost run", { recorded: two, received: [got("a")] }, /1 records are missing \(a end\)/],
    [
      "a run that arrived though it was counted as lost",
      { recorded: two, received: [got("a"), got("a", "end")], lost: 1 },
      /0 records are missing .* 1 were counted/,
    ],
    [
      "an altered payload",
      { recorded: two, received: [got("a"), got("a", "end", "ffffffffffffffff")] },
      /a end arrived altered/,
    ],
    [
      "a duplicate that does not merge: another payload",
      { recorded: two, received: [got("a"), got("a", "end"), got("a", "start", "f".repeat(16))] },
      /a start came again, altered/,
    ],
    [
      "a duplicate that does not merge: another place",
      { recorded: two, received: [got("a"), { ...got("a", "end"), place: "elsewhere" } as Line] },
      /a is in two places/,
    ],
    [
      "an unknown run",
      { recorded: two, received: [got("a"), got("a", "end"), got("z")] },
      /z start arrived and was never recorded/,
    ],
    [
      "an altered record of a kill, though nothing was obliged",
      { recorded: [will("b")], received: [got("b", "start", "f".repeat(16))] },
      /b start arrived altered/,
    ],
    [
      "what the server could not read",
      { recorded: [], received: [{ is: "odd", why: "no JSON" }] },
      /could not read something: no JSON/,
    ],
  ];

  test.each(cases)("%s", (_, story, fault) => {
    const { faults } = judged(story);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
  });

  test("a thousand faults, and says the first of them", () => {
    const received = Array.from({ length: 1_000 }, (_, index) => got(`z${index}`));
    const { faults } = judged({ recorded: [], received });
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

  test("that add up are no fault", () => {
    expect(counterFaults(stats({}))).toEqual([]);
  });

  test.each<readonly [string, Partial<ClientStats>, RegExp]>([
    ["a record in no state", { accepted: 11 }, /11 records were accepted, and 10/],
    ["a record in two states", { delivered: 5 }, /10 records were accepted, and 11/],
    ["a loss without a reason", { dropped: 3, pending: 0 }, /4 records are lost, and 3 by reason/],
    ["a count below nothing", { delivered: 6, pending: -1 }, /pending is -1/],
  ])("%s is one", (_, counts, fault) => {
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

  test("that is flat is no fault, whatever the first quarter was", () => {
    expect(memoryFaults([...flat.slice(0, 9).map(() => at(50, 1)), ...flat], bounds)).toEqual([]);
  });

  test("in buffers beyond the bound is one, even once", () => {
    expect(memoryFaults([...flat, at(100, 11), ...flat], bounds)).toEqual([
      "buffers took 11.0 MiB, beyond 10.0 MiB",
    ]);
  });

  test("that grows is one", () => {
    const growing = Array.from({ length: 40 }, (_, index) => at(100 + index, 5));
    expect(memoryFaults(growing, { ...bounds, growthBytes: 15 * mebibyte })).toEqual([
      "the process grew by 20.0 MiB from its second quarter to its last",
    ]);
  });
});

test("a fingerprint is of what a value says, in whatever order its keys are", () => {
  expect(fingerprint({ a: 1, b: [{ c: "x", d: null }] })).toBe(
    fingerprint({ b: [{ d: null, c: "x" }], a: 1 }),
  );
  const prints = [{ a: 1 }, { a: "1" }, { a: [1] }, [1], { b: 1 }, { a: null }, {}, "{}", 1];
  expect(new Set(prints.map(fingerprint)).size).toBe(prints.length);
});

test.each([...two, got("a")])(
  "a line of a journal is read as it was written: $is $part",
  (line) => {
    const text = lineText(line);
    expect(text.indexOf("\n")).toBe(text.length - 1);
    expect(parseLine(text.trimEnd())).toEqual(line);
    expect(parseLine(text.slice(0, text.lastIndexOf(" ")))).toBeUndefined();
  },
);

test("what the server could not read is one line, whatever it was", () => {
  const text = lineText({ is: "odd", why: "'a b'\n got" });
  expect(text.indexOf("\n")).toBe(text.length - 1);
  expect(parseLine(text.trimEnd())?.is).toBe("odd");
});
