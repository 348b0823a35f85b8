import { startTestServer } from "./support/test-server.ts";
import type { RunningServer } from "@millrace/server";
import { Client } from "millrace";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../src/model/endpoints.ts";
import type { EndpointName } from "../src/model/endpoints.ts";
import { strictServer } from "./interop/strict-server.ts";
import type { StrictServer } from "./interop/strict-server.ts";
import {
  responseDifferences,
  isRouted,
  isYes,
  missingMembers,
} from "./interop/strict/check-response.ts";
import type { ReceivedResponse } from "./interop/strict/check-response.ts";
import { platformOperationOf, shapeOf } from "./interop/strict/platform-facts.ts";
import { forwardTo } from "./interop/strict/forward.ts";
import { sendOtherRows, otherRows } from "./interop/story/other-rows.ts";
import { stories } from "./interop/story/all.ts";
import { recordTraceWith } from "./interop/story/record-trace.ts";

// Checks the whole endpoint table: our client runs its stories against our server, and a strict server between
// them compares each request and each response with the platform's description of the call.

const rows = Object.keys(endpoints) as readonly EndpointName[];

/** Intended differences between our server and the platform, with the reason. */
const intended: readonly { readonly difference: RegExp; readonly reason: string }[] = [
  {
    difference: /^(?:createCommit|listCommits): answer\.commits?.* is null, not (?:string|uuid)$/,
    reason:
      "a first commit has no parent, and some commits have no description; the platform's description does not allow null",
  },
];

/** Members that the platform may return and our server does not, by reason. */
const omitted: Readonly<Record<string, readonly string[]>> = {
  "billing and retention of the hosted service": [
    "trace_tier",
    "trace_upgrade",
    "trace_first_received_at",
    "ttl_seconds",
    "last_queued_at",
    "price_model_id",
    "prompt_cost_details",
    "completion_cost_details",
    "license_expiration_time",
    "customer_info",
    "git_sha",
    "ls_user_id",
  ],
  "payloads are in the response itself, not in an object store": [
    "inputs_preview",
    "outputs_preview",
    "manifest_s3_id",
    "inputs_s3_urls",
    "outputs_s3_urls",
    "messages",
    "manifest_sha",
  ],
  "members that only the platform's UI uses": [
    "trace_min_start_time",
    "trace_max_start_time",
    "last_run_start_time_live",
    "test_run_number",
    "search_cursors",
    "feedbacks",
    "source_proposed_example_id",
    "is_assertion",
    "model_config",
    "model_provider",
  ],
  "finer token categories than the local server counts": [
    "prompt_token_details",
    "completion_token_details",
  ],
  "already given by the request": [
    "RunSchema.reference_dataset_id",
    "RunSchemaWithAnnotationQueueInfo.reference_dataset_id",
    "commits.CommitWithLookups.full_name",
    "commits.CommitWithLookups.manifest",
  ],
};

let server: RunningServer;
let between: StrictServer;
let client: Client;
const responses: ReceivedResponse[] = [];
/** Rows that the client requested, in all formats in which it sends runs. */
const sent = new Set<string>();

beforeAll(async () => {
  server = await startTestServer();
  between = await strictServer({ apiKey: "key", onCall: forwardTo(server.url, responses) });
  client = clientOf(between);
  for (const format of ["batch", "single"] as const) {
    await using old = await strictServer({ apiKey: "key", formats: [format] });
    const recording = clientOf(old);
    recording.startRun({ name: "run", parent: null }).end();
    await recording.flush();
    const open = recording.startRun({ name: "run", parent: null });
    await recording.flush();
    open.end();
    await recording.close();
    for (const row of old.requestCounts.keys()) {
      sent.add(row);
    }
  }
});
afterAll(async () => {
  await client.close();
  await between[Symbol.asyncDispose]();
  await server.close();
});

const clientOf = ({ endpoint }: StrictServer): Client =>
  new Client({ apiKey: "key", endpoint, workers: 0, attempts: 1, firstDelayMs: 0 });

describe("the client and the server, by resource", () => {
  test.each(stories)("%s", async (_noun, runStory) => {
    const before = between.violations().length;
    await runStory({
      client,
      endpoint: between.endpoint,
      checkEffect: async (check) => check(),
      recordTrace: recordTraceWith(client),
    });
    expect(between.violations().slice(before)).toEqual([]);
  });

  test("what other clients send", async () => {
    for (const row of between.requestCounts.keys()) {
      sent.add(row);
    }
    const before = between.violations().length;
    await sendOtherRows(between.endpoint, client);
    expect(between.violations().slice(before)).toEqual([]);
  });
});

describe("the endpoint table", () => {
  test.each(rows)("the client sends %s, or another client does", (row) => {
    expect(sent.has(row) ? "ours" : otherRows[row]).toBeDefined();
    expect(sent.has(row) && otherRows[row] !== undefined).toBe(false);
  });

  test.each(rows)("the server answers %s", (row) => {
    const answers = responses.filter((one) => one.row.name === row);
    expect(answers.filter(isYes)).not.toEqual([]);
    expect(answers.filter((one) => !isRouted(one))).toEqual([]);
  });

  test("the server responds as the platform does, except for the intended differences", () => {
    const differences = [...new Set(responses.flatMap(responseDifferences))].toSorted();
    const isIntended = (one: string): boolean =>
      intended.some(({ difference }) => difference.test(one));
    expect(differences.filter((one) => !isIntended(one))).toEqual([]);
    // An intended difference that no longer occurs must be removed from the list.
    expect(
      intended.filter(({ difference }) => !differences.some((one) => difference.test(one))),
    ).toEqual([]);
  });

  test("each member that the platform may return and the server omits has a reason", () => {
    const omittedMembers = Object.values(omitted).flat();
    const unanswered = missingMembers(responses);
    const keysOf = (member: string): readonly string[] => [
      member,
      member.slice(member.lastIndexOf(".") + 1),
    ];
    expect(
      unanswered.filter((one) => !keysOf(one).some((key) => omittedMembers.includes(key))),
    ).toEqual([]);
    const used = new Set(unanswered.flatMap(keysOf));
    expect(omittedMembers.filter((one) => !used.has(one))).toEqual([]);
  });

  test("the server's own description has every row, and demands no more than the platform", async () => {
    const response = await fetch(`${server.url}/openapi.json`);
    const { paths } = (await response.json()) as Description;
    const demanded = Object.values(endpoints).flatMap(({ method, path }) => {
      const operation = paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
      expect({ method, path, isDescribed: operation !== undefined }).toMatchObject({
        isDescribed: true,
      });
      const shape = /^@([^|]+)$/.exec(platformOperationOf({ method, path })?.body ?? "")?.[1];
      if (shape === undefined) {
        return [];
      }
      const required = operation?.requestBody?.content["application/json"]?.schema.required ?? [];
      const mayBeAbsent = shapeOf(shape).filter(({ isOptional }) => isOptional);
      return required
        .filter((name) => mayBeAbsent.some((member) => member.name === name))
        .map((name) => `${shape}.${name}`);
    });
    // The platform generates a missing name, and accepts a commit without a manifest.
    expect(demanded.toSorted()).toEqual([
      "TracerSessionCreate.name",
      "commits.CreateCommitReq.manifest",
    ]);
  });
});

/** The parts of an OpenAPI description that are used here. */
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedCall>>>>;
}

interface DescribedCall {
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema: { readonly required?: readonly string[] } }>
    >;
  };
}
