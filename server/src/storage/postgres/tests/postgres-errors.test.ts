import { expect, onTestFinished, test, vi } from "vitest";
import { RequestError, ServerError } from "../../../model/errors.ts";
import {
  ConnectionLostError,
  isConflict,
  isConnectionLost,
  toRequestError,
} from "../postgres-errors.ts";
import { createDatabaseError } from "./scripted-client.ts";

test.each(["08006", "57P01", "25006", "25P03", "ECONNRESET", "ENOTFOUND"])(
  "%s means that the connection is lost",
  (code) => {
    expect(isConnectionLost(createDatabaseError(code))).toBe(true);
    expect(toRequestError(createDatabaseError(code))).toMatchObject({
      status: 503,
      message: "the database can't be reached; retry later",
    });
  },
);

test("errors of a statement do not mean that the connection is lost", () => {
  for (const code of ["57014", "23505", "40001", "42P01", "22P05"]) {
    expect(isConnectionLost(createDatabaseError(code))).toBe(false);
  }
  expect(isConnectionLost(new Error("Query read timeout"))).toBe(true);
  expect(isConnectionLost(new RequestError(404, "not found"))).toBe(false);
});

test.each([
  ["57014", 408, /took longer than the database allows/],
  ["55P03", 503, /other changes to the same data/],
  ["40P01", 503, /other changes to the same data/],
  ["22P05", 422, /NUL/],
  ["53100", 503, /no free resources/],
  ["42P01", 503, /the database reported an error: SQLSTATE 42P01/],
] as const)("SQLSTATE %s becomes status %i", (code, status, message) => {
  expect(toRequestError(createDatabaseError(code))).toMatchObject({
    status,
    message: expect.stringMatching(message) as string,
  });
});

test("a request whose commit may have succeeded says so, and a refused one stays as it is", () => {
  const unknown = new ConnectionLostError("lost", { wasCommitting: true });
  expect(toRequestError(unknown).message).toMatch(/may or may not have been made/);
  const refused = new RequestError(409, "taken");
  expect(toRequestError(refused)).toBe(refused);
  expect(isConflict(createDatabaseError("23505"))).toBe(true);
});

test("a refused login is logged, and not shown to clients", () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  const error = toRequestError(new ServerError("STORE", "PostgreSQL at db.internal refused"));
  expect(error).toMatchObject({ status: 503 });
  expect(error.message).not.toContain("db.internal");
  expect(warn).toHaveBeenCalledWith("PostgreSQL at db.internal refused");
});
