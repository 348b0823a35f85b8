import * as fc from "fast-check";
import { expect, test } from "vitest";
import { MaskedText, SecretMask } from "../secret-mask.ts";

const key = "sk-secret/0123+ä";

test("a key is masked in a text that arrives in parts of any size, and the rest stays", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("sk-", "se", "cret", "/0123+ä", key, " and ", "s"), {
        maxLength: 12,
      }),
      fc.array(fc.nat(60), { maxLength: 10 }),
      (words, cuts) => {
        const text = words.join("");
        const masked = new MaskedText(new SecretMask(key));
        const ends = [...cuts.map((cut) => Math.min(cut, text.length)), text.length].toSorted(
          (a, b) => a - b,
        );
        let result = "";
        let start = 0;
        for (const end of ends) {
          result += masked.push(text.slice(start, end));
          start = end;
        }
        expect(result + masked.end()).toBe(text.replaceAll(key, "[key]"));
      },
    ),
  );
});

test("the forms in which an endpoint may echo a key are masked", () => {
  const mask = new SecretMask('a"b/c d');
  expect(mask.mask('key a"b/c d')).toBe("key [key]");
  expect(mask.mask(JSON.stringify({ key: 'a"b/c d' }))).toBe('{"key":"[key]"}');
  expect(mask.mask(encodeURIComponent('a"b/c d'))).toBe("[key]");
  expect(mask.mask(Buffer.from('a"b/c d').toString("base64"))).toBe("[key]");
  expect(new SecretMask(undefined).mask("undefined")).toBe("undefined");
});
