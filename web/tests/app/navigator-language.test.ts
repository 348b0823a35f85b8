import { expect, test } from "vitest";
import { repairNavigatorLanguage } from "../../src/app/navigator-language.ts";

test("a language that Intl rejects is replaced by English; a valid one is kept", () => {
  const posix = { language: "en-US@posix" };
  repairNavigatorLanguage(posix);
  expect(new Intl.NumberFormat(posix.language).format(1_000)).toBe("1,000");
  const german = { language: "de-CH" };
  repairNavigatorLanguage(german);
  expect(german.language).toBe("de-CH");
});
