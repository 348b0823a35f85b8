import { feedbackKeys } from "../api/feedback-input.ts";
import type { CallTables } from "../api/http/known-arguments.ts";
import type { Resources } from "./resources.ts";

const callOptions = { signal: true } as const;
const projectKey = { projectId: true, projectName: true } as const;
const datasetKey = { datasetId: true, datasetName: true } as const;
const expiration = { days: true, hours: true, minutes: true } as const;
const feedbackFields = {
  score: true,
  value: true,
  comment: true,
  correction: true,
  feedbackConfig: feedbackKeys.feedbackConfig,
} as const;
const tokenOptions = { expiration, feedbackConfig: feedbackKeys.feedbackConfig } as const;
const queueFields = {
  ...callOptions,
  name: true,
  description: true,
  metadata: true,
  defaultDatasetId: true,
  rubricInstructions: true,
  rubricItems: [
    {
      feedbackKey: true,
      description: true,
      isRequired: true,
      scoreDescriptions: true,
      valueDescriptions: true,
    },
  ],
} as const;
const runFilter = {
  ...callOptions,
  projectIds: true,
  projectNames: true,
  ids: true,
  traceId: true,
  parentRunId: true,
  runType: true,
  referenceExampleIds: true,
  isRoot: true,
  error: true,
  startTime: true,
  endTime: true,
  query: true,
  filter: true,
  traceFilter: true,
  treeFilter: true,
} as const;
const exampleFilter = {
  ...callOptions,
  ...datasetKey,
  ids: true,
  asOf: true,
  splits: true,
  metadata: true,
  filter: true,
} as const;
const sharedExamples = { ...callOptions, exampleIds: true, metadata: true, filter: true } as const;
const newExample = {
  id: true,
  metadata: true,
  split: true,
  sourceRunId: true,
  createdAt: true,
  attachments: true,
} as const;
const exampleChanges = {
  inputs: true,
  outputs: true,
  metadata: true,
  split: true,
  attachments: true,
  retainAttachments: true,
  renameAttachments: true,
} as const;
const newDataset = {
  description: true,
  dataType: true,
  inputsSchema: true,
  outputsSchema: true,
  metadata: true,
  id: true,
} as const;
const upload = {
  ...callOptions,
  chunkBytes: true,
  chunkCount: true,
  inFlight: true,
  ordered: true,
  checkpoint: { path: true, source: true },
  dryRun: true,
  patienceMs: true,
  onRejected: true,
  onProgress: true,
  onWait: true,
} as const;
const uploadExamples = {
  ...upload,
  ...datasetKey,
  createDataset: newDataset,
  toExample: true,
  idFrom: { key: true },
} as const;
const promptFields = {
  ...callOptions,
  description: true,
  readme: true,
  tags: true,
  isPublic: true,
} as const;
const attachment = { mimeType: true, presignedUrl: true } as const;

/**
 * The option names that each method of the resources accepts. The type {@link CallTables} keeps it in sync with the
 * methods' types.
 */
export const callTables: CallTables<Resources> = {
  projects: {
    create: {
      args: [
        {
          ...callOptions,
          name: true,
          description: true,
          extra: true,
          metadata: true,
          referenceDatasetId: true,
          upsert: true,
        },
      ],
    },
    read: { args: [{ ...callOptions, ...projectKey, includeStats: true }] },
    has: { args: [{ ...callOptions, ...projectKey }] },
    list: {
      args: [
        {
          ...callOptions,
          projectIds: true,
          projectName: true,
          nameContains: true,
          referenceDatasetId: true,
          referenceFree: true,
          metadata: true,
          includeStats: true,
          limit: true,
        },
      ],
      throws: true,
    },
    update: {
      args: [
        {
          ...callOptions,
          ...projectKey,
          name: true,
          description: true,
          extra: true,
          metadata: true,
          endTime: true,
        },
      ],
    },
    delete: { args: [{ ...callOptions, ...projectKey }] },
    url: { args: [{ ...callOptions, ...projectKey }] },
  },
  runs: {
    upload: { args: [null, { ...upload, toRun: true, projectName: true }] },
    read: { args: [null, { ...callOptions, withChildRuns: true }] },
    readAttachments: { args: [null, callOptions] },
    readAttachment: { args: [attachment, callOptions] },
    list: { args: [{ ...runFilter, select: true, order: true, limit: true }], throws: true },
    stats: { args: [runFilter] },
    share: { args: [null, callOptions] },
    unshare: { args: [null, callOptions] },
    readShared: { args: [null, callOptions] },
    url: { args: [null, callOptions] },
  },
  datasets: {
    create: { args: [{ ...callOptions, ...newDataset, name: true }] },
    createFromCsv: {
      args: [
        {
          ...callOptions,
          file: true,
          inputKeys: true,
          outputKeys: true,
          name: true,
          fileName: true,
          description: true,
          dataType: true,
        },
      ],
    },
    read: { args: [{ ...callOptions, ...datasetKey }] },
    has: { args: [{ ...callOptions, ...datasetKey }] },
    list: {
      args: [
        {
          ...callOptions,
          datasetIds: true,
          datasetName: true,
          nameContains: true,
          dataType: true,
          metadata: true,
          offset: true,
          limit: true,
        },
      ],
      throws: true,
    },
    update: {
      args: [
        {
          ...callOptions,
          ...datasetKey,
          name: true,
          description: true,
          inputsSchema: true,
          outputsSchema: true,
          metadata: true,
        },
      ],
    },
    delete: { args: [{ ...callOptions, ...datasetKey }] },
    deleteMany: { args: [null, callOptions] },
    url: { args: [{ ...callOptions, ...datasetKey }] },
    listVersions: {
      args: [{ ...callOptions, ...datasetKey, exampleId: true, search: true, limit: true }],
      throws: true,
    },
    readVersion: { args: [{ ...callOptions, ...datasetKey, asOf: true, tag: true }] },
    tag: { args: [{ ...callOptions, ...datasetKey, asOf: true, tag: true }] },
    diff: { args: [{ ...callOptions, ...datasetKey, fromVersion: true, toVersion: true }] },
    listSplits: { args: [{ ...callOptions, ...datasetKey, asOf: true }] },
    updateSplits: {
      args: [{ ...callOptions, ...datasetKey, splitName: true, exampleIds: true, remove: true }],
    },
    share: { args: [{ ...callOptions, ...datasetKey }] },
    unshare: { args: [{ ...callOptions, ...datasetKey }] },
    readShare: { args: [{ ...callOptions, ...datasetKey }] },
    readShared: { args: [null, callOptions] },
    listSharedExamples: { args: [null, { ...sharedExamples, limit: true }], throws: true },
    countSharedExamples: { args: [null, sharedExamples] },
    clone: { args: [null, { ...callOptions, name: true, sourceEndpoint: true }] },
    exportOpenAi: { args: [{ ...callOptions, ...datasetKey, asOf: true }], throws: true },
    exportCsv: { args: [{ ...callOptions, ...datasetKey, asOf: true }], throws: true },
    exportJsonl: { args: [{ ...callOptions, ...datasetKey, asOf: true }], throws: true },
    index: { args: [{ ...callOptions, ...datasetKey, tag: true }] },
    search: { args: [{ ...callOptions, ...datasetKey, inputs: true, limit: true, filter: true }] },
  },
  examples: {
    create: {
      args: [
        {
          ...callOptions,
          ...datasetKey,
          ...newExample,
          inputs: true,
          outputs: true,
          useSourceRunIo: true,
        },
      ],
    },
    createChat: {
      args: [{ ...callOptions, ...datasetKey, ...newExample, messages: true, answer: true }],
    },
    createMany: { args: [{ ...callOptions, ...datasetKey, examples: true }] },
    update: { args: [null, { ...callOptions, ...exampleChanges }] },
    updateMany: { args: [{ ...callOptions, datasetId: true, examples: true }] },
    read: { args: [null, { ...callOptions, asOf: true }] },
    readAttachment: { args: [attachment, callOptions] },
    list: {
      args: [
        {
          ...exampleFilter,
          inlineS3Urls: true,
          includeAttachments: true,
          offset: true,
          order: true,
          limit: true,
        },
      ],
      throws: true,
    },
    count: { args: [exampleFilter] },
    delete: { args: [null, callOptions] },
    deleteMany: { args: [null, { ...callOptions, hardDelete: true }] },
    upload: { args: [null, uploadExamples] },
    uploadStream: { args: [uploadExamples], throws: true },
  },
  experiments: {
    compare: {
      args: [
        {
          ...callOptions,
          ...datasetKey,
          experimentIds: true,
          exampleIds: true,
          filters: true,
          comparativeExperimentId: true,
          limit: true,
        },
      ],
      throws: true,
    },
    createComparative: {
      args: [
        {
          ...callOptions,
          id: true,
          name: true,
          description: true,
          metadata: true,
          experimentIds: true,
          referenceDatasetId: true,
          createdAt: true,
        },
      ],
    },
    listComparative: {
      args: [
        { ...callOptions, ...datasetKey, ids: true, name: true, nameContains: true, limit: true },
      ],
      throws: true,
    },
  },
  feedback: {
    create: { args: [feedbackKeys] },
    read: { args: [null, callOptions] },
    list: {
      args: [
        {
          ...callOptions,
          runIds: true,
          projectIds: true,
          keys: true,
          sourceTypes: true,
          level: true,
          hasScore: true,
          hasComment: true,
          comparativeExperimentId: true,
          minCreatedAt: true,
          maxCreatedAt: true,
          limit: true,
        },
      ],
      throws: true,
    },
    update: { args: [null, { ...callOptions, ...feedbackFields }] },
    delete: { args: [null, callOptions] },
    createToken: { args: [null, null, { ...callOptions, ...tokenOptions }] },
    createTokens: { args: [[{ ...tokenOptions, runId: true, feedbackKey: true }], callOptions] },
    listTokens: { args: [null, callOptions], throws: true },
    upload: { args: [null, { ...upload, toFeedback: true, idFrom: { key: true } }] },
  },
  annotationQueues: {
    create: { args: [{ ...queueFields, id: true }] },
    read: { args: [null, callOptions] },
    list: {
      args: [
        {
          ...callOptions,
          ids: true,
          name: true,
          nameContains: true,
          defaultDatasetId: true,
          limit: true,
        },
      ],
      throws: true,
    },
    update: { args: [null, queueFields] },
    delete: { args: [null, callOptions] },
    addRuns: {
      args: [
        null,
        { ...callOptions, runIds: true, runs: [{ runId: true, projectId: true, startTime: true }] },
      ],
    },
    readRun: { args: [null, { ...callOptions, index: true }] },
    listRuns: { args: [null, { ...callOptions, status: true, limit: true }], throws: true },
    updateRun: {
      args: [null, { ...callOptions, queueRunId: true, addedAt: true, lastReviewedTime: true }],
    },
    removeRun: { args: [null, { ...callOptions, queueRunId: true }] },
    size: { args: [null, callOptions] },
  },
  prompts: {
    create: { args: [null, promptFields] },
    read: { args: [null, callOptions] },
    has: { args: [null, callOptions] },
    list: {
      args: [
        {
          ...callOptions,
          query: true,
          owner: true,
          tags: true,
          isPublic: true,
          isArchived: true,
          sortField: true,
          sortDirection: true,
          limit: true,
        },
      ],
      throws: true,
    },
    update: { args: [null, { ...promptFields, isArchived: true }] },
    delete: { args: [null, callOptions] },
    deleteMany: { args: [null, callOptions] },
    like: { args: [null, callOptions] },
    unlike: { args: [null, callOptions] },
    url: { args: [null, callOptions] },
    commit: {
      args: [
        null,
        { ...callOptions, manifest: true, parentCommit: true, description: true, tags: true },
      ],
    },
    listCommits: { args: [null, { ...callOptions, tag: true, limit: true }], throws: true },
    pull: { args: [null, { ...callOptions, includeModel: true }] },
    push: {
      args: [
        null,
        {
          ...promptFields,
          manifest: true,
          parentCommit: true,
          commitDescription: true,
          commitTags: true,
        },
      ],
    },
    tag: { args: [null, { ...callOptions, tag: true }] },
    readTag: { args: [null, { ...callOptions, tag: true }] },
    listTags: { args: [null, callOptions] },
    deleteTag: { args: [null, { ...callOptions, tag: true }] },
  },
  tenant: {
    settings: { args: [callOptions] },
    setHandle: { args: [null, callOptions] },
  },
};
