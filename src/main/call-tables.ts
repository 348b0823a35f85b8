import { feedbackKeys } from "../api/feedback-input.ts";
import type { CallTables } from "../api/http/known-arguments.ts";
import type { Resources } from "./resources.ts";

const call = { signal: true } as const;
const project = { projectId: true, projectName: true } as const;
const dataset = { datasetId: true, datasetName: true } as const;
const expiration = { days: true, hours: true, minutes: true } as const;
const judgement = {
  score: true,
  value: true,
  comment: true,
  correction: true,
  feedbackConfig: feedbackKeys.feedbackConfig,
} as const;
const token = { expiration, feedbackConfig: feedbackKeys.feedbackConfig } as const;
const queue = {
  ...call,
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
  ...call,
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
  ...call,
  ...dataset,
  ids: true,
  asOf: true,
  splits: true,
  metadata: true,
  filter: true,
} as const;
const sharedExamples = { ...call, exampleIds: true, metadata: true, filter: true } as const;
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
  ...call,
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
  ...dataset,
  createDataset: newDataset,
  toExample: true,
  idFrom: { key: true },
} as const;
const promptFields = {
  ...call,
  description: true,
  readme: true,
  tags: true,
  isPublic: true,
} as const;
const attachment = { mimeType: true, presignedUrl: true } as const;

/** What each call of the API may be given. The types of the calls are what this must keep to: see {@link CallTables}. */
export const callTables: CallTables<Resources> = {
  projects: {
    create: {
      args: [
        {
          ...call,
          name: true,
          description: true,
          extra: true,
          metadata: true,
          referenceDatasetId: true,
          upsert: true,
        },
      ],
    },
    read: { args: [{ ...call, ...project, includeStats: true }] },
    has: { args: [{ ...call, ...project }] },
    list: {
      args: [
        {
          ...call,
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
          ...call,
          ...project,
          name: true,
          description: true,
          extra: true,
          metadata: true,
          endTime: true,
        },
      ],
    },
    delete: { args: [{ ...call, ...project }] },
    url: { args: [{ ...call, ...project }] },
  },
  runs: {
    upload: { args: [null, { ...upload, toRun: true, projectName: true }] },
    read: { args: [null, { ...call, withChildRuns: true }] },
    readAttachments: { args: [null, call] },
    readAttachment: { args: [attachment, call] },
    list: { args: [{ ...runFilter, select: true, order: true, limit: true }], throws: true },
    stats: { args: [runFilter] },
    share: { args: [null, call] },
    unshare: { args: [null, call] },
    readShared: { args: [null, call] },
    url: { args: [null, call] },
  },
  datasets: {
    create: { args: [{ ...call, ...newDataset, name: true }] },
    createFromCsv: {
      args: [
        {
          ...call,
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
    read: { args: [{ ...call, ...dataset }] },
    has: { args: [{ ...call, ...dataset }] },
    list: {
      args: [
        {
          ...call,
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
          ...call,
          ...dataset,
          name: true,
          description: true,
          inputsSchema: true,
          outputsSchema: true,
          metadata: true,
        },
      ],
    },
    delete: { args: [{ ...call, ...dataset }] },
    deleteMany: { args: [null, call] },
    url: { args: [{ ...call, ...dataset }] },
    listVersions: {
      args: [{ ...call, ...dataset, exampleId: true, search: true, limit: true }],
      throws: true,
    },
    readVersion: { args: [{ ...call, ...dataset, asOf: true, tag: true }] },
    tag: { args: [{ ...call, ...dataset, asOf: true, tag: true }] },
    diff: { args: [{ ...call, ...dataset, fromVersion: true, toVersion: true }] },
    listSplits: { args: [{ ...call, ...dataset, asOf: true }] },
    updateSplits: {
      args: [{ ...call, ...dataset, splitName: true, exampleIds: true, remove: true }],
    },
    share: { args: [{ ...call, ...dataset }] },
    unshare: { args: [{ ...call, ...dataset }] },
    readShare: { args: [{ ...call, ...dataset }] },
    readShared: { args: [null, call] },
    listSharedExamples: { args: [null, { ...sharedExamples, limit: true }], throws: true },
    countSharedExamples: { args: [null, sharedExamples] },
    clone: { args: [null, { ...call, name: true, sourceEndpoint: true }] },
    exportOpenAi: { args: [{ ...call, ...dataset, asOf: true }], throws: true },
    exportCsv: { args: [{ ...call, ...dataset, asOf: true }], throws: true },
    exportJsonl: { args: [{ ...call, ...dataset, asOf: true }], throws: true },
    index: { args: [{ ...call, ...dataset, tag: true }] },
    search: { args: [{ ...call, ...dataset, inputs: true, limit: true, filter: true }] },
  },
  examples: {
    create: {
      args: [
        { ...call, ...dataset, ...newExample, inputs: true, outputs: true, useSourceRunIo: true },
      ],
    },
    createChat: { args: [{ ...call, ...dataset, ...newExample, messages: true, answer: true }] },
    createMany: { args: [{ ...call, ...dataset, examples: true }] },
    update: { args: [null, { ...call, ...exampleChanges }] },
    updateMany: { args: [{ ...call, datasetId: true, examples: true }] },
    read: { args: [null, { ...call, asOf: true }] },
    readAttachment: { args: [attachment, call] },
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
    delete: { args: [null, call] },
    deleteMany: { args: [null, { ...call, hardDelete: true }] },
    upload: { args: [null, uploadExamples] },
    uploadStream: { args: [uploadExamples], throws: true },
  },
  experiments: {
    compare: {
      args: [
        {
          ...call,
          ...dataset,
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
          ...call,
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
      args: [{ ...call, ...dataset, ids: true, name: true, nameContains: true, limit: true }],
      throws: true,
    },
  },
  feedback: {
    create: { args: [feedbackKeys] },
    read: { args: [null, call] },
    list: {
      args: [
        {
          ...call,
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
    update: { args: [null, { ...call, ...judgement }] },
    delete: { args: [null, call] },
    createToken: { args: [null, null, { ...call, ...token }] },
    createTokens: { args: [[{ ...token, runId: true, feedbackKey: true }], call] },
    listTokens: { args: [null, call], throws: true },
    upload: { args: [null, { ...upload, toFeedback: true, idFrom: { key: true } }] },
  },
  annotationQueues: {
    create: { args: [{ ...queue, id: true }] },
    read: { args: [null, call] },
    list: {
      args: [
        { ...call, ids: true, name: true, nameContains: true, defaultDatasetId: true, limit: true },
      ],
      throws: true,
    },
    update: { args: [null, queue] },
    delete: { args: [null, call] },
    addRuns: {
      args: [
        null,
        { ...call, runIds: true, runs: [{ runId: true, projectId: true, startTime: true }] },
      ],
    },
    readRun: { args: [null, { ...call, index: true }] },
    listRuns: { args: [null, { ...call, status: true, limit: true }], throws: true },
    updateRun: {
      args: [null, { ...call, queueRunId: true, addedAt: true, lastReviewedTime: true }],
    },
    removeRun: { args: [null, { ...call, queueRunId: true }] },
    size: { args: [null, call] },
  },
  prompts: {
    create: { args: [null, promptFields] },
    read: { args: [null, call] },
    has: { args: [null, call] },
    list: {
      args: [
        {
          ...call,
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
    delete: { args: [null, call] },
    deleteMany: { args: [null, call] },
    like: { args: [null, call] },
    unlike: { args: [null, call] },
    url: { args: [null, call] },
    commit: {
      args: [null, { ...call, manifest: true, parentCommit: true, description: true, tags: true }],
    },
    listCommits: { args: [null, { ...call, tag: true, limit: true }], throws: true },
    pull: { args: [null, { ...call, includeModel: true }] },
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
    tag: { args: [null, { ...call, tag: true }] },
    readTag: { args: [null, { ...call, tag: true }] },
    listTags: { args: [null, call] },
    deleteTag: { args: [null, { ...call, tag: true }] },
  },
  tenant: {
    settings: { args: [call] },
    setHandle: { args: [null, call] },
  },
};
