import { describe, expect, test } from "vitest";
import {
  contains,
  editSimilarity,
  embeddingSimilarity,
  exactMatch,
  jsonEquality,
  llmJudge,
  matchesRegex,
  numericCloseness,
} from "../../src/evaluation/index.ts";
import type { Scorer } from "../../src/evaluation/index.ts";
import { createNamedId, IdCounter, RowIds, rowNamespace } from "../../src/evaluation/ids.ts";
import {
  DifferenceStatistics,
  permutationTest,
  signTest,
} from "../../src/evaluation/significance.ts";

/** Calls a scorer without a server. */
const score = async (
  scorer: Scorer,
  outputs: unknown,
  referenceOutputs?: unknown,
): Promise<unknown> =>
  scorer.evaluate({ inputs: { q: 1 }, outputs, referenceOutputs } as Parameters<
    Scorer["evaluate"]
  >[0]);

describe("scorers", () => {
  test.each<[string, Scorer, unknown, unknown, unknown]>([
    ["equal", exactMatch(), { answer: "a" }, { answer: "a" }, true],
    ["equal texts of different members", exactMatch(), "a", { answer: "a" }, true],
    ["unequal", exactMatch(), "a", "b", false],
    ["by path", exactMatch({ path: "a.0.b" }), { a: [{ b: 1 }], c: 2 }, { a: [{ b: 1 }] }, true],
    ["a fixed value", exactMatch({ expected: 5 }), 5, undefined, true],
    ["JSON", jsonEquality(), { a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }, { score: 1 }],
    [
      "JSON that differs",
      jsonEquality(),
      { a: 1, b: [1, 3], c: 0 },
      { a: 1, b: [1, 2] },
      { score: 0.5, comment: "different: b.1, c" },
    ],
    [
      "JSON without a path",
      jsonEquality({ ignore: ["b.1", "c"] }),
      { a: 1, b: [1, 3], c: 0 },
      { a: 1, b: [1, 2] },
      { score: 1 },
    ],
    ["a contained text", contains(), "Hello world", "world", { score: true }],
    [
      "one of several texts",
      contains({ expected: ["hello", "moon"], ignoreCase: true }),
      "Hello world",
      undefined,
      { score: false, comment: "missing: moon" },
    ],
    ["a pattern", matchesRegex(/^\d+$/g), { answer: "123" }, undefined, true],
    ["another pattern", matchesRegex(/^\d+$/), "12a", undefined, false],
    ["equal numbers", numericCloseness(), "1.5", 1.5, 1],
    ["a number near by", numericCloseness({ relativeTolerance: 0.1 }), 109, 100, 1],
    ["a number not so near", numericCloseness({ tolerance: 1 }), 150, 100, 0.5],
    ["similar texts", editSimilarity(), "kitten", "sitten", 1 - 1 / 6],
    ["empty texts", editSimilarity(), "", "", 1],
  ])("%s", async (_, scorer, outputs, reference, expected) => {
    const result = await score(scorer, outputs, reference);
    expect(typeof result === "number" ? Number(result.toFixed(10)) : result).toEqual(
      typeof expected === "number" ? Number(expected.toFixed(10)) : expected,
    );
  });

  test("embeddings and a judge are the caller's functions", async () => {
    const vectors: Record<string, number[]> = { cat: [1, 0], kitten: [1, 1], stone: [-1, 0] };
    const similarity = embeddingSimilarity({
      embed: (texts) => texts.map((text) => vectors[text] ?? []),
    });
    expect(await score(similarity, "kitten", "cat")).toBeCloseTo(Math.SQRT1_2);
    expect(await score(similarity, "stone", "cat")).toBe(0);
    const prompts: string[] = [];
    const judge = llmJudge({
      key: "polite",
      criteria: "Is the answer polite?",
      judge: async ({ prompt }) => {
        prompts.push(prompt);
        await Promise.resolve();
        return { score: 1, comment: "yes" };
      },
    });
    expect(judge.name).toBe("polite");
    expect(await score(judge, { answer: "please" }, { answer: "thanks" })).toEqual({
      score: 1,
      comment: "yes",
    });
    expect(prompts).toEqual([
      'Is the answer polite?\n\nInputs:\n{"q":1}\n\nOutputs to judge:\n{"answer":"please"}\n\nExpected:\n{"answer":"thanks"}',
    ]);
  });

  test("what can't be judged is an error that says why", async () => {
    await expect(async () => score(exactMatch(), "a")).rejects.toThrow(
      "the example has no reference outputs",
    );
    await expect(async () => score(exactMatch({ path: "b" }), { a: 1 }, { b: 1 })).rejects.toThrow(
      'there is no member "b"',
    );
    await expect(async () => score(numericCloseness(), "many", 3)).rejects.toThrow(
      "many is not a number",
    );
    await expect(async () =>
      score(editSimilarity(), "a".repeat(20_000), "b".repeat(20_000)),
    ).rejects.toThrow("too long");
    expect(() => exactMatch({ pth: "a" } as object)).toThrow(
      "exactMatch: unknown option `pth`; did you mean `path`?",
    );
    expect(() => matchesRegex("a" as unknown as RegExp)).toThrow("pass a regular expression");
  });
});

describe("ids", () => {
  test("are those of RFC 9562", () => {
    expect(createNamedId("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com")).toBe(
      "2ed6657d-e927-568b-95e1-2665a8aea6a2",
    );
  });

  test("of equal content differ by occurrence, and are the same each time", () => {
    const create = () => {
      const ids = new RowIds(rowNamespace);
      return ["a", "b", "a", "a"].map((inputs) => ids.create({ inputs }));
    };
    expect(new Set(create()).size).toBe(4);
    expect(create()).toEqual(create());
  });

  test("are counted in a table that grows", () => {
    const counter = new IdCounter();
    const ids = Array.from({ length: 20_000 }, (_, index) =>
      createNamedId("0f5f7c1e-6a55-4d0c-9d3f-5d7f2f0c6b11", String(index)),
    );
    expect(ids.every((id) => counter.add(id) === 1)).toBe(true);
    expect(ids.every((id) => counter.has(id))).toBe(true);
    expect(counter.add(ids[7] ?? "")).toBe(2);
    expect(counter.has(createNamedId("0f5f7c1e-6a55-4d0c-9d3f-5d7f2f0c6b11", "other"))).toBe(false);
  });
});

describe("significance", () => {
  test("the sign test is exact, and close to the normal distribution where it is approximated", () => {
    expect(signTest(0, 0)).toBe(1);
    expect(signTest(5, 5)).toBe(1);
    expect(signTest(0, 5)).toBeCloseTo(2 / 32);
    expect(signTest(1, 9)).toBeCloseTo((2 * 11) / 1_024);
    // 450 of 1,000 is exact, and of 1,001 approximated.
    expect(signTest(450, 551)).toBeCloseTo(signTest(450, 550), 3);
    expect(signTest(20_000, 21_000)).toBeLessThan(1e-5);
  });

  test("the permutation test counts the divisions that are as unequal", () => {
    expect(permutationTest([1, 1, 1], [0, 0, 0])).toBeCloseTo(2 / 20);
    expect(permutationTest([1, 0], [0, 1])).toBe(1);
    expect(permutationTest([1], [0, 0])).toBeUndefined();
    expect(
      permutationTest(
        Array.from({ length: 12 }, () => 1),
        Array.from({ length: 12 }, () => 0),
      ),
    ).toBeUndefined();
  });

  test("average, deviation and interval of differences", () => {
    const statistics = new DifferenceStatistics();
    [2, 4, 4, 4, 5, 5, 7, 9].forEach((value) => statistics.add(value));
    expect(statistics.mean).toBe(5);
    expect(statistics.deviation).toBeCloseTo(2.138, 3);
    expect(statistics.interval?.[0]).toBeCloseTo(5 - (1.96 * 2.138) / Math.sqrt(8), 3);
  });
});
