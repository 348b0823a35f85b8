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
  readonly everyClient: readonly string[];
  readonly oldClient?: readonly string[];
  readonly newClients?: readonly string[];
}

/** The public methods that send requests, by the resource whose test file must call them. */
const methodsByResource = {
  tracing: {
    everyClient: ["createRun", "updateRun", "batchIngestRuns", "awaitPendingTraceBatches"],
  },
  multipart: { everyClient: [], newClients: ["multipartIngestRuns", "flush"] },
  runs: {
    everyClient: [
      "readRun",
      "getRunUrl",
      "listRuns",
      "getRunStats",
      "shareRun",
      "unshareRun",
      "readRunSharedLink",
    ],
    newClients: ["readThread", "listThreads"],
  },
  projects: {
    everyClient: [
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
    everyClient: [
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
    everyClient: ["diffDatasetVersions", "listDatasetSplits", "updateDatasetSplits"],
    oldClient: ["indexDataset", "similarExamples"],
    newClients: ["updateDatasetTag", "readDatasetVersion"],
  },
  "dataset-shares": {
    everyClient: [
      "shareDataset",
      "unshareDataset",
      "readDatasetSharedSchema",
      "readSharedDataset",
      "listSharedExamples",
      "clonePublicDataset",
    ],
  },
  examples: {
    everyClient: [
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
    everyClient: [],
    newClients: ["deleteExamples", "uploadExamplesMultipart", "updateExamplesMultipart"],
  },
  feedback: {
    everyClient: [
      "createFeedback",
      "readFeedback",
      "updateFeedback",
      "deleteFeedback",
      "listFeedback",
      "createPresignedFeedbackToken",
      "listPresignedFeedbackTokens",
      "logEvaluationFeedback",
    ],
    oldClient: ["evaluateRun"],
  },
  experiments: { everyClient: ["createComparativeExperiment"] },
  "annotation-queues": {
    everyClient: [
      "listAnnotationQueues",
      "createAnnotationQueue",
      "readAnnotationQueue",
      "updateAnnotationQueue",
      "deleteAnnotationQueue",
      "addRunsToAnnotationQueue",
      "getRunFromAnnotationQueue",
    ],
    newClients: [
      "listRunsFromAnnotationQueue",
      "deleteRunFromAnnotationQueue",
      "getSizeFromAnnotationQueue",
    ],
  },
  prompts: {
    everyClient: [
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
    newClients: ["agentExists", "skillExists", "listAgents", "listSkills"],
  },
} as const satisfies Record<string, Methods>;

export type TestedResource = keyof typeof methodsByResource;

export const resources = Object.keys(methodsByResource) as readonly TestedResource[];

/** The methods that the tests of a resource must call on a client of this version. */
export function methodsOf(resource: TestedResource, version: Version): readonly string[] {
  const { everyClient, oldClient, newClients }: Methods = methodsByResource[resource];
  return [...everyClient, ...((version === "langsmith-0.1" ? oldClient : newClients) ?? [])];
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
