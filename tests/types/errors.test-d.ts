import { expectTypeOf, test } from "vitest";
import type { ErrorCode, HttpError, NetworkError, SdkError } from "../../src/model/index.ts";

test("a caller who switches on code knows which error it holds", () => {
  const codeOf = (error: NetworkError): "NETWORK" => error.code;
  expectTypeOf(codeOf).returns.toExtend<ErrorCode>();
});

test("every error has a code, and says whether to try again", () => {
  expectTypeOf<SdkError["code"]>().toEqualTypeOf<ErrorCode>();
  expectTypeOf<HttpError["retryable"]>().toEqualTypeOf<boolean>();
});
