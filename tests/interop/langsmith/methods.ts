import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client as MovedClient } from "@millrace/langsmith";
import { Client as TodaysClient } from "langsmith";
import { Client as OldClient } from "langsmith-0.1";
import { Client as NewestClient } from "langsmith-0.12";

/** The clients of 0.10 and 0.12, by the names under which they are installed here. */
export type RealVersion = "langsmith" | "langsmith-0.12";

/** These, and the package of ours that takes their place. */
export type NewVersion = RealVersion | "@millrace/langsmith";

/** All clients that the server supports unchanged. */
export type Version = "langsmith-0.1" | NewVersion;

export const realVersions: readonly RealVersion[] = ["langsmith", "langsmith-0.12"];

export const newVersions: readonly NewVersion[] = [...realVersions, "@millrace/langsmith"];

export const versions: readonly Version[] = ["langsmith-0.1", ...newVersions];

interface Methods {
  /** Methods of both the old and the new clients. */
  readonly everyClient: readonly string[];
  readonly oldClient?: readonly string[];
  readonly newClients?: readonly string[];
  /** Of the newest clients, but not of our package. */
  readonly realClients?: readonly string[];
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
    realClients: ["agentExists", "skillExists", "listAgents", "listSkills"],
  },
} as const satisfies Record<string, Methods>;

export type TestedResource = keyof typeof methodsByResource;

export const resources = Object.keys(methodsByResource) as readonly TestedResource[];

/** The methods that the tests of a resource must call on a client of this version. */
export function methodsOf(resource: TestedResource, version: Version): readonly string[] {
  const methods: Methods = methodsByResource[resource];
  const { everyClient, oldClient = [], newClients = [], realClients = [] } = methods;
  const others = {
    "langsmith-0.1": oldClient,
    langsmith: [...newClients, ...realClients],
    "langsmith-0.12": [...newClients, ...realClients],
    "@millrace/langsmith": newClients,
  };
  return [...everyClient, ...others[version]];
}

const malformed = "its request is malformed: the address has no `?` before the query";
const hubFolders = "folders of files in the prompt hub are not in the specification";
const configs = "/feedback-configs is not in the specification";

const unsupported = "tests/langsmith/unsupported.test.ts calls it";

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
  "@millrace/langsmith": {
    listSharedRuns: "langsmith sends a malformed request, so there is nothing to compare with",
    listGroupRuns: unsupported,
    createFeedbackConfig: unsupported,
    listFeedbackConfigs: unsupported,
    updateFeedbackConfig: unsupported,
    deleteFeedbackConfig: unsupported,
    addFeedbackCategories: unsupported,
    removeFeedbackCategories: unsupported,
    pullAgent: unsupported,
    pullSkill: unsupported,
    pushAgent: unsupported,
    pushSkill: unsupported,
    deleteAgent: unsupported,
    deleteSkill: unsupported,
    agentExists: unsupported,
    skillExists: unsupported,
    listAgents: unsupported,
    listSkills: unsupported,
  },
};

/** Methods that send no request. */
const local = new Set(["constructor", "getHostUrl", "toString", "cleanup"]);

const prototypes: Readonly<Record<Version, object>> = {
  "langsmith-0.1": OldClient.prototype,
  langsmith: TodaysClient.prototype,
  "langsmith-0.12": NewestClient.prototype,
  "@millrace/langsmith": MovedClient.prototype,
};

/** The folder of a package's sources. */
const folders: Readonly<Record<Exclude<Version, "@millrace/langsmith">, string>> = {
  "langsmith-0.1": "dist",
  langsmith: "dist",
  "langsmith-0.12": "lib",
};

/** Methods of the client's prototypes that its types declare as public. */
export function publicMethods(version: Version): readonly string[] {
  if (version === "@millrace/langsmith") {
    return methodsOfPrototypes(prototypes[version]);
  }
  const types = new URL(
    `../../../node_modules/${version}/${folders[version]}/client.d.ts`,
    import.meta.url,
  );
  const declared = readFileSync(fileURLToPath(types), "utf8");
  const hidden = new Set(
    [...declared.matchAll(/^ {4}(?:private|protected) (\w+)/gmu)].map(([, name]) => name!),
  );
  return methodsOfPrototypes(prototypes[version]).filter((name) => !hidden.has(name));
}

/** The names of the methods of a prototype and of those that it extends, but for those that send no request. */
function methodsOfPrototypes(prototype: object): readonly string[] {
  if (prototype === Object.prototype) {
    return [];
  }
  const names = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([, { value }]) => typeof value === "function")
    .map(([name]) => name)
    .filter((name) => !name.startsWith("_") && !local.has(name));
  return [...names, ...methodsOfPrototypes(Object.getPrototypeOf(prototype) as object)];
}
