import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../src/model/errors.ts";
import { optionTable } from "../../src/model/options/option-table.ts";
import { isTracingConfigured } from "../../src/model/options/environment.ts";
import { checkHeaders } from "../../src/model/options/headers.ts";
import { checkLogger, resolveOptions } from "../../src/model/options/options.ts";

describe("defaults", () => {
  test("match the specification", () => {
    expect(resolveOptions({}, {})).toMatchObject({
      timeoutMs: 12_000,
      batchLimit: 100,
      firstDelayMs: 250,
      aggregationDelayMs: 50,
      maxDelayMs: 1_000,
      attempts: 6,
      endpoint: "http://localhost:1984",
      projectName: "default",
      exitTimeoutMs: 1_000,
      drainTimeoutMs: 30_000,
      samplingRate: 1,
      recursionLimit: 25,
    });
  });

  test("each lies in its own range", () => {
    for (const [name, { fallback }] of Object.entries(optionTable)) {
      expect(Reflect.get(resolveOptions({ [name]: fallback }, {}), name)).toBe(fallback);
    }
  });
});

describe("the environment", () => {
  test("is read if an option is not given, our variables before the platform's", () => {
    const env = {
      LANGCHAIN_PROJECT: "chain",
      LANGSMITH_PROJECT: "smith",
      MILLRACE_PROJECT: "mill",
      LANGSMITH_API_KEY: "key",
      LANGCHAIN_ENDPOINT: "https://host/api/v1/",
      LANGSMITH_HIDE_INPUTS: "true",
      MILLRACE_SAMPLING_RATE: "0.25",
      MILLRACE_TIMEOUT_MS: "5000",
    };
    expect(resolveOptions({}, env)).toMatchObject({
      projectName: "mill",
      apiKey: "key",
      endpoint: "https://host/api/v1",
      hideInputs: true,
      samplingRate: 0.25,
      timeoutMs: 5_000,
    });
    expect(resolveOptions({ projectName: "given" }, env).projectName).toBe("given");
  });

  test("an empty variable is an unset one", () => {
    const env = { MILLRACE_PROJECT: " ", LANGSMITH_PROJECT: "", LANGCHAIN_PROJECT: "c" };
    expect(resolveOptions({}, env).projectName).toBe("c");
  });

  test.each(["true", "TRUE", "1", "yes", "Yes", "on", "ON"])("%s turns tracing on", (text) => {
    expect(isTracingConfigured({ LANGSMITH_TRACING: text })).toBe(true);
    expect(resolveOptions({}, { LANGSMITH_TRACING: text })).toMatchObject({
      enabled: true,
      environmentFaults: [],
    });
  });

  test.each(["false", "False", "0", "no", "NO", "off", "Off"])(
    "%s turns tracing off, whatever the program sets",
    (text) => {
      const env = { MILLRACE_TRACING: text, MILLRACE_ENDPOINT: "http://localhost:1" };
      expect(isTracingConfigured(env)).toBe(false);
      expect(resolveOptions({ enabled: true }, env)).toMatchObject({
        enabled: false,
        environmentFaults: [],
      });
    },
  );

  test("an endpoint starts tracing, a key alone does not", () => {
    expect(isTracingConfigured({})).toBe(false);
    expect(isTracingConfigured({ LANGSMITH_API_KEY: "key", MILLRACE_PROJECT: "p" })).toBe(false);
    expect(isTracingConfigured({ LANGCHAIN_ENDPOINT: "http://localhost:1984" })).toBe(true);
    expect(isTracingConfigured({ LANGSMITH_TRACING: "perhaps" })).toBe(false);
  });

  test("a log level is accepted in any letter case", () => {
    expect(resolveOptions({}, { MILLRACE_LOG_LEVEL: "DEBUG" }).logLevel).toBe("debug");
  });

  test("no variable belongs to two options", () => {
    const variables = Object.values(optionTable).flatMap(({ env }) => env);
    expect(new Set(variables).size).toBe(variables.length);
  });
});

describe("a bad option names itself, its range and the value", () => {
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ batchLimit: 0 }, "Option batchLimit must be a whole number from 1 to 1000000, not 0"],
    [{ batchLimit: 1.5 }, "Option batchLimit must be a whole number from 1 to 1000000, not 1.5"],
    [
      { batchLimit: Number.NaN },
      "Option batchLimit must be a whole number from 1 to 1000000, not NaN",
    ],
    [{ batchLimit: "10" }, 'Option batchLimit must be a whole number from 1 to 1000000, not "10"'],
    [{ samplingRate: 1.1 }, "Option samplingRate must be a number from 0 to 1, not 1.1"],
    [{ enabled: "yes" }, 'Option enabled must be true or false, not "yes"'],
    [{ compression: "br" }, 'Option compression must be one of auto, zstd, gzip, none, not "br"'],
    [{ projectName: "" }, 'Option projectName must be a non-empty string, not ""'],
    [
      { hideInputs: {} },
      "Option hideInputs must be true, false or a function, not a value of type object",
    ],
    [{ endpoint: "localhost:1984" }, "Option endpoint must be a URL that begins with http://"],
    [{ endpoint: "ftp://h" }, "Option endpoint must be a URL that begins with http://"],
    [{ endpoint: "http://user:secret@h" }, "Option endpoint must be a URL without user, password"],
    [{ apiKey: "k\nx: y" }, "Option apiKey must be printable ASCII without spaces or line breaks"],
    [{ apiKey: " " }, "Option apiKey must be a non-empty string"],
  ];

  test.each(cases)("%o", (options, message) => {
    const resolve = (): unknown => resolveOptions(options, {});
    expect(resolve).toThrow(OptionError);
    expect(resolve).toThrow(message);
  });

  test("the value of a key is never in the message", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, maxLength: 40 }), (text) => {
        expect(messageOf(() => resolveOptions({ apiKey: `${text}\n` }, {}))).not.toContain(text);
      }),
    );
  });
});

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return String(error);
  }
  throw new Error("nothing was thrown");
}

test("addresses with IPv6 hosts, ports and paths are accepted; trailing slashes are removed", () => {
  expect(resolveOptions({ endpoint: "http://[::1]:1984//" }, {}).endpoint).toBe(
    "http://[::1]:1984",
  );
  expect(resolveOptions({ endpoint: "https://h/api/v1/" }, {}).endpoint).toBe("https://h/api/v1");
});

describe("headers and logger", () => {
  test.each([
    ["x y", "1", 'Option headers: "x y" is not a valid header name'],
    ["", "1", 'Option headers: "" is not a valid header name'],
    ["x", "a\r\ny: secret", "Option headers: the value of x must be a string without line breaks"],
    ["x", 7, "Option headers: the value of x must be a string"],
  ])("a header %o: %o is refused, its value not shown", (name, value, message) => {
    expect(() => checkHeaders({ [name]: value })).toThrow(message);
    expect(messageOf(() => checkHeaders({ [name]: value }))).not.toContain("secret");
  });

  test("valid headers are accepted, anything but an object is refused", () => {
    expect(checkHeaders({ "X-Team": "mills, é" })).toEqual({ "X-Team": "mills, é" });
    expect(checkHeaders(undefined)).toEqual({});
    expect(() => checkHeaders([])).toThrow("Option headers must be an object of strings");
    expect(() => checkHeaders("x: y")).toThrow("Option headers must be an object of strings");
  });

  test.each([
    ["Headers", new Headers({ authorization: "secret" })],
    ["Map", new Map([["authorization", "secret"]])],
  ])("a %s is refused, because its members are no properties", (name, headers) => {
    const check = (): unknown => checkHeaders(headers);
    expect(check).toThrow(OptionError);
    expect(check).toThrow(
      `Option headers must be an object of strings, such as { "x-team": "a" }, not an object of the class ${name}. Convert it with Object.fromEntries`,
    );
    expect(messageOf(check)).not.toContain("secret");
  });

  test("a text in place of headers is not shown, because it may hold a key", () => {
    expect(messageOf(() => checkHeaders("authorization: secret"))).toMatch(/not a string$/);
  });

  test("a logger must have a function warn", () => {
    expect(() => checkLogger({} as never)).toThrow("Option logger must be an object with");
    expect(() => checkLogger(null as never)).toThrow("Option logger must be an object with");
  });
});

test("options that keep data on disk require spoolDir", () => {
  expect(() => resolveOptions({ overflow: "spool" }, {})).toThrow(
    'Option overflow can be "spool" only with spoolDir',
  );
  expect(resolveOptions({ overflow: "spool", spoolDir: "here" }, {}).overflow).toBe("spool");
  expect(() => resolveOptions({ durability: "spool-first" }, {})).toThrow(
    'Option durability can be "spool-first" only with spoolDir',
  );
  expect(resolveOptions({}, { MILLRACE_OVERFLOW: "block" }).overflow).toBe("block");
});
