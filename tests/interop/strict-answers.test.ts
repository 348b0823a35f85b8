import { describe, expect, test } from "vitest";
import { answerDifferences, isRouted } from "./strict/check-answer.ts";
import type { Answered } from "./strict/check-answer.ts";
import { rowOf } from "./strict/check-call.ts";
import { sampleOf } from "./strict/sample.ts";

// Tests of the response checks: a sample passes, and each kind of difference is reported.

const id = "11111111-1111-4111-8111-111111111111";

function answerTo(call: string, body: unknown, more: Partial<Answered> = {}): Answered {
  const [method = "", path = ""] = call.split(" ");
  return {
    row: rowOf({ method, path })!,
    status: 200,
    contentType: "application/json; charset=utf-8",
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    isPart: false,
    ...more,
  };
}

const project = sampleOf("@TracerSession", "full") as Readonly<Record<string, unknown>>;
const readProject = `GET /sessions/${id}`;

describe("an answer is as the platform has it", () => {
  test.each<[string, Answered]>([
    ["with every member", answerTo(readProject, project)],
    ["with null wherever it may be", answerTo(readProject, sampleOf("@TracerSession", "nulls"))],
    ["with members that nobody knows", answerTo(readProject, { ...project, colour: "red" })],
    ["with the part that was asked for", answerTo(readProject, {}, { isPart: true })],
    ["as a file", answerTo(`GET /datasets/${id}/csv`, "a,b\r\n", { contentType: "text/csv" })],
    ["as a refusal", answerTo(readProject, { detail: "no such project" }, { status: 404 })],
  ])("%s", (_what, answer) => {
    expect(answerDifferences(answer)).toEqual([]);
  });
});

describe("a difference is named", () => {
  test.each<[string, Answered]>([
    ["readProject: lacks answer.tenant_id", answerTo(readProject, { id })],
    ["readProject: answer.name is 7, not string", answerTo(readProject, { ...project, name: 7 })],
    ["readProject: answer is [], not @TracerSession", answerTo(readProject, [])],
    [
      "listProjects: lacks answer[].id",
      answerTo("GET /sessions", [project, { ...project, id: undefined }]),
    ],
    [
      "readProject: 200 text/html is no JSON",
      answerTo(readProject, "<p>", { contentType: "text/html" }),
    ],
    ["readProject: 201, not 200", answerTo(readProject, project, { status: 201 })],
    ["readProject: 404 says no detail", answerTo(readProject, {}, { status: 404 })],
  ])("%s", (difference, answer) => {
    expect(answerDifferences(answer)).toEqual([difference]);
  });
});

test("a path without a route is told apart from what is not there", () => {
  const detail = `there is no GET /sessions/${id}`;
  expect(isRouted(answerTo(readProject, { detail }, { status: 404 }))).toBe(false);
  expect(isRouted(answerTo(readProject, { detail: "no project" }, { status: 404 }))).toBe(true);
});
