import { errors } from "undici";
import { describe, expect, test } from "vitest";
import { classifyResponse, classifyFailure } from "../../src/workers/sinks/classify-response.ts";
import type { Outcome } from "../../src/workers/sinks/sink.ts";

const now = Date.parse("2026-11-21T10:11:12Z");
const classify = (status: number, body = "", retryAfter?: string): Outcome =>
  classifyResponse("send runs", { status, body, retryAfter }, now);

/** An error with a code, as Node creates them. */
const errorWithCode = (code: string, message = "it failed"): Error =>
  Object.assign(new Error(message), { code });

describe("a response", () => {
  test.each([200, 201, 202, 204, 206, 299])("%i delivers, JSON or not", (status) => {
    expect(classify(status, "not JSON <html>")).toEqual({ kind: "delivered" });
  });

  test.each([
    [200, "<html>Sign in"],
    [202, "\r\n<!DOCTYPE html><title>Welcome"],
    [409, "<html>Conflict"],
  ])("%i with an HTML page is not a delivery: %j", (status, body) => {
    expect(classify(status, body)).toEqual({
      kind: "retry",
      reason: `Failed to send runs: ${status} with a web page instead of a response to runs. Check the endpoint`,
      code: "ANSWER",
      status,
      isServerUnavailable: true,
    });
  });

  test("409 counts as delivered: an earlier attempt arrived", () => {
    expect(classify(409, '{"error":"Conflict"}')).toEqual({ kind: "delivered" });
  });

  test.each([400, 401, 402, 403, 404, 405, 406, 407, 410, 413, 422])(
    "%i is a permanent failure whose message names action, status and body",
    (status) => {
      expect(classify(status, "why")).toEqual({
        kind: "rejected",
        rejection: { code: "HTTP", status, message: `Failed to send runs: ${status} why` },
      });
    },
  );

  test.each([301, 302, 303, 307, 308])(
    "%i is a permanent failure whose message names the target",
    (status) => {
      const answer = { status, body: "", location: "https://other.test/runs" };
      expect(classifyResponse("send runs", answer, now)).toMatchObject({
        kind: "rejected",
        rejection: {
          status,
          message: expect.stringMatching(/to https:\/\/other\.test\/runs .*not followed/) as string,
        },
      });
    },
  );

  test.each([
    [408, false],
    [411, false],
    [412, false],
    [415, false],
    [418, false],
    [421, false],
    [425, false],
    [429, true],
    [431, false],
    [500, false],
    [501, false],
    [502, true],
    [503, true],
    [504, true],
    [599, false],
  ])("%i can be retried; the server counts as unavailable: %s", (status, away) => {
    expect(classify(status, "why")).toEqual({
      kind: "retry",
      reason: `Failed to send runs: ${status} why`,
      code: "HTTP",
      status,
      isServerUnavailable: away,
    });
  });

  test.each([402, 429])("%i with insufficient_quota is never retried", (status) => {
    expect(classify(status, '{"error":{"code":"insufficient_quota"}}', "1")).toMatchObject({
      kind: "rejected",
      rejection: { code: "INSUFFICIENT_QUOTA", status },
    });
  });

  test("insufficient_quota in the body of another status means nothing", () => {
    expect(classify(500, "insufficient_quota")).toMatchObject({ kind: "retry" });
    expect(classify(400, "insufficient_quota")).toMatchObject({ rejection: { code: "HTTP" } });
  });

  test("a long body is truncated in the message", () => {
    const { reason } = classify(500, "x".repeat(100_000)) as { reason: string };
    expect(reason.length).toBeLessThan(2_200);
  });

  test("Retry-After is only used for failures that can be retried", () => {
    expect(classify(503, "", "7")).toMatchObject({ kind: "retry", retryAfterMs: 7_000 });
    expect(classify(503, "", "soon")).not.toHaveProperty("retryAfterMs");
    expect(classify(202, "", "7")).toEqual({ kind: "delivered" });
  });
});

describe("no response", () => {
  test.each([
    "ECONNREFUSED",
    "ECONNRESET",
    "EPIPE",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "UND_ERR_SOCKET",
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "HPE_INVALID_CONSTANT",
  ])("%s can be retried, and the server counts as unavailable", (code) => {
    expect(classifyFailure("send runs", errorWithCode(code))).toEqual({
      kind: "retry",
      reason: `Failed to send runs: ${code} it failed`,
      code: "NETWORK",
      isServerUnavailable: true,
    });
  });

  test.each([
    new errors.ConnectTimeoutError("slow"),
    new errors.HeadersTimeoutError("slow"),
    new errors.BodyTimeoutError("slow"),
    errorWithCode("ETIMEDOUT", "slow"),
    new DOMException("slow", "TimeoutError"),
  ])("%s can be retried", (failure) => {
    expect(classifyFailure("send runs", failure)).toMatchObject({
      kind: "retry",
      reason: expect.stringMatching(/^Failed to send runs: .*slow$/) as string,
      isServerUnavailable: true,
    });
  });

  test.each<readonly [string, RegExp]>([
    ["DEPTH_ZERO_SELF_SIGNED_CERT", /pass its certificate authority as the option ca/],
    ["SELF_SIGNED_CERT_IN_CHAIN", /option ca/],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /option ca/],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", /option ca/],
    ["CERT_UNTRUSTED", /option ca/],
    ["CERT_HAS_EXPIRED", /expired or is not valid yet/],
    ["CERT_NOT_YET_VALID", /expired or is not valid yet/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", /different host name/],
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", /options cert and key/],
    ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", /options cert and key/],
    ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", /options cert and key/],
    ["ERR_OSSL_PEM_NO_START_LINE", /not valid PEM text/],
    ["ERR_OSSL_X509_KEY_VALUES_MISMATCH", /does not belong to the certificate/],
  ])("%s is a permanent failure, and the message says what to do", (code, hint) => {
    const outcome = classifyFailure("send runs", errorWithCode(code));
    expect(outcome).toMatchObject({ kind: "rejected", rejection: { code: "CERTIFICATE" } });
    expect((outcome as { rejection: { message: string } }).rejection.message).toMatch(hint);
  });

  test("a certificate error is found inside of wrapping errors", () => {
    const failure = new Error("at the proxy", { cause: errorWithCode("CERT_HAS_EXPIRED") });
    expect(classifyFailure("send runs", failure)).toMatchObject({
      rejection: { code: "CERTIFICATE" },
    });
  });

  test("for a name with several addresses, the message names an address", () => {
    // Node's error has no message.
    const failure = Object.assign(
      new AggregateError(
        [errorWithCode("ECONNREFUSED", "connect ECONNREFUSED ::1:1"), errorWithCode("ETIMEDOUT")],
        "all failed",
      ),
      { message: "", code: "ECONNREFUSED" },
    );
    expect(classifyFailure("send runs", failure)).toMatchObject({
      kind: "retry",
      reason: "Failed to send runs: connect ECONNREFUSED ::1:1",
    });
  });

  test("the message contains the reason of an OpenSSL error", () => {
    const failure = Object.assign(
      errorWithCode("ERR_SSL_X", "80:error:0A:SSL routines:rec.c:160\n"),
      {
        library: "SSL routines",
        reason: "wrong version number",
      },
    );
    expect(classifyFailure("send runs", failure)).toMatchObject({
      reason: "Failed to send runs: ERR_SSL_X wrong version number",
    });
  });

  test("an invalid request is a permanent failure", () => {
    const failure = new errors.InvalidArgumentError("invalid x-team header");
    expect(classifyFailure("send runs", failure)).toMatchObject({
      kind: "rejected",
      rejection: {
        code: "OPTION",
        message: expect.stringContaining("invalid x-team header") as string,
      },
    });
  });

  test("a cycle of causes ends the search", () => {
    const failure = errorWithCode("ECONNRESET");
    failure.cause = failure;
    expect(classifyFailure("send runs", failure)).toMatchObject({ kind: "retry" });
  });

  test.each([undefined, "text", 7, null])("%j in place of an error may pass", (failure) => {
    expect(classifyFailure("send runs", failure)).toMatchObject({
      kind: "retry",
      isServerUnavailable: true,
    });
  });
});
