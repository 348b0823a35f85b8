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

class Message {
  readonly content = "ada@example.org";
}

class Serializable {
  readonly #content = "ada@example.org";

  toJSON(): object {
    return { kwargs: { content: this.#content } };
  }
}

test("strings in instances of classes, maps, sets and errors are replaced, as they are recorded", () => {
  const mask = createAnonymizer([{ pattern: email, replace: "-" }]);
  const error = Object.assign(new Error("to ada@example.org"), { code: "ada@example.org" });
  const masked = mask({
    message: new Message(),
    json: new Serializable(),
    text: { toJSON: () => "ada@example.org" },
    map: new Map([["key", new Message()]]),
    pairs: new Map([[new Message(), 1]]),
    set: new Set(["ada@example.org"]),
    error,
    url: new URL("https://example.org/?to=ada@example.org"),
    search: new URLSearchParams({ to: "x" }),
    boxed: Object("ada@example.org") as unknown,
    headers: new Headers({ from: "ada@example.org" }),
  });
  expect(masked).toMatchObject({
    message: { content: "-" },
    json: { kwargs: { content: "-" } },
    text: "-",
    map: { key: { content: "-" } },
    pairs: [[{ content: "-" }, 1]],
    set: ["-"],
    error: { name: "Error", message: "to -", code: "-" },
    url: "https://example.org/?to=-",
    search: "to=x",
    boxed: "-",
    headers: { from: "-" },
  });
  expect(JSON.stringify(masked)).not.toContain("ada@");
});

test("dates, bytes, promises and streams stay as they are", () => {
  const values = [
    new Date(0),
    new Uint8Array([1]),
    new ArrayBuffer(1),
    Promise.resolve(1),
    new ReadableStream(),
  ];
  const masked = createAnonymizer([{ pattern: email }])(values);
  expect(masked.map((value, index) => value === values[index])).toEqual(values.map(() => true));
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
