import { describe, expect, test } from "vitest";
import { Client, OptionError, ValidationError } from "../../src/main/index.ts";
import type { ClientOptions } from "../../src/main/index.ts";
import { callTables } from "../../src/main/resources.ts";
import { useCountedRequests } from "../support/counted-requests.ts";

const counted = useCountedRequests();

type Method = (...args: readonly unknown[]) => unknown;

interface Call {
  readonly name: string;
  readonly resource: string;
  readonly method: string;
  /** Arguments that contain one key which the call does not have. */
  readonly args: readonly unknown[];
}

/** Yields copies of an object with an unknown key, one for each position where keys are checked. */
function* misspelt(validValue: unknown): Generator {
  if (Array.isArray(validValue)) {
    for (const item of misspelt(validValue[0])) {
      yield [item];
    }
  } else if (typeof validValue === "object" && validValue !== null) {
    yield { colour: undefined };
    for (const [name, below] of Object.entries(validValue)) {
      for (const value of misspelt(below)) {
        yield { [name]: value };
      }
    }
  }
}

const calls: Call[] = Object.entries(callTables).flatMap(([resource, table]) =>
  Object.entries(table as Record<string, { readonly args: readonly unknown[] }>).flatMap(
    ([method, { args }]) =>
      args.flatMap((validValue, index) =>
        [...misspelt(validValue)].map((value) => ({
          name: `${resource}.${method} ${JSON.stringify(value)}`,
          resource,
          method,
          args: [...args.slice(0, index).map(() => undefined), value],
        })),
      ),
  ),
);

const methodsOf = (target: object): readonly string[] => {
  const prototype = Object.getPrototypeOf(target) as object;
  const methodNames = Object.getOwnPropertyNames(prototype).filter(
    (name) =>
      name !== "constructor" &&
      typeof Object.getOwnPropertyDescriptor(prototype, name)?.value === "function",
  );
  return prototype === Object.prototype ? [] : [...methodNames, ...methodsOf(prototype)];
};

test("the keys of every call of every resource are declared", () => {
  for (const [resource, table] of Object.entries(callTables)) {
    const target = Reflect.get(counted.client, resource) as object;
    expect(Object.keys(table)).toEqual(expect.arrayContaining([...methodsOf(target)]));
  }
  expect(calls.length).toBeGreaterThan(90);
});

describe("before anything is sent", () => {
  test.each(calls)("$name is refused", async ({ resource, method, args }) => {
    const target = Reflect.get(counted.client, resource) as Record<string, Method>;
    const failure = await (async () => {
      const answer = target[method]?.(...args);
      return Symbol.asyncIterator in Object(answer) ? undefined : answer;
    })().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(ValidationError);
    expect(String(failure)).toMatch(
      new RegExp(`^ValidationError: ${resource}\\.${method}: unknown (option|filter) \`colour\`; `),
    );
    expect(counted.requests).toBe(0);
  });

  test("client.sync refuses it too", () => {
    // A stream can't be passed to the thread that makes the blocking call.
    for (const { resource, method, args } of calls.filter((one) => one.method !== "uploadStream")) {
      const target = Reflect.get(counted.client.sync, resource) as Record<string, Method>;
      expect(() => target[method]?.(...args)).toThrow("unknown");
    }
    expect(counted.requests).toBe(0);
  });

  test.each([
    [
      "runs",
      "list",
      { projectName: "p" },
      "runs.list: unknown filter `projectName`; did you mean `projectNames`?",
    ],
    ["runs", "list", { run_type: "llm" }, "unknown filter `run_type`; did you mean `runType`?"],
    ["runs", "list", { id: [] }, "did you mean `ids`?"],
    ["feedback", "list", { runId: "x" }, "unknown filter `runId`; did you mean `runIds`?"],
    ["feedback", "list", { feedbackKeys: [] }, "did you mean `keys`?"],
    [
      "examples",
      "count",
      { datasetName: "d", split: "s" },
      "unknown filter `split`; did you mean `splits`?",
    ],
    ["projects", "read", { name: "p" }, "unknown option `name`; did you mean `projectName`?"],
    [
      "projects",
      "list",
      { timeoutMs: 1 },
      "projects.list: unknown filter `timeoutMs`; it is an option of `new Client` and limits each attempt; pass a `signal` to limit the call",
    ],
    [
      "projects",
      "create",
      { name: "p", attempts: 1 },
      "projects.create: unknown option `attempts`; it is an option of `new Client`",
    ],
    [
      "examples",
      "createMany",
      { datasetName: "d", examples: [{ inputs: {}, output: {} }] },
      "An example: unknown member `output`; did you mean `outputs`?",
    ],
    [
      "examples",
      "create",
      {
        datasetName: "d",
        inputs: {},
        attachments: { photo: { mime_type: "image/png", data: new Uint8Array(1) } },
      },
      'The attachment "photo": unknown member `mime_type`; did you mean `mimeType`?',
    ],
    ["projects", "list", { "a\u001b[2J\nb": 1 }, "unknown filter `a\\u001b[2J\\nb`; known: "],
  ])("%s.%s(%j) says %s", async (resource, method, options, message) => {
    const target = Reflect.get(counted.client, resource) as Record<string, Method>;
    await expect((async () => target[method]?.(options))()).rejects.toThrow(message);
    expect(counted.requests).toBe(0);
  });

  test("an argument that is no options object is refused too", async () => {
    const name = "p" as unknown as { projectName: string };
    await expect(counted.client.projects.read(name)).rejects.toThrow(
      "projects.read takes an object of options",
    );
  });
});

test.each([
  [{ apiUrl: "http://x" }, "new Client: unknown option `apiUrl`; did you mean `endpoint`?"],
  [{ project: "p" }, "did you mean `projectName`?"],
  [{ autoBatchTracing: true }, "did you mean `batchLimit`?"],
  [{ timeout_ms: 5 }, "did you mean `timeoutMs`?"],
  [{ hideInput: true }, "did you mean `hideInputs`?"],
  [{ colour: "red" }, "unknown option `colour`; known: enabled, endpoint, "],
] as const)("a client with %j is refused", (options, message) => {
  const make = (): Client => new Client(options as ClientOptions);
  expect(make).toThrow(OptionError);
  expect(make).toThrow(message);
});

test.each(["flush", "drain", "close", "waitForCapacity"] as const)(
  "%s takes no unknown option",
  async (call) => {
    const options = { timeout: 5 } as object;
    await expect(counted.client[call](options)).rejects.toThrow(
      `client.${call}: unknown option \`timeout\`; did you mean \`timeoutMs\`?`,
    );
  },
);
