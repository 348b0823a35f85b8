import { Validator } from "@seriousme/openapi-schema-validator";
import { endpoints } from "millrace/model";
import { expect, test } from "vitest";
import { monitoringEndpoints } from "../src/http/monitoring-endpoints.ts";
import { linkEndpoints } from "../src/http/link-endpoints.ts";
import { v2Endpoints } from "../src/http/v2-endpoints.ts";
import { call, runServer } from "./support/running-server.ts";

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly unknown[];
}

interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Operations that need no API key: they need a token, or nothing. */
const publicOperations = [
  "readAttachment",
  "readInfo",
  "readLiveness",
  "readReadiness",
  "readSharedRun",
  "readSharedDataset",
  "listSharedExamples",
  "countSharedExamples",
  "giveFeedback",
  "giveFeedbackByLink",
  "readV2PublicRun",
  "queryV2PublicRuns",
];

test("the description is valid OpenAPI 3.1 and contains every endpoint once", async () => {
  const server = await runServer();
  const { status, json } = await call(server, "GET /openapi.json");
  expect(status).toBe(200);
  const description = json as unknown as Description;
  expect(description.openapi).toBe("3.1.0");
  expect(await new Validator().validate(structuredClone(json))).toEqual({ valid: true });
  const described = Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId }]) => ({
      operationId,
      place: `${method.toUpperCase()} ${path}`,
    })),
  );
  const expected = Object.entries({
    ...endpoints,
    ...v2Endpoints,
    ...linkEndpoints,
    ...monitoringEndpoints,
  }).map(([operationId, { method, path }]) => ({
    operationId,
    place: `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`,
  }));
  const byName = (one: { operationId: string }, other: { operationId: string }): number =>
    one.operationId < other.operationId ? -1 : 1;
  expect(described.toSorted(byName)).toEqual(expected.toSorted(byName));
});

test("each operation has a summary, and declares whether it needs a key", async () => {
  const server = await runServer({ apiKeys: ["k"] });
  const { paths } = (await call(server, "GET /openapi.json")).json as unknown as Description;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  for (const { summary, tags } of operations) {
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(tags).toHaveLength(1);
  }
  const open = operations.filter(({ security }) => security?.length === 0);
  expect(open.map(({ operationId }) => operationId).toSorted()).toEqual(
    publicOperations.toSorted(),
  );
});

test("the documentation page requests no other host, and runs no inline script", async () => {
  const server = await runServer();
  const page = await call(server, "GET /docs");
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toContain("text/html");
  expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'self'; style-src/);
  expect(page.text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  const scripts = [...page.text.matchAll(/<script([^>]*)>/g)].map(([, attributes]) => attributes);
  expect(scripts.length).toBeGreaterThan(0);
  for (const attributes of scripts) {
    expect(attributes).toContain("src=");
  }
});

test("the files of the documentation page, both forms of the description and unknown paths get the right response", async () => {
  const server = await runServer();
  const page = await call(server, "GET /docs");
  const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file ?? "");
  expect(files.length).toBeGreaterThan(4);
  for (const file of files) {
    const response = await call(server, `GET /api/v1${file}`);
    expect([file, response.status, response.text.length > 100]).toEqual([file, 200, true]);
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'self'; style-src/,
    );
  }
  const description = await call(server, "GET /openapi.json");
  expect((await call(server, "GET /docs/json")).json).toEqual(description.json);
  expect(await call(server, "GET /docs/static/nowhere.js")).toMatchObject({
    status: 404,
    json: { detail: "there is no GET /docs/static/nowhere.js" },
  });
});
