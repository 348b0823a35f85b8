import type { CheckedFilter } from "../filter/checker.ts";
import { RequestError } from "../model/errors.ts";
import type { ExampleChange } from "../datasets/examples/example.ts";
import { LongWrite } from "../storage/long-write.ts";
import type { RunFilter } from "../runs/run-query.ts";
import type { SharedThread } from "../shares/share.ts";
import type { Readers, Writers } from "./store.ts";
import { toIds } from "../storage/sqlite/tenant-keys.ts";
import type { KeyKind, TenantKeys } from "../storage/sqlite/tenant-keys.ts";

// Callers name things by ids, which are unique within their tenant; the tables have keys (`tenant-keys.ts`). Every
// call passes here: its arguments get keys in place of ids, its answer ids in place of keys. The tables below name
// each method, so that the compiler asks for those of a new one.

/** The keys of one tenant's ids. */
class OwnKeys {
  readonly run = this.#one("run");
  readonly runs = this.#many("run");
  readonly project = this.#one("project");
  readonly projects = this.#many("project");
  readonly dataset = this.#one("dataset");
  readonly datasets = this.#many("dataset");
  readonly #keys: TenantKeys;
  readonly #tenantId: string;

  constructor(keys: TenantKeys, tenantId: string) {
    this.#keys = keys;
    this.#tenantId = tenantId;
  }

  #one(kind: KeyKind) {
    return (id: string): string => this.#keys.keyOf(kind, this.#tenantId, id);
  }

  #many(kind: KeyKind) {
    return (ids: readonly string[]): readonly string[] =>
      this.#keys.keysOf(kind, this.#tenantId, ids);
  }
}

type ToKeys<Args> = (args: Args, keys: OwnKeys) => Args;

/** For each method of each resource, what its arguments become. */
type ArgumentTable<Resources> = {
  readonly [Resource in keyof Resources]: {
    readonly [Method in keyof Resources[Resource]]: Resources[Resource][Method] extends (
      ...args: infer Args
    ) => unknown
      ? ToKeys<Args>
      : never;
  };
};

/** Names nothing that has a key; or what writes finds the key itself. */
const same = <Args>(args: Args): Args => args;

/** For the holder of a token: the result contains the tenant. */
const byToken = <Args>(args: Args): Args => args;

/** Of a tenant and an id. */
const ofRun = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: OwnKeys,
): [string, string, ...Rest] => [tenantId, keys.run(id), ...rest];

const ofProject = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: OwnKeys,
): [string, string, ...Rest] => [tenantId, keys.project(id), ...rest];

const ofDataset = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: OwnKeys,
): [string, string, ...Rest] => [tenantId, keys.dataset(id), ...rest];

/** Of a tenant and a thread of a project. */
const ofThread = (
  [tenantId, thread]: [tenantId: string, thread: SharedThread],
  { project }: OwnKeys,
): [string, SharedThread] => [tenantId, replace(thread, { projectId: project })];

type Changes<Value> = {
  readonly [Name in keyof Value]?: (member: NonNullable<Value[Name]>) => Value[Name];
};

/** A copy in which some of the members, where they are given, are others. */
function replace<Value extends object>(value: Value, changes: Changes<Value>): Value {
  const copy = { ...value };
  for (const name of Object.keys(changes) as (keyof Value)[]) {
    const member = value[name];
    const change = changes[name];
    if (member !== undefined && member !== null && change !== undefined) {
      copy[name] = change(member);
    }
  }
  return copy;
}

/** A filter of runs. Ids of traces and parents are not translated: rows hold them as they are. */
const toRunFilter = <Filter extends Omit<RunFilter, "projectIds"> & Partial<RunFilter>>(
  filter: Filter,
  keys: OwnKeys,
): Filter => {
  const one = (part: CheckedFilter): CheckedFilter => toOwnFilter(part, keys);
  const changes: Changes<RunFilter> = {
    projectIds: keys.projects,
    ids: keys.runs,
    runFilters: (parts) => parts.map(one),
    rootFilter: one,
    treeFilter: one,
  };
  return replace<RunFilter>(filter, changes) as Filter;
};

function toOwnFilter(filter: CheckedFilter, keys: OwnKeys): CheckedFilter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { ...filter, parts: filter.parts.map((part) => toOwnFilter(part, keys)) };
    case "not":
      return { ...filter, part: toOwnFilter(filter.part, keys) };
    case "search":
      return filter;
    case "comparison": {
      const { operand, field } = filter;
      const toKey = filterKeys(field.name, keys);
      if (toKey === undefined || operand.kind === "json") {
        return filter;
      }
      const one = <Value>(value: Value): Value | string =>
        typeof value === "string" ? toKey(value) : value;
      return {
        ...filter,
        operand:
          operand.kind === "list"
            ? { kind: "list", values: operand.values.map(one) }
            : { kind: "scalar", value: one(operand.value) },
      };
    }
  }
}

/** The fields of runs whose columns hold keys. */
function filterKeys(name: string, keys: OwnKeys): ((id: string) => string) | undefined {
  if (name === "id") {
    return keys.run;
  }
  return name === "session_id" ? keys.project : undefined;
}

const toExampleChange = (change: ExampleChange, keys: OwnKeys): ExampleChange =>
  replace(change, { datasetId: keys.dataset });

const readArguments: ArgumentTable<Readers> = {
  annotationQueues: {
    find: same,
    list: ([tenantId, query], { dataset, run }) => [
      tenantId,
      replace(query, { defaultDatasetId: dataset, runId: run }),
    ],
    listEntries: same,
    size: same,
    lastAdded: ([tenantId, ids], { runs }) => [tenantId, runs(ids)],
  },
  comparatives: {
    list: ([tenantId, query], { dataset }) => [tenantId, replace(query, { datasetId: dataset })],
  },
  feedback: {
    find: same,
    list: ([tenantId, query], { runs, projects }) => [
      tenantId,
      replace(query, { runIds: runs, projectIds: projects }),
    ],
    statsOfRuns: ([tenantId, ids, ...rest], { runs }) => [tenantId, runs(ids), ...rest],
    statsOfFilter: ([tenantId, filter], keys) => [tenantId, toRunFilter(filter, keys)],
    statsOfProjectRuns: ([tenantId, ids], { projects }) => [tenantId, projects(ids)],
    statsOfProjects: ([tenantId, ids], { projects }) => [tenantId, projects(ids)],
    statsOfComparatives: same,
    findToken: byToken,
    listTokens: ofRun,
  },
  feedbackTrend: {
    read: ([tenantId, query], { project }) => [tenantId, replace(query, { projectId: project })],
  },
  datasets: {
    find: ofDataset,
    list: ([tenantId, query], { datasets }) => [tenantId, replace(query, { ids: datasets })],
    findShared: byToken,
    findVersion: ofDataset,
    listVersions: ofDataset,
    diff: ofDataset,
    diffPage: ofDataset,
  },
  examples: {
    find: same,
    list: ([tenantId, query], { dataset }) => [
      tenantId,
      replace(query, { filter: (filter) => replace(filter, { datasetId: dataset }) }),
    ],
    preview: ([tenantId, query, chars], { dataset }) => [
      tenantId,
      replace(query, { filter: (filter) => replace(filter, { datasetId: dataset }) }),
      chars,
    ],
    count: ([tenantId, filter], { dataset }) => [tenantId, replace(filter, { datasetId: dataset })],
    page: ([tenantId, query], { dataset }) => [tenantId, replace(query, { datasetId: dataset })],
    findDatasetId: same,
    // Of a source its id is kept.
    listSources: same,
    listSplits: ofDataset,
    search: ([tenantId, query], { dataset }) => [tenantId, replace(query, { datasetId: dataset })],
    findBlob: same,
  },
  experiments: {
    compare: ([tenantId, question], { project, projects }) => [
      tenantId,
      replace(question, { experimentIds: projects, baselineId: project }),
    ],
    usageOfTraces: same,
  },
  projects: {
    find: ofProject,
    list: ([tenantId, query], { projects, datasets }) => [
      tenantId,
      replace(query, { ids: projects, referenceDatasetIds: datasets }),
    ],
  },
  prompts: {
    find: same,
    list: same,
    listCommits: same,
    pull: same,
    listTags: same,
    readTag: same,
  },
  queueReviews: { listRuns: same, progress: same },
  retention: { list: same },
  runs: {
    find: ofRun,
    query: ([tenantId, query], keys) => [
      tenantId,
      replace(query, {
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replace(after, { id: keys.run }),
      }),
    ],
    statistics: ([tenantId, filter], keys) => [tenantId, toRunFilter(filter, keys)],
    findShared: byToken,
    findFile: ([tenantId, file], { run }) => [tenantId, replace(file, { runId: run })],
  },
  runLists: {
    search: ([tenantId, search], keys) => [
      tenantId,
      replace(search, {
        projectId: keys.project,
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replace(after, { id: keys.run }),
      }),
    ],
    span: ofProject,
    counts: ([tenantId, query], { project }) => [tenantId, replace(query, { projectId: project })],
    words: ([tenantId, query], { project }) => [tenantId, replace(query, { projectId: project })],
  },
  shares: {
    find: byToken,
    ofTraces: ([tenantId, ids], { runs }) => [tenantId, runs(ids)],
    ofThread: ofThread,
  },
  storage: { use: same, projects: same },
  tenants: {
    find: same,
    findByHandle: same,
    list: same,
    findByKey: same,
    hasKeys: same,
    listKeys: same,
  },
  traces: {
    page: ([tenantId, query], { run }) => [tenantId, replace(query, { afterId: run })],
  },
};

/** All but the runs, of which batches are written too: their writer finds the keys. */
export type ScopedWriters = Omit<Writers, "runs">;

const writeArguments: ArgumentTable<ScopedWriters> = {
  annotationQueues: {
    create: ([tenantId, draft], { dataset }) => [
      tenantId,
      replace(draft, { defaultDatasetId: dataset }),
    ],
    update: ([tenantId, id, changes], { dataset }) => [
      tenantId,
      id,
      replace(changes, { defaultDatasetId: dataset }),
    ],
    delete: same,
    addRuns: ([tenantId, id, runs], { run, project }) => [
      tenantId,
      id,
      runs.map((one) => replace(one, { runId: run, projectId: project })),
    ],
    updateRun: same,
    removeRun: same,
  },
  comparatives: {
    create: ([tenantId, draft], { projects, dataset }) => [
      tenantId,
      replace(draft, { experimentIds: projects, datasetId: dataset }),
    ],
  },
  // Feedback comes with batches of runs too.
  feedback: { create: same, update: same, delete: same, createTokens: same },
  datasets: {
    create: same,
    update: ([tenantId, id, changes], keys) => [
      tenantId,
      keys.dataset(id),
      replace(changes, { examples: (all) => all.map((one) => toExampleChange(one, keys)) }),
    ],
    deleteMany: ([tenantId, ids], { datasets }) => [tenantId, datasets(ids)],
    sweep: same,
    share: ofDataset,
    unshare: ofDataset,
    tag: ofDataset,
    beginIndex: ofDataset,
    extendIndex: ofDataset,
  },
  examples: {
    create: ([tenantId, drafts], { dataset }) => [
      tenantId,
      drafts.map((draft) => replace(draft, { datasetId: dataset })),
    ],
    check: ofDataset,
    update: ([tenantId, given, datasetId], keys) => {
      const changes = given.map((change) => toExampleChange(change, keys));
      return datasetId === undefined
        ? [tenantId, changes]
        : [tenantId, changes, keys.dataset(datasetId)];
    },
    deleteMany: same,
  },
  largeExamples: {
    // What is packed is mapped where it is unpacked.
    create: same,
    update: ([tenantId, parts, datasetId], keys) =>
      datasetId === undefined ? [tenantId, parts] : [tenantId, parts, keys.dataset(datasetId)],
    import: ofDataset,
    updateSplits: ofDataset,
  },
  uploads: { begin: same, extend: ofDataset, end: ofDataset, drop: ofDataset },
  projects: {
    create: ([tenantId, draft], { dataset }) => [
      tenantId,
      replace(draft, { referenceDatasetId: dataset }),
    ],
    update: ofProject,
    delete: ofProject,
    deleteMany: ([tenantId, ids], { projects }) => [tenantId, projects(ids)],
  },
  prompts: {
    create: same,
    update: same,
    delete: same,
    deleteMany: same,
    like: same,
    commit: same,
    writeTag: same,
    deleteTag: same,
    count: same,
  },
  queueReviews: { claim: same, release: same, finish: same, reopen: same },
  retention: {
    set: ([tenantId, rule], { project }) => [tenantId, replace(rule, { projectId: project })],
    clear: ([tenantId, id], { project }) => [tenantId, id === null ? null : project(id)],
    sweep: same,
  },
  shares: {
    shareTrace: ofRun,
    unshareTrace: ofRun,
    shareThread: ofThread,
    unshareThread: ofThread,
  },
  tenants: { create: same, setHandle: same, createKey: same, revokeKey: same },
};

/** Readers that are asked, and answer, in ids. */
export const scopeReaders = (readers: Readers, keys: TenantKeys): Readers =>
  scope(readers, keys, readArguments);

/** Writers that are asked, and answer, in ids. */
export const scopeWriters = (writers: ScopedWriters, keys: TenantKeys): ScopedWriters =>
  scope(writers, keys, writeArguments);

type Call = (...args: readonly unknown[]) => unknown;

function scope<Resources extends object>(
  resources: Resources,
  keys: TenantKeys,
  table: ArgumentTable<Resources>,
): Resources {
  const scoped = Object.entries(table).map(([resource, methods]) => {
    const target = Reflect.get(resources, resource) as object;
    const calls = Object.entries(methods as Record<string, ToKeys<readonly unknown[]>>).map(
      ([name, toKeys]) => {
        const method = (Reflect.get(target, name) as Call).bind(target);
        return [name, scopeCall(method, keys, toKeys)] as const;
      },
    );
    return [resource, Object.fromEntries(calls)] as const;
  });
  return Object.fromEntries(scoped) as Resources;
}

function scopeCall(method: Call, keys: TenantKeys, toKeys: ToKeys<readonly unknown[]>): Call {
  if (toKeys === byToken) {
    return (...args) => {
      const answer = method(...args);
      const tenantId = tenantOf(answer);
      return tenantId === undefined ? answer : toIds(tenantId, answer);
    };
  }
  return (...args) => {
    const [tenantId] = args;
    // Nearly no tenant has a longer key: its ids are its keys.
    if (typeof tenantId !== "string" || !keys.hasLong(tenantId)) {
      return method(...args);
    }
    try {
      const answer = method(...toKeys(args, new OwnKeys(keys, tenantId)));
      return answer instanceof LongWrite
        ? new LongWrite(stepsWithIds(tenantId, answer.steps), answer.undo)
        : toIds(tenantId, answer);
    } catch (cause) {
      throw withIds(tenantId, cause);
    }
  };
}

function* stepsWithIds(
  tenantId: string,
  steps: Generator<void, unknown>,
): Generator<void, unknown> {
  try {
    return toIds(tenantId, yield* steps);
  } catch (cause) {
    throw withIds(tenantId, cause);
  }
}

const tenantOf = (answer: unknown): string | undefined => {
  const tenantId: unknown =
    typeof answer === "object" && answer !== null ? Reflect.get(answer, "tenantId") : undefined;
  return typeof tenantId === "string" ? tenantId : undefined;
};

/** What was wrong, in the caller's words. */
function withIds(tenantId: string, cause: unknown): unknown {
  if (!(cause instanceof RequestError)) {
    return cause;
  }
  // Tenants have UUIDs: nothing in them has a meaning in a pattern.
  const message = cause.message.replaceAll(new RegExp(`(?<=[\\da-f-]{36})/${tenantId}`, "g"), "");
  return new RequestError(cause.status, message, cause.retryAfterSeconds);
}
