import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import Default, {
  AgentAddress,
  APIPromise,
  Client,
  computeRunIdForSecondaryReplica,
  configureGlobalPromptCache,
  EvaluatorAddress,
  ExperimentAddress,
  Langsmith,
  UnsupportedError,
  overrideFetchImplementation,
  PagePromise,
  PromptCache,
  promptCacheSingleton,
  toFile,
} from "@millrace/langsmith";
import {
  _checkBackendVersion,
  AutoBatchQueue,
  mergeRuntimeEnvIntoRun,
} from "@millrace/langsmith/client";
import { convertMessageToTracedFormat } from "@millrace/langsmith/experimental/vercel";
import { VERSION } from "@millrace/langsmith/version";
import { createUsageMetadata } from "@millrace/langsmith/wrappers/anthropic";
import { version } from "millrace";
import { afterAll, expect, test } from "vitest";

const client = new Client({ apiUrl: "http://127.0.0.1:9" });

afterAll(() => client.millrace.close());

/** The error of a name that is not supported, which is thrown or is the reason of a rejection. */
async function failureOf(use: () => unknown): Promise<unknown> {
  try {
    return await use();
  } catch (error) {
    return error;
  }
}

const calls: Readonly<Record<string, () => unknown>> = {
  "Client.listGroupRuns": () => client.listGroupRuns({}),
  "Client.createFeedbackConfig": () => client.createFeedbackConfig({}),
  "Client.listFeedbackConfigs": () => client.listFeedbackConfigs(),
  "Client.updateFeedbackConfig": () => client.updateFeedbackConfig("key"),
  "Client.deleteFeedbackConfig": () => client.deleteFeedbackConfig("key"),
  "Client.pullAgent": () => client.pullAgent("name"),
  "Client.pullSkill": () => client.pullSkill("name"),
  "Client.pushAgent": () => client.pushAgent("name", { files: {} }),
  "Client.pushSkill": () => client.pushSkill("name", { files: {} }),
  "Client.deleteAgent": () => client.deleteAgent("name"),
  "Client.deleteSkill": () => client.deleteSkill("name"),
  "Client.agentExists": () => client.agentExists("name"),
  "Client.skillExists": () => client.skillExists("name"),
  "Client.listAgents": () => client.listAgents(),
  "Client.listSkills": () => client.listSkills(),
  "Client.runs": () => client.runs,
  "Client.datasets": () => client.datasets,
  "Client.annotationQueues": () => client.annotationQueues,
  "Client.threads": () => client.threads,
  "Client.traces": () => client.traces,
  "Client.evaluators": () => client.evaluators,
  "Client.sandboxes": () => client.sandboxes,
  "Client.public": () => client.public,
  "Client.sessions": () => client.sessions,
  "Client.agents": () => client.agents,
  "Client.addFeedbackCategories": () => client.addFeedbackCategories("key", []),
  "Client.removeFeedbackCategories": () => client.removeFeedbackCategories("key", []),
  Langsmith: () => new Langsmith(),
  APIPromise: () => new APIPromise(),
  PagePromise: () => new PagePromise(),
  toFile: () => toFile("bytes"),
  AgentAddress: () => new AgentAddress("agent", "local"),
  ExperimentAddress: () => new ExperimentAddress("experiment"),
  EvaluatorAddress: () => new EvaluatorAddress(),
  AutoBatchQueue: () => new AutoBatchQueue(),
  mergeRuntimeEnvIntoRun: () => mergeRuntimeEnvIntoRun({}),
  _checkBackendVersion: () => _checkBackendVersion(""),
  createUsageMetadata: () => createUsageMetadata({}),
  convertMessageToTracedFormat: () => convertMessageToTracedFormat({}),
  "promptCacheSingleton.get": () => void Reflect.get(promptCacheSingleton, "get"),
  PromptCache: () => new PromptCache(),
  configureGlobalPromptCache: () => configureGlobalPromptCache(),
  overrideFetchImplementation: () => overrideFetchImplementation(fetch),
  computeRunIdForSecondaryReplica: () => computeRunIdForSecondaryReplica("id", "project"),
  'tracingMode: "otel"': () => new Client({ tracingMode: "otel" }),
  "The option tagValueIds": () => client.createDataset("name", { tagValueIds: [] }),
};

test.each(Object.keys(calls))("%s throws its name and what to use", async (name) => {
  const failure = await failureOf(calls[name]!);
  expect(failure).toBeInstanceOf(UnsupportedError);
  const { message } = failure as Error;
  expect(message.startsWith(`${name} is not supported by @millrace/langsmith. `)).toBe(true);
  expect(message.slice(name.length + 41).length).toBeGreaterThan(20);
  expect(message).toContain("docs/moving-over.md");
});

const entries = {
  jest: /^langsmith\/jest is not .* Use langsmith\/vitest/,
  "jest/reporter": /^langsmith\/jest is not/,
  "utils/jestlike": /^langsmith\/utils\/jestlike is not .* Use langsmith\/vitest/,
  resources: /generated client is not .* Use the methods of `Client`/,
  pagination: /generated client is not/,
  sandbox: /^langsmith\/sandbox is not/,
  "experimental/sandbox": /^langsmith\/sandbox is not/,
  "experimental/otel/setup": /^langsmith\/experimental\/otel is not .* Use `millrace\/otel`/,
  "experimental/otel/exporter": /^langsmith\/experimental\/otel is not/,
  "experimental/otel/processor": /^langsmith\/experimental\/otel is not/,
  "experimental/anthropic": /^langsmith\/experimental\/anthropic is not .* traceable/,
};

test.each(Object.entries(entries))(
  "importing the entry point %s says what to use",
  async (name, message) => {
    await expect(import(`@millrace/langsmith/${name}`)).rejects.toThrow(message);
    const require = createRequire(import.meta.url);
    expect(() => require(`@millrace/langsmith/${name}`) as unknown).toThrow(message);
  },
);

test("the default export is the generated client, and the version is that of the package", () => {
  expect(Default).toBe(Langsmith);
  expect(VERSION).toBe(version);
});

/** Lists the names that an entry point exports; `undefined` if it needs a package that is not installed. */
async function listNames(specifier: string): Promise<string[] | undefined> {
  try {
    return Object.keys((await import(specifier)) as object);
  } catch {
    return undefined;
  }
}

test.each(["langsmith", "langsmith-0.12"])(
  "all names of all entry points of %s exist, or their import says what to use",
  async (name) => {
    const text = await readFile(
      new URL(`../../node_modules/${name}/package.json`, import.meta.url),
      "utf8",
    );
    const { exports } = JSON.parse(text) as { readonly exports: object };
    const paths = Object.keys(exports)
      .filter((path) => !/\*|\.[a-z]+$/.test(path))
      .map((path) => path.slice(1));
    expect(paths).toContain("/evaluation");
    const missing: string[] = [];
    for (const path of paths) {
      const names = (await listNames(`${name}${path}`)) ?? [];
      const own: unknown = await import(`@millrace/langsmith${path}`).catch(
        (error: unknown) => error,
      );
      if (!(own instanceof UnsupportedError)) {
        missing.push(
          ...names.filter((one) => !(one in (own as object))).map((one) => `${path} ${one}`),
        );
      }
    }
    expect(missing).toEqual([]);
  },
);

test("the client has all groups of calls that langsmith's has", async () => {
  const { Client: Real } = await import("langsmith-0.12");
  const isPublic = (member: string) => !member.startsWith("_") && !internal.has(member);
  const members = Object.getOwnPropertyNames(Real.prototype).filter(isPublic);
  expect(members).toContain("createDataset");
  expect(members.filter((member) => !(member in Client.prototype))).toEqual([]);
});

/** Methods with which langsmith's client sends requests, and which no program calls. */
const internal = new Set([
  "applyCurrentAuthHeaders",
  "drainAutoBatchQueue",
  "getProfileManagedAuthorizationHeader",
  "hasExplicitAuthHeader",
  "headers",
  "isProfileManagedAuthorizationHeader",
  "openAPIClient",
  "parseTokenOrUrl",
  "prepareRunCreateOrUpdateInputs",
  "processError",
  "processInputs",
  "processMetadata",
  "processOutputs",
  "processRunOperation",
  "tracingMode",
]);
