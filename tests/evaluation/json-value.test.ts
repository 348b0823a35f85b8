import { expect, test } from "vitest";
import { toJsonValue } from "../../src/evaluation/rows/json-value.ts";

const throwingGetter: PropertyDescriptor = {
  enumerable: true,
  get: () => {
    throw new Error("closed");
  },
};

test("a getter that throws costs only its member, which is named with its path", () => {
  const value = { list: [Object.defineProperty({ a: 1 }, "b", throwingGetter)] };
  expect(toJsonValue(value, "outputs")).toEqual({
    json: { list: [{ a: 1, b: "[unserializable]" }] },
    problems: [`outputs.list[0].b can't be read (closed); it is stored as "[unserializable]"`],
  });
});

test("no more than five problems are reported, also of getters", () => {
  const value = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`fn${n}`, () => n]));
  for (let n = 0; n < 20; n++) {
    Object.defineProperty(value, `getter${n}`, throwingGetter);
  }
  const { json, problems } = toJsonValue(value, "outputs");
  expect(problems).toHaveLength(5);
  expect(Object.values(json as object)).toHaveLength(40);
  const getters = Object.defineProperties(
    {},
    Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`getter${n}`, throwingGetter])),
  );
  expect(toJsonValue(getters, "outputs").problems).toHaveLength(5);
});
