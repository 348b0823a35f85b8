import { createRequire } from "node:module";
import {
  Client,
  computeRunIdForSecondaryReplica,
  configureGlobalPromptCache,
  UnsupportedError,
  overrideFetchImplementation,
  PromptCache,
} from "@millrace/langsmith";
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
