import { describe, expect, test } from "vitest";
import {
  mustMaskEverything,
  resolveOptions,
  findSendingProblem,
} from "../../src/model/options/options.ts";
import { clientTls } from "../support/tls.ts";

describe("a bad variable", () => {
  const cases: readonly (readonly [string, string, string, string, unknown])[] = [
    [
      "MILLRACE_BATCH_LIMIT",
      "abc",
      'MILLRACE_BATCH_LIMIT is "abc"; allowed: a whole number from 1 to 1000000. The default 100 is used.',
      "batchLimit",
      100,
    ],
    [
      "MILLRACE_TIMEOUT_MS",
      "15s",
      'MILLRACE_TIMEOUT_MS is "15s"; allowed: a whole number from 1 to 600000. The default 12000 is used.',
      "timeoutMs",
      12_000,
    ],
    [
      "LANGSMITH_TRACING",
      "perhaps",
      'LANGSMITH_TRACING is "perhaps"; allowed: true, false, yes, no, on, off, 1 or 0. It is ignored.',
      "enabled",
      true,
    ],
    [
      "MILLRACE_OVERFLOW",
      "spool",
      'MILLRACE_OVERFLOW can be "spool" only with spoolDir (MILLRACE_SPOOL_DIR). The default drop-newest is used.',
      "overflow",
      "drop-newest",
    ],
    [
      "MILLRACE_LOG_LEVEL",
      "loud",
      'MILLRACE_LOG_LEVEL is "loud"; allowed: one of silent, error, warn, info, debug. The default warn is used.',
      "logLevel",
      "warn",
    ],
    [
      "LANGCHAIN_HIDE_OUTPUTS",
      "ja",
      'LANGCHAIN_HIDE_OUTPUTS is "ja"; allowed: true, false, yes, no, on, off, 1 or 0. Outputs are withheld until it is corrected.',
      "hideOutputs",
      true,
    ],
    [
      "MILLRACE_REDACT",
      "secrets,mails",
      'MILLRACE_REDACT is "secrets,mails"; allowed: secrets, emails, cards, separated by commas. Everything that the rules would search is withheld until it is corrected.',
      "hideInputs",
      true,
    ],
    [
      "MILLRACE_REDACT",
      ",",
      'MILLRACE_REDACT is ","; allowed: secrets, emails, cards, separated by commas. Everything that the rules would search is withheld until it is corrected.',
      "hideMetadata",
      true,
    ],
    [
      "LANGSMITH_ENDPOINT",
      "localhost:1984",
      'LANGSMITH_ENDPOINT is "localhost:1984"; allowed: a URL that begins with http:// or https://. Nothing is sent until it is corrected.',
      "endpoint",
      "http://localhost:1984",
    ],
    [
      "MILLRACE_CA",
      "/etc/none.pem",
      'MILLRACE_CA is "/etc/none.pem"; allowed: certificates as PEM text (-----BEGIN CERTIFICATE-----), not the path of a file. Nothing is sent until it is corrected.',
      "ca",
      undefined,
    ],
  ];

  test.each(cases)("%s=%s is one error", (variable, text, message, option, value) => {
    const resolved = resolveOptions({}, { [variable]: text });
    expect(resolved.environmentFaults).toMatchObject([{ variable, message }]);
    expect(Reflect.get(resolved, option)).toBe(value);
    expect(findSendingProblem(resolved) === undefined).toBe(!message.includes("Nothing is sent"));
    expect(mustMaskEverything(resolved)).toBe(variable === "MILLRACE_REDACT");
  });

  test.each([
    ["MILLRACE_KEY", "-----BEGIN secret"],
    ["MILLRACE_KEY", "secret.pem"],
    ["MILLRACE_CERT", "-----BEGIN PRIVATE KEY-----secret"],
    ["LANGSMITH_API_KEY", "two secret words"],
    ["MILLRACE_ENDPOINT", "http://user:secret@host"],
    ["MILLRACE_ENDPOINT", "ftp://user:secret@host"],
    ["HTTP_PROXY", "ftp://user:secret@host"],
  ])("%s=%s sends nothing, and its value is not shown", (variable, text) => {
    const resolved = resolveOptions({}, { [variable]: text });
    expect(findSendingProblem(resolved)).toContain(variable);
    expect(findSendingProblem(resolved)).not.toContain("secret");
  });

  test("valid certificates and keys are accepted", () => {
    const resolved = resolveOptions({ ca: clientTls.ca }, { MILLRACE_KEY: clientTls.key });
    expect(resolved.environmentFaults).toEqual([]);
    expect(() => resolveOptions({ cert: "none" }, {})).toThrow(
      "Option cert must be certificates as PEM text",
    );
  });

  test("is ignored if the program sets the option", () => {
    const resolved = resolveOptions({ batchLimit: 7 }, { MILLRACE_BATCH_LIMIT: "abc" });
    expect(resolved).toMatchObject({ batchLimit: 7, environmentFaults: [] });
  });
});
