import { expect, test } from "vitest";
import {
  describeVersionAuthor,
  getVersionAuthorName,
  parseVersionAuthor,
} from "../../../src/features/datasets/version-author.ts";

const parse = (name: string | null, keyName: string | null, client: string | null) =>
  parseVersionAuthor({ name, key_name: keyName, client });

test("an author is named by the person, else by the API key, else by the program", () => {
  expect(getVersionAuthorName(parse("Ada", "laptop", "browser"))).toBe("Ada");
  expect(getVersionAuthorName(parse(null, "laptop", "browser"))).toBe("laptop");
  expect(getVersionAuthorName(parse(null, null, "browser"))).toBe("Browser");
  expect(getVersionAuthorName(parse(null, null, "rule"))).toBe("Rule");
  expect(getVersionAuthorName(parse(null, null, "millrace 1.0.0"))).toBe("millrace 1.0.0");
});

test("the description says all that is known, and why nothing is known of an old version", () => {
  expect(describeVersionAuthor(parse("Ada", "laptop", "browser"))).toBe(
    "Ada, API key laptop, Browser",
  );
  expect(parseVersionAuthor(null)).toBeUndefined();
  expect(getVersionAuthorName(undefined)).toBe("Unknown");
  expect(describeVersionAuthor(undefined)).toBe(
    "The version was written before authors were recorded",
  );
});
