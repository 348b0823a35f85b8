import {
  createAnonymizer,
  createSecretAnonymizer,
  SECRET_PLACEHOLDER,
} from "@millrace/langsmith/anonymizer";
import * as real from "langsmith/anonymizer";
import { expect, test } from "vitest";

const data = {
  text: "mail ada@example.org or call",
  list: ["ada@example.org", { deep: { deeper: "bob@example.org" } }],
  number: 7,
  nothing: null,
};
const email = /[\w.]+@[\w.]+/g;

const cases = {
  rules: [
    { pattern: email, replace: "<email>" },
    { pattern: "call", replace: "write" },
  ],
  "rules without a replacement": [{ pattern: email }],
  "a function": (value: string, path?: string) => (path === "text" ? value : value.toUpperCase()),
  "a processor": {
    maskNodes: (nodes: { value: string; path: string }[]) =>
      nodes.map(({ path }) => ({ path, value: path })),
  },
} as const;

test.each(Object.keys(cases) as (keyof typeof cases)[])(
  "an anonymizer of %s replaces what langsmith's replaces",
  (name) => {
    const replacer = cases[name] as Parameters<typeof createAnonymizer>[0];
    const masked = createAnonymizer(replacer)(data);
    expect(masked).toEqual(real.createAnonymizer(replacer)(data));
    expect(masked).not.toEqual(data);
  },
);

test("the value itself stays as it is", () => {
  const before = structuredClone(data);
  createAnonymizer([{ pattern: email }])(data);
  expect(data).toEqual(before);
});

const samePaths = { "a.b": "ada@example.org", a: { b: "call" }, c: ["d"], "c[0]": "e" };

test.each([
  ["rules", [{ pattern: email, replace: "<email>" }]],
  ["a function", (value: string) => value.toUpperCase()],
  [
    "a processor that copies nodes",
    {
      maskNodes: (nodes: { value: string; path: string }[]) =>
        nodes.map((node) => ({ ...node, value: `${node.value}!` })),
    },
  ],
] as const)("%s replaces each of two strings that have the same path", (_, given) => {
  const replacer = given as Parameters<typeof createAnonymizer>[0];
  const masked = createAnonymizer(replacer)(samePaths);
  expect(masked).toEqual(real.createAnonymizer(replacer)(samePaths));
  expect(masked).not.toEqual(samePaths);
});

test("a processor that returns only paths masks all strings of a path", () => {
  const inOrder = createAnonymizer({
    maskNodes: (nodes) => nodes.map(({ value, path }) => ({ path, value: `${value}!` })),
  });
  expect(inOrder(samePaths)).toEqual({
    "a.b": "ada@example.org!",
    a: { b: "call!" },
    c: ["d!"],
    "c[0]": "e!",
  });
  const once = createAnonymizer({ maskNodes: () => [{ path: "a.b", value: "-" }] });
  expect(once(samePaths)).toEqual({ ...samePaths, "a.b": "-", a: { b: "-" } });
});

test("a key that the copy must not inherit from stays a key", () => {
  const parsed: unknown = JSON.parse(
    '{"__proto__":{"text":"ada@example.org"},"":"bob@example.org"}',
  );
  const masked = createAnonymizer([{ pattern: email, replace: "-" }])(parsed);
  expect(JSON.stringify(masked)).toBe('{"__proto__":{"text":"-"},"":"-"}');
});

test("what is too deep to be searched is not recorded", () => {
  const masked = createAnonymizer([{ pattern: email }], { maxDepth: 2 })(data);
  expect(JSON.stringify(masked)).not.toContain("bob@");
  expect(masked.list[1]).toEqual("[too deep to anonymize]");
});

test("a circular value ends", () => {
  const circular: Record<string, unknown> = { text: "ada@example.org" };
  circular["self"] = circular;
  expect(createAnonymizer([{ pattern: email, replace: "-" }])(circular)).toEqual({
    text: "-",
    self: "[circular]",
  });
});

test.each([
  "sk-abcdefghijklmnopqrstuvwx",
  "ghp_abcdefghijklmnopqrstuvwxyz012345",
  "AKIAIOSFODNN7EXAMPLE",
  'password="hunter2-and-more"',
  "Authorization: Bearer abcdef.ghijkl-mnopqr",
  "postgres://user:p4ssw0rd@host/db",
])("the secret anonymizer finds %s", (secret) => {
  const masked = createSecretAnonymizer()({ messages: [{ content: `my ${secret} here` }] });
  expect(masked.messages[0]?.content).toContain(SECRET_PLACEHOLDER);
  expect(masked.messages[0]?.content).not.toContain(secret);
});

test("the secret anonymizer leaves ordinary text and ids alone, and takes further rules", () => {
  const text = "Run 3f2b8c1e-7a4d-4e3b-9b0a-2f1c5d6e7a8b took 12 tokens; the passwords page";
  expect(createSecretAnonymizer()({ text })).toEqual({ text });
  const extraRules = [{ pattern: /tokens/g, replace: "parts" }];
  expect(createSecretAnonymizer({ extraRules })({ text }).text).toContain("12 parts");
});
