import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client as TodaysClient } from "langsmith";
import { Client as OldClient } from "langsmith-0.1";
import { Client as NewestClient } from "langsmith-0.12";

/** The clients of 0.10 and 0.12, by the names under which they are installed here. */
export type NewVersion = "langsmith" | "langsmith-0.12";

/** All clients that the server supports unchanged. */
export type Version = "langsmith-0.1" | NewVersion;

export const newVersions: readonly NewVersion[] = ["langsmith", "langsmith-0.12"];

export const versions: readonly Version[] = ["langsmith-0.1", ...newVersions];

interface Methods {
  /** Methods of both the old and the new clients. */
  readonly both: readonly string[];
  readonly old?: readonly string[];
  readonly todays?: readonly string[];
}

/** The public methods that send requests, by the resource whose test file must call them. */
const methodsByNoun = {
  tracing: {
    both: ["createRun", "updateRun", "batchIngestRuns", "awaitPendingTraceBatches"],
  },
  multipart: { both: [], todays: ["multipartIngestRuns", "flush"] },
  runs: {
    both: [
      "readRun",
      "getRunUrl",
      "listRuns",
      "getRunStats",
      "shareRun",
      "unshareRun",
      "readRunSharedLink",
    ],
    todays: ["readThread", "listThreads"],
  },
  projects: {
    both: [
      "createProject",
      "updateProject",
      "hasProject",
      "readProject",
      "getProjectUrl",
      "listProjects",
      "deleteProject",
    ],
  },
  datasets: {
    both: [
      "createDataset",
      "readDataset",
      "hasDataset",
      "listDatasets",
      "updateDataset",
      "deleteDataset",
      "getDatasetUrl",
      "uploadCsv",
      "readDatasetOpenaiFinetuning",
    ],
  },
  "dataset-versions": {
    both: ["diffDatasetVersions", "listDatasetSplits", "updateDatasetSplits"],
    old: ["indexDataset", "similarExamples"],
    todays: ["updateDatasetTag", "readDatasetVersion"],
  },
  "dataset-shares": {
    both: [
      "shareDataset",
      "unshareDataset",
      "readDatasetSharedSchema",
      "readSharedDataset",
      "listSharedExamples",
      "clonePublicDataset",
    ],
  },
  examples: {
    both: [
      "createExample",
      "createExamples",
      "createLLMExample",
      "createChatExample",
      "readExample",
      "listExamples",
      "updateExample",
      "updateExamples",
      "deleteExample",
    ],
  },
  "example-forms": {
    both: [],
    todays: ["deleteExamples", "uploadExamplesMultipart", "updateExamplesMultipart"],
  },
  feedback: {
    both: [
      "createFeedback",
      "readFeedback",
      "updateFeedback",
      "deleteFeedback",
      "listFeedback",
      "createPresignedFeedbackToken",
      "listPresignedFeedbackTokens",
      "logEvaluationFeedback",
    ],
    old: ["evaluateRun"],
  },
  experiments: { both: ["createComparativeExperiment"] },
  "annotation-queues": {
    both: [
      "listAnnotationQueues",
      "createAnnotationQueue",
      "readAnnotationQueue",
      "updateAnnotationQueue",
      "deleteAnnotationQueue",
      "addRunsToAnnotationQueue",
      "getRunFromAnnotationQueue",
    ],
    todays: [
      "listRunsFromAnnotationQueue",
      "deleteRunFromAnnotationQueue",
      "getSizeFromAnnotationQueue",
    ],
  },
  prompts: {
    both: [
      "promptExists",
      "likePrompt",
      "unlikePrompt",
      "listCommits",
      "listPrompts",
      "getPrompt",
      "createPrompt",
      "createCommit",
      "updatePrompt",
      "deletePrompt",
      "pullPromptCommit",
      "pushPrompt",
    ],
    todays: ["agentExists", "skillExists", "listAgents", "listSkills"],
  },
} as const satisfies Record<string, Methods>;

export type Noun = keyof typeof methodsByNoun;

export const nouns = Object.keys(methodsByNoun) as readonly Noun[];

/** The methods that the tests of a resource must call on a client of this version. */
export function methodsOf(noun: Noun, version: Version): readonly string[] {
  const { both, old, todays }: Methods = methodsByNoun[noun];
  return [...both, ...((version === "langsmith-0.1" ? old : todays) ?? [])];
}

const malformed = "its request is malformed: the address has no `?` before the query";
const hubFolders = "folders of files in the prompt hub are not in the specification";
const configs = "/feedback-configs is not in the specification";

const excludedOfNew = {
  listSharedRuns: malformed,
  listGroupRuns: "/runs/group is not in the specification",
  createFeedbackConfig: configs,
  listFeedbackConfigs: configs,
  updateFeedbackConfig: configs,
  deleteFeedbackConfig: configs,
  pullAgent: hubFolders,
  pullSkill: hubFolders,
  pushAgent: hubFolders,
  pushSkill: hubFolders,
  deleteAgent: hubFolders,
  deleteSkill: hubFolders,
};

/** Methods that no test has to call, with the reason. */
export const excluded: Readonly<Record<Version, Readonly<Record<string, string>>>> = {
  "langsmith-0.1": { listSharedRuns: malformed },
  langsmith: excludedOfNew,
  "langsmith-0.12": {
    ...excludedOfNew,
    addFeedbackCategories: configs,
    removeFeedbackCategories: configs,
  },
};

/** Methods that send no request. */
const local = new Set(["constructor", "getHostUrl", "toString", "cleanup"]);

const prototypes: Readonly<Record<Version, object>> = {
  "langsmith-0.1": OldClient.prototype,
  langsmith: TodaysClient.prototype,
  "langsmith-0.12": NewestClient.prototype,
};

/** The folder of a package's sources. */
const folders: Readonly<Record<Version, string>> = {
  "langsmith-0.1": "dist",
  langsmith: "dist",
  "langsmith-0.12": "lib",
};

/** Methods of the client's prototype that its types declare as public. */
export function publicMethods(version: Version): readonly string[] {
  const types = new URL(
    `../../../node_modules/${version}/${folders[version]}/client.d.ts`,
    import.meta.url,
  );
  const declared = readFileSync(fileURLToPath(types), "utf8");
  const hidden = new Set(
    [...declared.matchAll(/^ {4}(?:private|protected) (\w+)/gmu)].map(([, name]) => name!),
  );
  return Object.entries(Object.getOwnPropertyDescriptors(prototypes[version]))
    .filter(([, { value }]) => typeof value === "function")
    .map(([name]) => name)
    .filter((name) => !name.startsWith("_") && !hidden.has(name) && !local.has(name));
}
