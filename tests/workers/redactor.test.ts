import { assert, jsonValue, property, string } from "fast-check";
import { expect, test } from "vitest";
import type { RedactionRule } from "../../src/model/options/redaction.ts";
import { headOffset, redactionState } from "../../src/model/records/tape-format.ts";
import { checkAttachments, writeAttachments } from "../../src/tracing/tape/attachment-writer.ts";
import { Tape } from "../../src/tracing/tape/tape.ts";
import { TapeWriter } from "../../src/tracing/tape/tape-writer.ts";
import { Redactor } from "../../src/workers/redaction/redactor.ts";
import { bytesOf, jsonOf, planOf, redacted, tapeOf } from "../support/redaction.ts";

function attachedTape(fields: Readonly<Record<string, unknown>>): Tape {
  const writer = new TapeWriter(new Tape(65_536), (atLeast) => new Tape(atLeast * 2));
  const rules = { attachmentBytes: 10_000, dangerouslyAllowFilesystem: false };
  writer.beginRecord("post");
  writeAttachments(writer, checkAttachments(fields, rules));
  writer.endRecord();
  return writer.tape;
}

/** The texts of a value, without the names inside of masks. */
function leaves(value: unknown): readonly string[] {
  if (typeof value === "string") {
    return [value.replace(/\[(?:vowel|secret|email|card|k)\]/g, "")];
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [];
}

// The prefixes are separate, so that no scanner takes this file for a leak.
const samples = Object.fromEntries(
  (
    [
      ["openai", "sk-proj-", "a1B2".repeat(8)],
      ["anthropic", "sk-ant-api03-", "Zz09_-".repeat(8)],
      ["stripe", "rk_live_", "x".repeat(24)],
      ["langsmith", "lsv2_pt_", `${"0f".repeat(16)}_${"ab".repeat(5)}`],
      ["github", "ghp_", "A9".repeat(18)],
      ["fineGrained", "github_pat_", "11ABCDEFG0".repeat(3)],
      ["gitlab", "glpat-", "x1Y2".repeat(5)],
      ["slack", "xoxb-", "1234567890-abcdefABCDEF"],
      ["aws", "AKIA", "ABCDEFGH12345678"],
      ["google", "AIza", "Sy0_-".repeat(7)],
      ["jwt", "eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.s1gn4ture-_"],
      ["pem", "-----BEGIN RSA ", "PRIVATE KEY-----\nMIIE\n+/ab==\n-----END RSA PRIVATE KEY-----"],
      ["huggingFace", "hf_", "QwErTy".repeat(5)],
    ] as const
  ).map(([name, head, rest]) => [name, head + rest]),
);

test.each(Object.entries(samples))(
  "a secret within a text is masked completely: %s",
  (_name, secret) => {
    const shown = redacted({ text: `before ${secret}, after` }, ["secrets"]);
    const mask = `[secret]${"*".repeat(secret.length - 8)}`;
    expect(shown).toEqual({ text: `before ${mask}, after` });
  },
);

test.each([
  ["Authorization: Bearer abcdefgh.12345", "abcdefgh.12345"],
  ["postgres://admin:hunter22!@db:5432/x", "hunter22!"],
  ['{"password": "hunter2222"}', "hunter2222"],
  [JSON.stringify(JSON.stringify({ api_key: "hunter2222" })), "hunter2222"],
  ["export DB_PASSWORD=hunter2222", "hunter2222"],
])("only the secret is masked, not the text that introduces it: %s", (text, secret) => {
  expect(redacted([text], ["secrets"])).toEqual([
    text.replace(secret, secret.length >= 8 ? `[secret]${"*".repeat(secret.length - 8)}` : "*"),
  ]);
});

const phrase = "correct horse battery staple";
const escapedOnce = JSON.stringify(JSON.stringify({ password: phrase, kept: "text" }));

test.each([
  ["JSON", JSON.stringify({ password: phrase, kept: "text" }), phrase],
  ["JSON with blanks", `{"api_key": "my secret key value", "kept": "text"}`, "my secret key value"],
  ["a key with a prefix", `{"client_secret":"s3cr3t value here"}`, "s3cr3t value here"],
  ["an assignment", `password="correct horse battery" kept=text`, "correct horse battery"],
  [
    "another quote",
    `{'dbPassword': 'correct "horse" battery', 'kept': 1}`,
    `correct "horse" battery`,
  ],
  [
    "an escaped quote",
    String.raw`{"password":"a \"b\" c\\\\","kept":"text"}`,
    String.raw`a \"b\" c\\\\`,
  ],
  ["a short value", `{"password":"ab","kept":"text"}`, "ab"],
  ["authorization", `{"authorization":"Token abcdef1234567","kept":1}`, "Token abcdef1234567"],
  ["a cookie", `{"cookie":"sid=abcdef123456; b=2"}`, "sid=abcdef123456; b=2"],
  ["escaped JSON", String.raw`{\"password\":\"a b\",\"kept\":\"text\"}`, "a b"],
  ["JSON in JSON", escapedOnce, phrase],
  ["JSON in JSON in JSON", JSON.stringify(escapedOnce), phrase],
  [
    "an escaped quote in JSON in JSON",
    JSON.stringify({ arguments: JSON.stringify({ secret: `a "b" \\ c`, kept: "text" }) }),
    JSON.stringify(JSON.stringify(`a "b" \\ c`)).slice(3, -3),
  ],
  ["line breaks", `PASSWORD="correct\nhorse"\nkept`, "correct\nhorse"],
  ["a text that was cut", `{"kept":"text","password":"correct hor`, "correct hor"],
])("a quoted secret within a text is masked up to its closing quote: %s", (_name, text, secret) => {
  const mask =
    secret.length < 8 ? "*".repeat(secret.length) : `[secret]${"*".repeat(secret.length - 8)}`;
  expect(text).toContain(secret);
  expect(redacted([text], ["secrets"])).toEqual([text.replace(secret, () => mask)]);
});

test.each([
  `{"required":["password"],"properties":{"password":{"type":"string"}}}`,
  `{"password":"","kept":"text"}`,
  `{"type":"password","label":"Your password"}`,
  `The cookie: it crumbles. Authorization: required. "token":"Hel"`,
])("a text that only names a secret is not masked: %s", (text) => {
  expect(redacted([text], ["secrets"])).toEqual([text]);
});

test.each([
  ["names without an end", `password="`.repeat(50_000)],
  ["backslashes", `password=${"\\".repeat(500_000)}`],
  ["a quote that stays open", `{"password":'${"a\\".repeat(250_000)}`],
  ["escaped quotes", String.raw`password=\"a\\"`.repeat(40_000)],
])("a hostile text takes linear time: %s", (_name, text) => {
  const start = performance.now();
  redacted([text], ["secrets"]);
  expect(performance.now() - start).toBeLessThan(3_000);
});

test("any value under a secret key is masked; its neighbours are not", () => {
  const value = {
    dbPassword: "abc",
    "X-Api-Key": "0123456789",
    access_token: 12_345_678_901,
    cookie: 7,
    credentials: { user: "ada", roles: ["admin"], active: true, none: null },
    total_tokens: 17,
    token: "Hel",
    passage: "kept",
  };
  expect(redacted(value, ["secrets"])).toEqual({
    dbPassword: "***",
    "X-Api-Key": "[secret]**",
    access_token: "********",
    cookie: "****",
    credentials: { user: "***", roles: ["*****"], active: null, none: null },
    total_tokens: 17,
    token: "Hel",
    passage: "kept",
  });
});

const hidden = "hunter2-and-more";

test.each([
  [
    "a pair of a list",
    {
      headers: [
        ["authorization", hidden],
        ["accept", "text/html"],
      ],
    },
  ],
  ["a pair whose value is no text", [["x-api-key", { parts: [hidden] }], "text/html"]],
  ["names and values in turn", { rawHeaders: ["Accept", "text/html", "Cookie", hidden] }],
  ["a name next to its value", [{ name: "password", value: hidden, kept: "text/html" }]],
  ["a value before its name", { value: [hidden], key: "api_key", kept: "text/html" }],
  ["an element", `<user kept="text/html"><password>${hidden}</password></user>`],
  ["an element with attributes and a prefix", `text/html <a:dbPassword x="y">\n ${hidden}</a>`],
  ["character data", `<api-key><![CDATA[${hidden}]]></api-key> text/html`],
  ["an escaped element", `text/html &lt;secret&gt;${hidden}&lt;/secret&gt; after`],
  ["a percent-encoded name in a text", `https://x.example/?api%5Fkey=${hidden}&a=text/html`],
  ["a percent-encoded assignment", `text/html%26password%3D${hidden}%26b`],
  ["a percent-encoded name of a member", { "api%5Fkey": hidden, kept: "text/html" }],
  ["base64", `text/html ${Buffer.from(`password=${hidden}`).toString("base64")}`],
  [
    "base64 of JSON",
    {
      kept: "text/html",
      body: Buffer.from(JSON.stringify({ api_key: hidden, ü: "ü".repeat(80) })).toString(
        "base64url",
      ),
    },
  ],
  ["characters without width in a name", `text/html pass\u200bword=${hidden}`],
  ["characters without width in a member's name", { "pass\u200bword": hidden, kept: "text/html" }],
  ["full-width letters in a name", `text/html \uff50assword: ${hidden}`],
  [
    "full-width letters in a member's name",
    { "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44": hidden, kept: "text/html" },
  ],
  [
    "a field of a form",
    `--x\r\nContent-Disposition: form-data; name="password"\r\n\r\n${hidden}\r\n--x text/html`,
  ],
])("a secret is recognized in each form, and its neighbours are not masked: %s", (_name, value) => {
  const shown = JSON.stringify(redacted(value, ["secrets"]));
  expect(shown).not.toContain(hidden);
  expect(shown).not.toContain(Buffer.from(hidden).toString("base64").slice(4, 12));
  expect(shown).toMatch(/\*{4}/);
  expect(shown).toContain("text/html");
});

test("a key of a known format is masked completely although it contains zero-width characters", () => {
  const key = samples["openai"] ?? "";
  const split = `${key.slice(0, 12)}\u200b${key.slice(12)}`;
  expect(redacted([`\u200bab ${split}\u200b cd`], ["secrets"])).toEqual([
    `\u200bab [secret]${"*".repeat(key.length + 3 - 8)}\u200b cd`,
  ]);
  expect(redacted(["ada%40example.org, j%C3%BCrgen%40x.example"], ["emails"])).toEqual([
    `[email]${"*".repeat("ada%40example.org".length - 7)}, [email]${"*".repeat("j%C3%BCrgen%40x.example".length - 7)}`,
  ]);
});

test("other names, and lists of names, are not masked", () => {
  const value = {
    required: ["password", "name"],
    pairs: [["accept", "text/html"], ["password"], ["password", "a", "b"]],
    tool: { name: "reset", value: "kept" },
    path: "/usr/local/share/doc/packages/index-of-everything",
    sum: "ZDk0YjM4ZDk4ZjU5MTg2NzQ5ZTg0ZjM0NWI2",
    image: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xd, 0xa, 0x1a, 0xa, 0, 0, 0, 0xd])
      .toString("base64")
      .repeat(9),
    percent: "100%25 of %zz, 50% off",
  };
  expect(redacted(value, ["secrets"])).toEqual(value);
});

test("the client's own key is masked at any position", () => {
  expect(redacted({ headers: ["x", "my own key"] }, ["secrets"], "own")).toEqual({
    headers: ["x", "my *** key"],
  });
});

test("email addresses are masked next to and within non-ASCII text", () => {
  const wide = "ж".repeat(200);
  const value = {
    a: "ask ada@example.org.",
    b: `${wide} jürgen@müller.example ok`,
    c: "é ada@x.io",
  };
  expect(redacted(value, ["emails"])).toEqual({
    a: "ask [email]********.",
    b: `${wide} [email]${"*".repeat(14)} ok`,
    c: "é [email]*",
  });
});

test.each([
  ["4111 1111 1111 1111", true],
  ["4111-1111-1111-1111", true],
  ["378282246310005", true],
  ["4111 1111 1111 1112", false],
  ["1732223456789012", false],
  ["a4111111111111111", false],
  ["00000000-4111-1111-1111-111111111111", false],
])("a card number is recognized by issuer, length and check digit: %s %s", (text, isCard) => {
  const shown = redacted([`no. ${text}!`], ["cards"]);
  expect(shown).toEqual([isCard ? `no. [card]${"*".repeat(text.length - 6)}!` : `no. ${text}!`]);
});

test("a card number that is a JavaScript number is masked, another number is not", () => {
  expect(redacted([4_111_111_111_111_111, 1_732_223_456_789_012, 4.5], ["cards"])).toEqual([
    "********",
    1_732_223_456_789_012,
    4.5,
  ]);
});

test("custom patterns mask their match, or their group `masked`; custom keys mask everything below", () => {
  const rules: readonly RedactionRule[] = [
    { name: "case", pattern: /CASE-\d+/ },
    { name: "nr", pattern: /nr\.\s(?<masked>\d+)/ },
    { name: "pii", keys: ["Address", /^geo/] },
  ];
  const value = {
    t: "CASE-1234567 nr. 123456789",
    address: ["Elm Street"],
    geoPoint: { lat: 1.5 },
  };
  expect(redacted(value, rules)).toEqual({
    t: "[case]****** nr. [nr]*****",
    address: ["[pii]*****"],
    geoPoint: { lat: "********" },
  });
});

test("a pattern that divides a surrogate pair masks the pair", () => {
  const value = { wide: `${"ж".repeat(200)}\u{1f600}`, narrow: "ab\u{1f600}c" };
  expect(redacted(value, [{ name: "half", pattern: /\ude00/ }])).toEqual({
    wide: `${"ж".repeat(200)}**`,
    narrow: "ab****c",
  });
});

test("a rule that throws causes its whole record to be masked, with a warning", () => {
  class Failing extends RegExp {
    override exec(): null {
      throw new RangeError("the text was hunter2");
    }
  }
  const plan = { ...planOf(["cards"]), searches: [{ name: "x", pattern: new Failing("x", "g") }] };
  const tape = tapeOf({ note: "a private thing", n: 5, yes: true, data: Buffer.from("raw") });
  const redactor = new Redactor(plan);
  expect(redactor.redact(bytesOf(tape))).toMatchObject({ failedRecords: 1 });
  expect(jsonOf(tape)).toEqual({
    note: "*".repeat("a private thing".length),
    n: "****",
    yes: null,
    data: { type: "Buffer", encoding: "base64", data: "AAAA" },
  });
  expect(redactor.redact(bytesOf(tape))).toEqual({ failedRecords: 0, maskedMatches: 0 });
});

test("a partly processed record is masked completely, and no rule runs on it", () => {
  const tape = tapeOf({ note: "something longer than the mask of a failed redaction" });
  tape.bytes[headOffset.redaction] = redactionState.inProgress;
  expect(new Redactor(planOf(["emails"])).redact(bytesOf(tape))).toMatchObject({
    failedRecords: 1,
  });
  const { note } = jsonOf(tape) as { readonly note: string };
  expect(note).toMatch(/^\[redaction-failed\]\*+$/);
});

test("textual attachments are searched; if a rule fails, all attachments of the record are masked", () => {
  const mail = "ask ada@example.org";
  const image = { mimeType: "image/png", data: Buffer.from(mail) };
  const fields = {
    note: { mimeType: "text/plain", data: mail },
    odd: { mimeType: "application/json", data: Buffer.from([0xe9, 0x20, ...Buffer.from(mail)]) },
    image,
  };
  const tape = attachedTape(fields);
  expect(new Redactor(planOf(["emails"])).redact(bytesOf(tape)).maskedMatches).toBe(2);
  const text = bytesOf(tape).toString("latin1");
  expect(text.split("ask [email]********")).toHaveLength(3);
  expect(text.split(mail)).toHaveLength(2);
  const failing = attachedTape({ image });
  failing.bytes[headOffset.redaction] = redactionState.inProgress;
  new Redactor(planOf(["emails"])).redact(bytesOf(failing));
  expect(bytesOf(failing).includes("ada")).toBe(false);
});

test.each([
  ["UTF-16 with its mark", Buffer.from(`\ufeffpassword=${hidden}\n`, "utf16le"), "text/plain"],
  ["UTF-16 without", Buffer.from(`password=${hidden}`, "utf16le"), "text/plain"],
  ["big-endian UTF-16", Buffer.from(`\ufeffpassword=${hidden}`, "utf16le").swap16(), "text/csv"],
  ["a form", Buffer.from(`a=b&api%5Fkey=${hidden}&c=d`), "application/x-www-form-urlencoded"],
  ["lines of JSON", Buffer.from(`{"password":"${hidden}"}\n{}`), "application/x-ndjson"],
])("an attachment is searched in its own encoding: %s", (_name, data, mimeType) => {
  const tape = attachedTape({ file: { mimeType, data } });
  expect(new Redactor(planOf(["secrets"])).redact(bytesOf(tape))).toEqual({
    maskedMatches: 1,
    failedRecords: 0,
  });
  const readable = bytesOf(tape).toString("latin1").replaceAll("\0", "");
  expect(readable).not.toContain(hidden);
  expect(readable).toContain("[secret]***");
});

test("a record is searched again only with different rules", () => {
  const tape = tapeOf({ a: "ada@example.org", b: "4111111111111111" });
  expect(new Redactor(planOf(["emails"])).redact(bytesOf(tape)).maskedMatches).toBe(1);
  expect(new Redactor(planOf(["emails"])).redact(bytesOf(tape)).maskedMatches).toBe(0);
  expect(new Redactor(planOf(["cards"])).redact(bytesOf(tape)).maskedMatches).toBe(1);
  expect(jsonOf(tape)).toEqual({ a: "[email]********", b: "[card]**********" });
});

test("masking does not change the length of a tape, and its content stays readable", () => {
  const rules: readonly RedactionRule[] = [
    "secrets",
    "emails",
    "cards",
    { name: "vowel", pattern: /[aeiouäöü\u{10000}-\u{10ffff}]+/u },
    { name: "k", keys: [/^.$/s] },
  ];
  const redactor = new Redactor(planOf(rules));
  assert(
    property(jsonValue({ noUnicodeString: false }), (value) => {
      const tape = tapeOf({ inside: value });
      const before = tape.usedBytes;
      redactor.redact(bytesOf(tape));
      expect(tape.usedBytes).toBe(before);
      expect(leaves(jsonOf(tape)).filter((leaf) => /[aeiou]/.test(leaf))).toEqual([]);
    }),
  );
  assert(
    property(string({ unit: "binary" }), (text) => {
      const tape = tapeOf([text]);
      redactor.redact(bytesOf(tape));
      const [shown] = jsonOf(tape) as [string];
      expect(shown.replace(/\[vowel\]/g, "")).not.toMatch(/[aeiouäöü]/u);
    }),
  );
});
