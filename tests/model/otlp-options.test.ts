import { describe, expect, test } from "vitest";
import { OptionError } from "../../src/model/errors.ts";
import {
  findCallProblem,
  findSendingProblem,
  resolveOptions,
} from "../../src/model/options/options.ts";
import type { OtlpOptions } from "../../src/model/options/otlp-options.ts";

const url = "https://collector.example/v1/traces";

describe("the option otlp", () => {
  test("replaces the server's address, key and workspace, whatever the environment contains", () => {
    const headers = { "X-API-Key": "backend key", other: "value" };
    const options = resolveOptions(
      { otlp: { url, headers } },
      {
        MILLRACE_ENDPOINT: "not an address",
        MILLRACE_API_KEY: "server key with spaces",
        LANGSMITH_WORKSPACE_ID: "workspace",
        MILLRACE_REPEATED_CONTENT: "once",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
        OTEL_EXPORTER_OTLP_HEADERS: "a=b",
      },
    );
    expect(options).toMatchObject({
      endpoint: url,
      apiKey: "backend key",
      workspaceId: undefined,
      contentDeduplication: "inline",
      reportStats: false,
      otlp: { url, headers, convention: "gen_ai" },
      environmentFaults: [],
    });
    expect(findSendingProblem(options)).toBeUndefined();
    expect(findCallProblem(options)).toContain("no Millrace server");
  });

  test("is absent by default, whatever the environment contains", () => {
    const options = resolveOptions({}, { OTEL_EXPORTER_OTLP_ENDPOINT: url });
    expect(options.otlp).toBeUndefined();
    expect(options.endpoint).toBe("http://localhost:1984");
    expect(findCallProblem(options)).toBeUndefined();
  });

  describe("with the header Langsmith-Project", () => {
    const resolveProject = (
      header: string,
      explicit: { readonly projectName?: string } = {},
      env: Readonly<Record<string, string>> = {},
    ) => {
      const otlp = { url, headers: { "langsmith-Project": header } };
      return resolveOptions({ otlp, ...explicit }, env).projectName;
    };

    test("uses its project in place of the default", () => {
      expect(resolveProject("mill")).toBe("mill");
      expect(resolveProject(" mill ")).toBe("mill");
    });

    test("reads a name in UTF-8 as the server does", () => {
      expect(resolveProject(Buffer.from("Mühle").toString("latin1"))).toBe("Mühle");
      expect(resolveProject("Mühle")).toBe("Mühle");
    });

    test("uses the project of the option or of a variable before it", () => {
      expect(resolveProject("mill", { projectName: "own" })).toBe("own");
      expect(resolveProject("mill", { projectName: "default" })).toBe("default");
      expect(resolveProject("mill", {}, { LANGSMITH_PROJECT: "variable" })).toBe("variable");
    });

    test("keeps the default if the header is empty", () => {
      expect(resolveProject(" ")).toBe("default");
    });
  });

  test("chooses the proxy by the address of the backend", () => {
    const options = { otlp: { url }, httpsProxy: "ftp://proxy" };
    expect(() => resolveOptions(options, {})).toThrow(
      "Option httpsProxy must be the address of a proxy",
    );
  });

  test.each([
    [
      { url: "collector.example" },
      /otlp\.url must be a URL that begins with http.*not "collector\.example"/,
    ],
    [{ url: "grpc://collector:4317" }, /otlp\.url must be a URL that begins with http/],
    [{}, /otlp\.url must be a URL.*not a value of type undefined/],
    [
      { url, convention: "openllmetry" },
      /otlp\.convention must be one of gen_ai, openinference, not "openllmetry"/,
    ],
    [{ url, headers: { "a b": "c" } }, /otlp\.headers: "a b" is not a valid header name/],
    [{ url, headers: ["a"] }, /otlp\.headers must be an object/],
    [
      { url, headers: { "Content-Type": "text/plain" } },
      /otlp\.headers can't contain Content-Type/,
    ],
    [{ url, header: { a: "b" } }, /Option otlp: unknown option `header`; did you mean `headers`\?/],
    ["http://collector:4318", /Option otlp must be an object \{ url, headers, convention \}/],
    [null, /Option otlp must be an object/],
    [[], /Option otlp must be an object/],
  ])("refuses %j and says what is allowed", (otlp, message) => {
    const resolve = () => resolveOptions({ otlp: otlp as OtlpOptions }, {});
    expect(resolve).toThrow(OptionError);
    expect(resolve).toThrow(message);
  });

  test.each([
    { url: "https://user:pass-0815@collector.example/v1/traces" },
    { url: "https://collector.example/v1/traces?key=pass-0815" },
    { url: "collector.example?key=pass-0815" },
    { url, headers: { authorization: "pass-0815\n" } },
  ])("never shows a secret in a message: %#", (otlp) => {
    const resolve = () => resolveOptions({ otlp }, {});
    expect(resolve).toThrow(OptionError);
    expect(resolve).not.toThrow(/pass-0815/);
  });

  test.each([
    { endpoint: "http://localhost:1984" },
    { apiKey: "key" },
    { workspaceId: "w" },
    { headers: { a: "b" } },
    { contentDeduplication: "once" as const },
    { reportStats: true },
  ])("refuses another option that would have no effect: %j", (other) => {
    const options = { otlp: { url }, ...other };
    expect(() => resolveOptions(options, {})).toThrow(
      new RegExp(
        `^Option ${Object.keys(other)[0]} has no effect together with otlp.*Remove one of them`,
      ),
    );
  });
});
