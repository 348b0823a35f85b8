import { expect, test } from "vitest";
import * as errors from "../../src/model/errors.ts";
import { packError, unpackError } from "../../src/api/sync/packed-error.ts";

const crossed = (thrown: unknown): Error => unpackError(structuredClone(packError(thrown)));

test("the table of classes has every class of the family", () => {
  const family = Object.values<unknown>(errors).filter(
    (value) =>
      typeof value === "function" &&
      value !== errors.SdkError &&
      value.prototype instanceof errors.SdkError,
  );
  expect(new Set(family)).toEqual(new Set(errors.errorClasses));
});

test("an error keeps class, code, status, request id, retryable, cause and stack", () => {
  const cause = Object.assign(new TypeError("broke"), { code: "ECONNRESET", errno: -104 });
  const init = { action: "read project", status: 503, body: '{"detail":"busy"}', requestId: "r" };
  const error = new errors.HttpError({ ...init, cause });
  const copy = crossed(error);
  expect(copy).toBeInstanceOf(errors.HttpError);
  expect(copy).toBeInstanceOf(Error);
  expect(copy).toEqual(error);
  expect(Object.entries(copy)).toEqual(expect.arrayContaining(Object.entries(error)));
  expect(copy.message).toBe("Failed to read project: 503 busy");
  expect(copy.stack).toBe(error.stack);
  expect(String(copy)).toBe(String(error));
  expect(copy.cause).toBeInstanceOf(TypeError);
  expect(copy.cause).toMatchObject({ message: "broke", code: "ECONNRESET", errno: -104 });
  expect(Object.keys(copy)).not.toContain("stack");
});

test.each(errors.errorClasses.map((one) => [one.name, one] as const))(
  "%s arrives as one",
  (name, errorClass) => {
    const init = { action: "a", status: 404, body: "b", message: "m" };
    const isHttp =
      errorClass === errors.HttpError || errorClass.prototype instanceof errors.HttpError;
    const args = isHttp ? [init] : ["m", { doneIds: ["a"], openIds: ["b"] }];
    const error = Reflect.construct(errorClass, args) as errors.SdkError;
    const copy = crossed(error);
    expect(copy.constructor).toBe(errorClass);
    expect(Object.entries(copy)).toEqual(expect.arrayContaining(Object.entries(error)));
    expect(copy).toMatchObject({
      name,
      message: "m",
      code: error.code,
      retryable: error.retryable,
    });
  },
);

test("a foreign error with the name of one of our classes does not become that class", () => {
  const foreign = new DOMException("stopped", "AbortError");
  const copy = crossed(foreign);
  expect(copy).not.toBeInstanceOf(errors.AbortError);
  expect(copy).toMatchObject({ name: "AbortError", message: "stopped" });
});

test("properties that can't be transferred are omitted, and the others arrive", () => {
  const error = Object.assign(new Error("odd"), { socket: () => 1, code: "ODD" });
  expect(crossed(error)).toMatchObject({ message: "odd", code: "ODD" });
  expect(crossed(error)).not.toHaveProperty("socket");
  const caused = new errors.NetworkError("n", { cause: { work: () => 1 } });
  expect(crossed(caused)).toMatchObject({ message: "n", cause: "[object Object]" });
  expect(crossed("no error at all").message).toBe("no error at all");
});

test("nested errors arrive, and a cycle of causes is cut", () => {
  const many = new AggregateError([new RangeError("first"), "second"], "both");
  expect(crossed(many)).toBeInstanceOf(AggregateError);
  expect(crossed(many)).toMatchObject({ errors: [new RangeError("first"), "second"] });
  const own = new Error("own");
  own.cause = own;
  expect(crossed(own).cause).toMatchObject({ message: "own" });
});
