import { describe, expect, test } from "vitest";
import { ValidationError } from "../../src/main/index.ts";
import { callTables } from "../../src/main/resources.ts";
import { useCountedRequests } from "../support/counted-requests.ts";

const counted = useCountedRequests();

type Method = (...args: readonly unknown[]) => unknown;

/** Makes a call that may throw or reject, and returns its error. */
async function failureOf(name: string, args: readonly unknown[]): Promise<unknown> {
  const [resource = "", method = ""] = name.split(".");
  const target = Reflect.get(counted.client, resource) as Record<string, Method>;
  try {
    const answer = target[method]?.(...args);
    await (Symbol.asyncIterator in Object(answer) ? undefined : answer);
  } catch (error) {
    return error;
  }
  return undefined;
}

const projectId = "0f0e0d0c-0b0a-4908-8706-050403020100";
const key = { projectId };
const view = { projectId, viewId: projectId };
const manifest = { lc: 1 };

describe("before anything is sent", () => {
  test.each([
    ["runs.list", [{ projectNames: "app" }], "projectNames must be a list of texts, not a string"],
    ["runs.stats", [{ projectNames: ["app", 7] }], "must be a list of texts, not a list of other"],
    ["runs.list", [{ select: "id" }], "select must be a list of texts"],
    ["runs.list", [{ order: "up" }], 'order must be one of "asc", "desc"'],
    ["prompts.push", ["x", { manifest, commitTags: "prod" }], "commitTags must be a list of texts"],
    ["prompts.commit", ["x", { manifest, tags: "prod" }], "tags must be a list of texts"],
    ["prompts.push", ["x", { tags: null }], "a list of texts, not null: pass [] for none"],
    ["prompts.update", ["x", { tags: null }], "tags must be a list of texts, not null"],
    [
      "prompts.update",
      ["x", { description: null }],
      `description can't be null: pass "" to remove`,
    ],
    ["prompts.update", ["x", { readme: null }], `readme can't be null: pass "" to remove`],
    ["prompts.update", ["x", { isPublic: null }], "isPublic must be true or false, not null"],
    ["prompts.update", ["x", { isArchived: "any" }], "isArchived must be true or false"],
    ["prompts.list", [{ sortField: "bogus" }], 'sortField must be one of "updatedAt", "likes"'],
    ["prompts.list", [{ sortDirection: "up" }], 'sortDirection must be one of "asc", "desc"'],
    ["prompts.list", [{ isArchived: "all" }], 'isArchived must be one of true, false, "any"'],
    ["prompts.list", [{ tags: "x" }], "tags must be a list of texts"],
    ["projects.update", [{ ...key, description: null }], `description can't be null: pass ""`],
    ["projects.update", [{ ...key, metadata: null }], "metadata can't be null: pass {} to remove"],
    ["projects.update", [{ ...key, extra: null }], "extra can't be null: pass {} to remove"],
    ["views.update", [{ ...view, description: null }], `description can't be null: pass ""`],
    ["views.update", [{ ...view, filter: null }], `filter can't be null: pass "" to remove`],
    ["views.update", [{ ...view, treeFilter: null }], `treeFilter can't be null: pass ""`],
    [
      "feedback.create",
      [{ runId: projectId, key: "k", sourceType: "zz" }],
      'one of "api", "model"',
    ],
    ["feedback.createTokens", [[null]], "the list must be a list of objects, not a list with null"],
    ["annotationQueues.addRuns", [projectId, { runs: {} }], "runs must be a list of objects"],
    [
      "annotationQueues.create",
      [{ name: "q", rubricItems: ["correct"] }],
      "rubricItems must be a list of objects, not a list with a string",
    ],
    ["examples.deleteMany", ["id"], "argument 1 must be a list of texts, not a string"],
    ["examples.list", [{ splits: "test" }], "splits must be a list of texts"],
    ["feedback.list", [{ keys: "correct" }], "keys must be a list of texts"],
    ["feedback.list", [{ level: "trace" }], 'level must be one of "run", "project"'],
  ])("%s(%j) says %s", async (name, args, message) => {
    const failure = await failureOf(name, args);
    expect(failure).toBeInstanceOf(ValidationError);
    expect(String(failure)).toContain(`ValidationError: ${name}: `);
    expect(String(failure)).toContain(message);
    expect(counted.requests).toBe(0);
  });

  test.each([{}, { presignedUrl: 7 }, { presignedUrl: null }])(
    "an attachment %j has no address to read",
    async (attachment) => {
      for (const name of ["runs.readAttachment", "examples.readAttachment"]) {
        const failure = await failureOf(name, [attachment]);
        expect(failure).toBeInstanceOf(ValidationError);
        expect(String(failure)).toContain("The address of an attachment must be http or https");
      }
    },
  );

  const methods = Object.entries(callTables).flatMap(([resource, table]) =>
    Object.entries(table as Record<string, { readonly args: readonly unknown[] }>).map(
      ([method, { args }]) => ({ name: `${resource}.${method}`, args }),
    ),
  );

  test.each(methods)(
    "$name takes a signal only if it is an AbortSignal",
    async ({ name, args }) => {
      const index = args.findIndex((keys) => Object.hasOwn(Object(keys) as object, "signal"));
      const before = Array.from({ length: index }, () => undefined);
      for (const signal of [{}, null, new AbortController()]) {
        const failure = await failureOf(name, [...before, { signal }]);
        expect(failure).toBeInstanceOf(ValidationError);
        expect(String(failure)).toMatch(/: signal must be an AbortSignal, not /);
      }
      expect(counted.requests).toBe(0);
    },
  );

  test.each(methods)("$name without arguments is no TypeError", async ({ name }) => {
    // Calls that need no argument, such as lists, succeed or are answered with a response of another form.
    expect(await failureOf(name, [])).not.toBeInstanceOf(TypeError);
  });

  test.each(["projects.read", "feedback.create", "datasets.create", "views.list"])(
    "%s() says that its argument is missing",
    async (name) => {
      const failure = await failureOf(name, []);
      expect(failure).toBeInstanceOf(ValidationError);
      expect(String(failure)).toMatch(
        new RegExp(`${name} takes an object of (option|filter)s as argument 1, not undefined`),
      );
    },
  );
});

test("the signal of another realm is accepted", async () => {
  const signal = { aborted: true, reason: "over", addEventListener: () => undefined };
  const failure = await failureOf("projects.read", [{ projectId, signal }]);
  expect(failure).toMatchObject({ code: "ABORTED" });
});
