import { describe, expect, test } from "vitest";
import { HttpError } from "../../src/model/errors.ts";
import { extractDetailLines } from "../../src/model/error-detail.ts";
import { logThrough } from "../../src/delivery/reporter.ts";

const hostile = "no\u001b[2J\u001b]0;owned\u0007\r\n[millrace] forged\u202egnp\u2028x\u009b1m";
const escaped =
  "no\\u001b[2J\\u001b]0;owned\\u0007\\u000d\\u000a[millrace] forged\\u202egnp\\u2028x\\u009b1m";

/** A line break of the server becomes a space. */
const oneLine = escaped.replace(String.raw`\u000d\u000a`, " ");

describe("text from a server's response", () => {
  test.each([
    ["as JSON", JSON.stringify({ detail: hostile })],
    ["as text", hostile],
  ])("%s is one printable line of an error", (_name, body) => {
    const error = new HttpError({ action: "read run", status: 400, body });
    expect(error.message).toBe(`Failed to read run: 400 ${oneLine}`);
    expect(error.detail).toBe(oneLine);
    expect(extractDetailLines(JSON.stringify({ detail: [hostile] }))).toEqual([oneLine]);
  });

  test("is truncated if it is long", () => {
    const message = "x".repeat(1_000_000);
    const error = new HttpError({ action: "read run", status: 400, body: "", message });
    expect(error.message.length).toBeLessThan(8_200);
  });

  test("stays one line of a log", () => {
    const lines: string[] = [];
    logThrough({ warn: (text) => lines.push(text) }, "warn", `Failed: ${hostile}`);
    expect(lines).toEqual([`[millrace] Failed: ${escaped}`]);
  });

  test("keeps letters of any script", () => {
    const error = new HttpError({ action: "read run", status: 400, body: "Füße 🦶 日本" });
    expect(error.detail).toBe("Füße 🦶 日本");
  });
});
