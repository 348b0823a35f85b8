import { describe, expect, test } from "vitest";
import { responseDifferences, isRouted } from "./strict/check-response.ts";
import type { ReceivedResponse } from "./strict/check-response.ts";
import { rowOf } from "./strict/check-call.ts";
import { sampleOf } from "./strict/sample.ts";

// Tests of the response checks: a sample passes, and each kind of difference is reported.

const id = "11111111-1111-4111-8111-111111111111";

function responseTo(
  call: string,
  body: unknown,
  more: Partial<ReceivedResponse> = {},
): ReceivedResponse {
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

describe("a correct response has no differences", () => {
  test.each<[string, ReceivedResponse]>([
    ["with every member", responseTo(readProject, project)],
    ["with null wherever it may be", responseTo(readProject, sampleOf("@TracerSession", "nulls"))],
    ["with unknown members", responseTo(readProject, { ...project, colour: "red" })],
    ["with only the selected members", responseTo(readProject, {}, { isPart: true })],
    ["as a file", responseTo(`GET /datasets/${id}/csv`, "a,b\r\n", { contentType: "text/csv" })],
    ["as a refusal", responseTo(readProject, { detail: "no such project" }, { status: 404 })],
  ])("%s", (_what, response) => {
    expect(responseDifferences(response)).toEqual([]);
  });
});

describe("a difference is reported", () => {
  test.each<[string, ReceivedResponse]>([
    ["readProject: lacks answer.tenant_id", responseTo(readProject, { id })],
    ["readProject: answer.name is 7, not string", responseTo(readProject, { ...project, name: 7 })],
    ["readProject: answer is [], not @TracerSession", responseTo(readProject, [])],
    [
      "listProjects: lacks answer[].id",
      responseTo("GET /sessions", [project, { ...project, id: undefined }]),
    ],
    [
      "readProject: 200 text/html is no JSON",
      responseTo(readProject, "<p>", { contentType: "text/html" }),
    ],
    ["readProject: 201, not 200", responseTo(readProject, project, { status: 201 })],
    ["readProject: 404 says no detail", responseTo(readProject, {}, { status: 404 })],
  ])("%s", (difference, response) => {
    expect(responseDifferences(response)).toEqual([difference]);
  });
});

test("a missing route is distinguished from a missing resource", () => {
  const detail = `there is no GET /sessions/${id}`;
  expect(isRouted(responseTo(readProject, { detail }, { status: 404 }))).toBe(false);
  expect(isRouted(responseTo(readProject, { detail: "no project" }, { status: 404 }))).toBe(true);
});
