import { expect, test } from "vitest";
import { dividePayload, encodeParts, maxDepth, readRest } from "../divide-payload.ts";
import { maxSharedTexts, moveText, selectShareable } from "../shareable-text.ts";
import type { ShareableText } from "../shareable-text.ts";

const textOf = (start: number, end: number, rest: Partial<ShareableText> = {}): ShareableText => ({
  start,
  end,
  hashes: [`${start}-${end}`],
  ends: [end],
  isRepeated: true,
  ...rest,
});
const payload = Buffer.from(Array.from({ length: 30_000 }, (_, index) => 97 + (index % 26)));

test("a payload without known, repeated or long texts is not divided", () => {
  const depths = new Map<string, number>();
  const texts = [textOf(10, 600, { isRepeated: false, hashes: ["a", "b"], ends: [300, 600] })];
  expect(dividePayload(payload.length, texts, depths)).toBeUndefined();
  expect(dividePayload(payload.length, [], depths)).toBeUndefined();
  expect([...depths]).toEqual([]);
});

test("the parts and the rest of a payload are the payload, whichever texts are shared", () => {
  const depths = new Map([["known", 3]]);
  const texts = [
    textOf(0, 300),
    textOf(400, 900, { hashes: ["known"], isRepeated: false }),
    textOf(900, 1_300, { hashes: ["short", "new"], ends: [1_000, 1_300], isRepeated: false }),
    textOf(2_000, 20_000, { isRepeated: false }),
  ];
  const divided = dividePayload(payload.length, texts, depths);
  if (divided === undefined) {
    throw new Error("the payload was not divided");
  }
  const bodies = new Map([
    ["known", payload.subarray(400, 900)],
    ...divided.added.map(({ hash, start, end }) => [hash, payload.subarray(start, end)] as const),
  ]);
  expect(divided.added.map(({ hash }) => hash)).toEqual(["0-300", "2000-20000"]);
  const rest = readRest(payload, divided);
  const [bytes, ...parts] = JSON.parse(encodeParts(divided, payload.length, (hash) => hash)) as [
    number,
    ...(readonly [number, number, string?])[],
  ];
  const joined = parts.flatMap(([start, length, hash]) => [
    rest.subarray(start, start + length),
    ...(hash === undefined ? [] : [bodies.get(hash) ?? Buffer.alloc(0)]),
  ]);
  expect(bytes).toBe(payload.length);
  expect(Buffer.concat(joined).equals(payload)).toBe(true);
  expect(rest.length).toBe(payload.length - 300 - 500 - 18_000);
});

test("a list continues its longest known beginning, unless that one is too short or too deep", () => {
  const list = textOf(100, 2_000, {
    hashes: ["tiny", "first", "second", "own"],
    ends: [200, 500, 1_000, 2_000],
    isRepeated: false,
  });
  const divide = (known: readonly (readonly [string, number])[]) =>
    dividePayload(payload.length, [list], new Map(known))?.added;
  expect(
    divide([
      ["first", 0],
      ["second", 7],
    ]),
  ).toEqual([{ hash: "own", base: "second", depth: 8, start: 1_000, end: 2_000 }]);
  expect(
    divide([
      ["first", 1],
      ["second", maxDepth],
    ]),
  ).toEqual([{ hash: "own", base: "first", depth: 2, start: 500, end: 2_000 }]);
  expect(divide([["tiny", 0]])).toBeUndefined();
  expect(divide([["own", maxDepth]])).toEqual([]);
});

test("texts that are added can be continued by the next one", () => {
  const depths = new Map<string, number>();
  dividePayload(payload.length, [textOf(0, 300, { hashes: ["one"] })], depths);
  const next = textOf(0, 700, { hashes: ["one", "two"], ends: [300, 700] });
  expect(dividePayload(payload.length, [next], depths)?.added).toEqual([
    { hash: "two", base: "one", depth: 1, start: 300, end: 700 },
  ]);
});

test("short texts, and texts that begin or end within a character, are not shareable", () => {
  const bytes = Buffer.from("水".repeat(400));
  const select = (...texts: readonly ShareableText[]): readonly ShareableText[] =>
    selectShareable(texts, bytes);
  const whole = textOf(3, 603);
  expect(select(whole, textOf(3, 30), textOf(604, 1_200), textOf(603, 1_199))).toEqual([whole]);
  expect(select(textOf(3, 603, { isRepeated: false }))).toEqual([]);
  expect(select(textOf(3, 603, { hashes: ["a", "b"], ends: [301, 603] }))).toEqual([]);
});

test("a payload shares its longest texts, in their order", () => {
  const texts = Array.from({ length: maxSharedTexts + 2 }, (_, index) =>
    textOf(index * 500, index * 500 + 300 + (index % 3)),
  );
  const selected = selectShareable(texts, payload);
  expect(selected).toHaveLength(maxSharedTexts);
  expect(
    texts.filter((text) => !selected.includes(text)).map(({ end, start }) => end - start),
  ).toEqual([300, 300]);
  expect(selected).toEqual(texts.filter((text) => selected.includes(text)));
});

test("moving a text moves all of its positions", () => {
  expect(moveText(textOf(1, 9, { hashes: ["a", "b"], ends: [4, 9] }), 10)).toMatchObject({
    start: 11,
    end: 19,
    ends: [14, 19],
  });
});
