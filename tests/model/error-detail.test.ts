import { expect, test } from "vitest";
import { extractDetail } from "../../src/model/error-detail.ts";
import { HttpError } from "../../src/model/errors.ts";

test.each([
  ['{"detail":"Run not found"}', "Run not found"],
  ['{"error":"Conflict","details":"received before"}', "Conflict; received before"],
  ['{"detail":[{"loc":["body","id"],"msg":"no UUID","type":"t"}]}', "body.id: no UUID"],
  ['{"detail":[{"msg":"a"},{"msg":"b"}]}', "a; b"],
  ["<html>Bad gateway</html>", "<html>Bad gateway</html>"],
  ['{"detail":"unexpected end (offset 3)\\n  eq(\\n     ^"}', "unexpected end (offset 3) eq("],
  ["", ""],
  ["[1]", ""],
])("%s says %s", (body, detail) => {
  expect(extractDetail(body)).toBe(detail);
});

test("the input that a server repeats is omitted", () => {
  const body = JSON.stringify({
    detail: [{ loc: ["body"], msg: "bad", input: { secret: "s3cret" }, ctx: "s3cret" }],
    input: "s3cret",
  });
  const { message } = new HttpError({ action: "send runs", status: 422, body });
  expect(message).toBe("Failed to send runs: 422 body: bad");
});

test("a long text is cut", () => {
  expect(extractDetail(JSON.stringify({ detail: "x".repeat(5_000) }))).toHaveLength(1_000);
  expect(extractDetail("x".repeat(5_000))).toHaveLength(200);
});
