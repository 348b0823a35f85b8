import type { CheckedFilter } from "../filter/checker.ts";
import { RequestError } from "../model/errors.ts";
import type { ExampleChange } from "../datasets/examples/example.ts";
import { LongWrite } from "../storage/long-write.ts";
import type { RunFilter } from "../runs/run-query.ts";
import type { SharedThread } from "../shares/share.ts";
import type { Readers, Writers } from "./store.ts";
import { toIds } from "../storage/row-keys.ts";
import type { KeyKind } from "../storage/row-keys.ts";
import type { TenantKeys } from "../storage/sqlite/tenant-keys.ts";

// Callers use ids, which are unique within their tenant; the tables use keys (`tenant-keys.ts`). Every call passes
// through this file: ids in its arguments are replaced by keys, and keys in its result by ids. The tables below list
// each method, so the compiler requires an entry for a new one.

/** Maps ids of one tenant to keys. */
class TenantIdMapper {
  readonly run = this.#idMapper("run");
  readonly runs = this.#listMapper("run");
  readonly project = this.#idMapper("project");
  readonly projects = this.#listMapper("project");
  readonly dataset = this.#idMapper("dataset");
  readonly datasets = this.#listMapper("dataset");
  readonly #keys: TenantKeys;
  readonly #tenantId: string;

  constructor(keys: TenantKeys, tenantId: string) {
    this.#keys = keys;
    this.#tenantId = tenantId;
  }

  #idMapper(kind: KeyKind) {
    return (id: string): string => this.#keys.keyOf(kind, this.#tenantId, id);
  }

  #listMapper(kind: KeyKind) {
    return (ids: readonly string[]): readonly string[] =>
      this.#keys.keysOf(kind, this.#tenantId, ids);
  }
}

type ToKeys<Args> = (args: Args, keys: TenantIdMapper) => Args;

/** For each method of each resource: the function that maps its arguments. */
type ArgumentTable<Resources> = {
  readonly [Resource in keyof Resources]: {
    readonly [Method in keyof Resources[Resource]]: Resources[Resource][Method] extends (
      ...args: infer Args
    ) => unknown
      ? ToKeys<Args>
      : never;
  };
};

/** Maps nothing: the arguments contain no ids that have keys, or the writer maps them itself. */
const unchanged = <Args>(args: Args): Args => args;

/** For readers who only have a share token: the arguments name no tenant, the result does. */
const scopedByToken = <Args>(args: Args): Args => args;

/** For arguments that begin with a tenant and the id of a run. */
const withRunKey = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: TenantIdMapper,
): [string, string, ...Rest] => [tenantId, keys.run(id), ...rest];

/** For arguments that begin with a tenant and the id of a project. */
const withProjectKey = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: TenantIdMapper,
): [string, string, ...Rest] => [tenantId, keys.project(id), ...rest];

/** For arguments that begin with a tenant and the id of a dataset. */
const withDatasetKey = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: TenantIdMapper,
): [string, string, ...Rest] => [tenantId, keys.dataset(id), ...rest];

/** For a tenant and a thread of a project. */
const withThreadKey = (
  [tenantId, thread]: [tenantId: string, thread: SharedThread],
  { project }: TenantIdMapper,
): [string, SharedThread] => [tenantId, replace(thread, { projectId: project })];

type Changes<Value> = {
  readonly [Name in keyof Value]?: (member: NonNullable<Value[Name]>) => Value[Name];
};

/** Returns a copy in which the named members are mapped, if they are set. */
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

/**
 * Maps the ids in a filter over runs. Ids of traces and parents are not mapped, because rows store them unchanged.
 */
const toRunFilter = <Filter extends Omit<RunFilter, "projectIds"> & Partial<RunFilter>>(
  filter: Filter,
  keys: TenantIdMapper,
): Filter => {
  const mapFilter = (part: CheckedFilter): CheckedFilter => mapFilterIds(part, keys);
  const changes: Changes<RunFilter> = {
    projectIds: keys.projects,
    ids: keys.runs,
    runFilters: (parts) => parts.map(mapFilter),
    rootFilter: mapFilter,
    treeFilter: mapFilter,
  };
  return replace<RunFilter>(filter, changes) as Filter;
};

function mapFilterIds(filter: CheckedFilter, keys: TenantIdMapper): CheckedFilter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { ...filter, parts: filter.parts.map((part) => mapFilterIds(part, keys)) };
    case "not":
      return { ...filter, part: mapFilterIds(filter.part, keys) };
    case "search":
      return filter;
    case "comparison": {
      const { operand, field } = filter;
      const toKey = findFieldMapper(field.name, keys);
      if (toKey === undefined || operand.kind === "json") {
        return filter;
      }
      const mapValue = <Value>(value: Value): Value | string =>
        typeof value === "string" ? toKey(value) : value;
      return {
        ...filter,
        operand:
          operand.kind === "list"
            ? { kind: "list", values: operand.values.map(mapValue) }
            : { kind: "scalar", value: mapValue(operand.value) },
      };
    }
  }
}

/** Returns the mapper for a field of runs whose column contains keys; `undefined` for other fields. */
function findFieldMapper(name: string, keys: TenantIdMapper): ((id: string) => string) | undefined {
  if (name === "id") {
    return keys.run;
  }
  return name === "session_id" ? keys.project : undefined;
}

const toExampleChange = (change: ExampleChange, keys: TenantIdMapper): ExampleChange =>
  replace(change, { datasetId: keys.dataset });

const readArguments: ArgumentTable<Readers> = {
  annotationQueues: {
    find: unchanged,
    list: ([tenantId, query], { dataset, run }) => [
      tenantId,
      replace(query, { defaultDatasetId: dataset, runId: run }),
    ],
    listEntries: unchanged,
    size: unchanged,
    lastAdded: ([tenantId, ids], { runs }) => [tenantId, runs(ids)],
  },
  comparatives: {
    list: ([tenantId, query], { dataset }) => [tenantId, replace(query, { datasetId: dataset })],
  },
  feedback: {
    find: unchanged,
    list: ([tenantId, query], { runs, projects }) => [
      tenantId,
      replace(query, { runIds: runs, projectIds: projects }),
    ],
    statsOfRuns: ([tenantId, ids, ...rest], { runs }) => [tenantId, runs(ids), ...rest],
    statsOfFilter: ([tenantId, filter], keys) => [tenantId, toRunFilter(filter, keys)],
    statsOfProjectRuns: ([tenantId, ids], { projects }) => [tenantId, projects(ids)],
    statsOfProjects: ([tenantId, ids], { projects }) => [tenantId, projects(ids)],
    statsOfComparatives: unchanged,
    findToken: scopedByToken,
    listTokens: withRunKey,
  },
  feedbackTrend: {
    read: ([tenantId, query], { project }) => [tenantId, replace(query, { projectId: project })],
  },
  datasets: {
    find: withDatasetKey,
    list: ([tenantId, query], { datasets }) => [tenantId, replace(query, { ids: datasets })],
    findShared: scopedByToken,
    findVersion: withDatasetKey,
    listVersions: withDatasetKey,
    diff: withDatasetKey,
    diffPage: withDatasetKey,
  },
  examples: {
    find: unchanged,
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
    findDatasetId: unchanged,
    // Rows store the id of the source run, not its key.
    listSources: unchanged,
    listSplits: withDatasetKey,
    search: ([tenantId, query], { dataset }) => [tenantId, replace(query, { datasetId: dataset })],
    findBlob: unchanged,
  },
  experiments: {
    compare: ([tenantId, query], { project, projects }) => [
      tenantId,
      replace(query, { experimentIds: projects, baselineId: project }),
    ],
    usageOfTraces: unchanged,
  },
  projects: {
    find: withProjectKey,
    list: ([tenantId, query], { projects, datasets }) => [
      tenantId,
      replace(query, { ids: projects, referenceDatasetIds: datasets }),
    ],
  },
  prompts: {
    find: unchanged,
    list: unchanged,
    listCommits: unchanged,
    pull: unchanged,
    listTags: unchanged,
    readTag: unchanged,
  },
  queueReviews: { listRuns: unchanged, progress: unchanged },
  retention: { list: unchanged },
  runs: {
    find: withRunKey,
    query: ([tenantId, query], keys) => [
      tenantId,
      replace(query, {
        filter: (filter) => toRunFilter(filter, keys),
        after: (after) => replace(after, { id: keys.run }),
      }),
    ],
    statistics: ([tenantId, filter], keys) => [tenantId, toRunFilter(filter, keys)],
    findShared: scopedByToken,
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
    readStartTimeRange: withProjectKey,
    counts: ([tenantId, query], { project }) => [tenantId, replace(query, { projectId: project })],
    words: ([tenantId, query], { project }) => [tenantId, replace(query, { projectId: project })],
  },
  shares: {
    find: scopedByToken,
    findTraceTokens: ([tenantId, ids], { runs }) => [tenantId, runs(ids)],
    findThreadToken: withThreadKey,
  },
  storage: { use: unchanged, projects: unchanged },
  tenants: {
    find: unchanged,
    findByHandle: unchanged,
    list: unchanged,
    findByKey: unchanged,
    hasKeys: unchanged,
    listKeys: unchanged,
  },
  traces: {
    page: ([tenantId, query], { run }) => [tenantId, replace(query, { afterId: run })],
  },
};

/**
 * All writers except those of runs, which map ids themselves, because batches of runs are written without a resource
 * call.
 */
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
    delete: unchanged,
    addRuns: ([tenantId, id, runs], { run, project }) => [
      tenantId,
      id,
      runs.map((entry) => replace(entry, { runId: run, projectId: project })),
    ],
    updateRun: unchanged,
    removeRun: unchanged,
  },
  comparatives: {
    create: ([tenantId, draft], { projects, dataset }) => [
      tenantId,
      replace(draft, { experimentIds: projects, datasetId: dataset }),
    ],
  },
  // Feedback also arrives in batches of runs, so its writer maps the ids itself.
  feedback: { create: unchanged, update: unchanged, delete: unchanged, createTokens: unchanged },
  datasets: {
    create: unchanged,
    update: ([tenantId, id, changes], keys) => [
      tenantId,
      keys.dataset(id),
      replace(changes, {
        examples: (changed) => changed.map((example) => toExampleChange(example, keys)),
      }),
    ],
    deleteMany: ([tenantId, ids], { datasets }) => [tenantId, datasets(ids)],
    sweep: unchanged,
    share: withDatasetKey,
    unshare: withDatasetKey,
    tag: withDatasetKey,
    beginIndex: withDatasetKey,
    extendIndex: withDatasetKey,
  },
  examples: {
    create: ([tenantId, drafts], { dataset }) => [
      tenantId,
      drafts.map((draft) => replace(draft, { datasetId: dataset })),
    ],
    check: withDatasetKey,
    update: ([tenantId, exampleChanges, datasetId], keys) => {
      const changes = exampleChanges.map((change) => toExampleChange(change, keys));
      return datasetId === undefined
        ? [tenantId, changes]
        : [tenantId, changes, keys.dataset(datasetId)];
    },
    deleteMany: unchanged,
  },
  largeExamples: {
    // Packed parts are mapped after they are unpacked.
    create: unchanged,
    update: ([tenantId, parts, datasetId], keys) =>
      datasetId === undefined ? [tenantId, parts] : [tenantId, parts, keys.dataset(datasetId)],
    import: withDatasetKey,
    updateSplits: withDatasetKey,
  },
  uploads: { begin: unchanged, extend: withDatasetKey, end: withDatasetKey, drop: withDatasetKey },
  projects: {
    create: ([tenantId, draft], { dataset }) => [
      tenantId,
      replace(draft, { referenceDatasetId: dataset }),
    ],
    update: withProjectKey,
    delete: withProjectKey,
    deleteMany: ([tenantId, ids], { projects }) => [tenantId, projects(ids)],
  },
  prompts: {
    create: unchanged,
    update: unchanged,
    delete: unchanged,
    deleteMany: unchanged,
    like: unchanged,
    commit: unchanged,
    writeTag: unchanged,
    deleteTag: unchanged,
    count: unchanged,
  },
  queueReviews: { claim: unchanged, release: unchanged, finish: unchanged, reopen: unchanged },
  retention: {
    set: ([tenantId, rule], { project }) => [tenantId, replace(rule, { projectId: project })],
    clear: ([tenantId, id], { project }) => [tenantId, id === null ? null : project(id)],
    sweep: unchanged,
  },
  shares: {
    shareTrace: withRunKey,
    unshareTrace: withRunKey,
    shareThread: withThreadKey,
    unshareThread: withThreadKey,
  },
  tenants: { create: unchanged, setHandle: unchanged, createKey: unchanged, revokeKey: unchanged },
};

/** Wraps readers so that arguments and results contain ids. */
export const scopeReaders = (readers: Readers, keys: TenantKeys): Readers =>
  scope(readers, keys, readArguments);

/** Wraps writers so that arguments and results contain ids. */
export const scopeWriters = <Repositories extends Record<keyof ScopedWriters, object>>(
  writers: Repositories,
  keys: TenantKeys,
): Repositories => scope(writers, keys, writeArguments);

type Call = (...args: readonly unknown[]) => unknown;

function scope<Resources extends object>(
  resources: Resources,
  keys: TenantKeys,
  table: object,
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
  if (toKeys === scopedByToken) {
    return (...args) => {
      const result = method(...args);
      return result instanceof Promise ? result.then(toOwnIds) : toOwnIds(result);
    };
  }
  return (...args) => {
    const [tenantId] = args;
    // Almost all tenants have only keys that equal their ids.
    if (typeof tenantId !== "string" || !keys.hasLong(tenantId)) {
      return method(...args);
    }
    try {
      const result = method(...toKeys(args, new TenantIdMapper(keys, tenantId)));
      return result instanceof Promise
        ? promiseWithIds(tenantId, result)
        : resultWithIds(tenantId, result);
    } catch (cause) {
      throw withIds(tenantId, cause);
    }
  };
}

/** For a result that names its tenant. */
function toOwnIds(result: unknown): unknown {
  const tenantId = tenantOf(result);
  return tenantId === undefined ? result : toIds(tenantId, result);
}

async function promiseWithIds(tenantId: string, result: Promise<unknown>): Promise<unknown> {
  try {
    return resultWithIds(tenantId, await result);
  } catch (cause) {
    throw withIds(tenantId, cause);
  }
}

const resultWithIds = (tenantId: string, result: unknown): unknown =>
  result instanceof LongWrite
    ? new LongWrite(stepsWithIds(tenantId, result.steps), result.undo)
    : toIds(tenantId, result);

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

const tenantOf = (result: unknown): string | undefined => {
  const tenantId: unknown =
    typeof result === "object" && result !== null ? Reflect.get(result, "tenantId") : undefined;
  return typeof tenantId === "string" ? tenantId : undefined;
};

/** Replaces keys by ids in an error message. */
function withIds(tenantId: string, cause: unknown): unknown {
  if (!(cause instanceof RequestError)) {
    return cause;
  }
  // A tenant's id is a UUID, so it contains no special characters of regular expressions.
  const message = cause.message.replaceAll(new RegExp(`(?<=[\\da-f-]{36})/${tenantId}`, "g"), "");
  return new RequestError(cause.status, message, cause.retryAfterSeconds);
}
