import type { CheckedFilter } from "../filter/checker.ts";
import { RequestError } from "../model/errors.ts";
import type { ExampleChange } from "../datasets/examples/example.ts";
import { LongWrite } from "../storage/long-write.ts";
import type { RunFilter } from "../runs/run-query.ts";
import type { SharedThread } from "../shares/share.ts";
import { toIds } from "../storage/row-keys.ts";
import type { KeyKind } from "../storage/row-keys.ts";
import type { TenantKeys } from "../storage/sqlite/tenant-keys.ts";

// Callers use ids, which are unique within their tenant. The tables use row keys, which are unique within the database:
// the key of a row is its id or, if another tenant's row already had that key, the id followed by a slash and the
// tenant's id (`tenant-keys.ts`). Every call passes through this file: ids in its arguments are replaced by keys, and
// keys in its result by ids.

/** Maps ids of one tenant to row keys. Each member maps one id, or a list of ids, of one kind of row. */
class TenantIdMapper {
  readonly toRunKey = this.#idMapper("run");
  readonly toRunKeys = this.#listMapper("run");
  readonly toProjectKey = this.#idMapper("project");
  readonly toProjectKeys = this.#listMapper("project");
  readonly toDatasetKey = this.#idMapper("dataset");
  readonly toDatasetKeys = this.#listMapper("dataset");
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

type ArgumentMapper<Args> = (args: Args, keys: TenantIdMapper) => Args;

/** For each method of each resource, the function that replaces ids in its arguments by keys. */
export type ArgumentTable<Resources> = {
  readonly [Resource in keyof Resources]: {
    readonly [Method in keyof Resources[Resource]]: Resources[Resource][Method] extends (
      ...args: infer Args
    ) => unknown
      ? ArgumentMapper<Args>
      : never;
  };
};

/** Leaves arguments as they are: they contain no ids that have row keys, or the writer replaces the ids itself. */
export const unchanged = <Args>(args: Args): Args => args;

/**
 * For calls with a share token. Their arguments contain no tenant id, so they are not changed. Their result contains
 * the tenant id, which is used to recognize keys in the result and to replace them by ids.
 */
export const scopedByToken = <Args>(args: Args): Args => args;

/** Replaces the run's id by its key, in arguments that begin with a tenant and the id of a run. */
export const withRunKey = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: TenantIdMapper,
): [string, string, ...Rest] => [tenantId, keys.toRunKey(id), ...rest];

/** Replaces the project's id by its key, in arguments that begin with a tenant and the id of a project. */
export const withProjectKey = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: TenantIdMapper,
): [string, string, ...Rest] => [tenantId, keys.toProjectKey(id), ...rest];

/** Replaces the dataset's id by its key, in arguments that begin with a tenant and the id of a dataset. */
export const withDatasetKey = <Rest extends readonly unknown[]>(
  [tenantId, id, ...rest]: readonly [string, string, ...Rest],
  keys: TenantIdMapper,
): [string, string, ...Rest] => [tenantId, keys.toDatasetKey(id), ...rest];

/** Replaces the project's id by its key, in arguments that are a tenant and a thread of that project. */
export const withThreadKey = (
  [tenantId, thread]: [tenantId: string, thread: SharedThread],
  { toProjectKey }: TenantIdMapper,
): [string, SharedThread] => [tenantId, replaceMembers(thread, { projectId: toProjectKey })];

type MemberChanges<Value> = {
  readonly [Name in keyof Value]?: (member: NonNullable<Value[Name]>) => Value[Name];
};

/** Returns a copy in which the named members are mapped, if they are set. */
export function replaceMembers<Value extends object>(
  value: Value,
  changes: MemberChanges<Value>,
): Value {
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
 * Replaces each id in a filter over runs with its row key, which the beginning of this file describes. Ids of traces
 * and of parents stay, because rows store these as they are.
 */
export const toRunFilter = <Filter extends Omit<RunFilter, "projectIds"> & Partial<RunFilter>>(
  filter: Filter,
  keys: TenantIdMapper,
): Filter => {
  const mapFilter = (part: CheckedFilter): CheckedFilter => mapFilterIds(part, keys);
  const changes: MemberChanges<RunFilter> = {
    projectIds: keys.toProjectKeys,
    ids: keys.toRunKeys,
    runFilters: (filters) => filters.map(mapFilter),
    rootFilter: mapFilter,
    treeFilter: mapFilter,
  };
  return replaceMembers<RunFilter>(filter, changes) as Filter;
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
    return keys.toRunKey;
  }
  return name === "session_id" ? keys.toProjectKey : undefined;
}

/** Replaces the dataset id in a change of an example by the tenant's key of that dataset. */
export const toExampleChange = (change: ExampleChange, keys: TenantIdMapper): ExampleChange =>
  replaceMembers(change, { datasetId: keys.toDatasetKey });

type RepositoryMethod = (...args: readonly unknown[]) => unknown;

/**
 * Wraps readers or writers so that callers use ids: their arguments and results contain no keys.
 *
 * @param table - an {@link ArgumentTable} of the resources
 */
export function scopeToTenants<Resources extends object>(
  resources: Resources,
  keys: TenantKeys,
  table: object,
): Resources {
  const scopedResources = Object.entries(table).map(([resource, methods]) => {
    const target = Reflect.get(resources, resource) as object;
    const scopedMethods = Object.entries(
      methods as Record<string, ArgumentMapper<readonly unknown[]>>,
    ).map(([name, mapArguments]) => {
      const method = (Reflect.get(target, name) as RepositoryMethod).bind(target);
      return [name, scopeCall(method, keys, mapArguments)] as const;
    });
    return [resource, Object.fromEntries(scopedMethods)] as const;
  });
  return Object.fromEntries(scopedResources) as Resources;
}

function scopeCall(
  method: RepositoryMethod,
  keys: TenantKeys,
  mapArguments: ArgumentMapper<readonly unknown[]>,
): RepositoryMethod {
  if (mapArguments === scopedByToken) {
    return (...args) => {
      const result = method(...args);
      return result instanceof Promise ? result.then(mapResultOfTenant) : mapResultOfTenant(result);
    };
  }
  return (...args) => {
    const [tenantId] = args;
    // Almost no tenant has qualified keys (an id, a slash and the tenant's id). Without them, each row key equals its
    // id, so nothing is replaced.
    if (typeof tenantId !== "string" || !keys.hasQualifiedKeys(tenantId)) {
      return method(...args);
    }
    try {
      const result = method(...mapArguments(args, new TenantIdMapper(keys, tenantId)));
      return result instanceof Promise ? mapPromise(tenantId, result) : mapResult(tenantId, result);
    } catch (cause) {
      throw mapError(tenantId, cause);
    }
  };
}

/** Replaces row keys by ids in a result, if the result contains the id of its tenant. */
function mapResultOfTenant(result: unknown): unknown {
  const tenantId = readTenantId(result);
  return tenantId === undefined ? result : toIds(tenantId, result);
}

async function mapPromise(tenantId: string, result: Promise<unknown>): Promise<unknown> {
  try {
    return mapResult(tenantId, await result);
  } catch (cause) {
    throw mapError(tenantId, cause);
  }
}

const mapResult = (tenantId: string, result: unknown): unknown =>
  result instanceof LongWrite
    ? new LongWrite(mapSteps(tenantId, result.steps), result.undo)
    : toIds(tenantId, result);

function* mapSteps(tenantId: string, steps: Generator<void, unknown>): Generator<void, unknown> {
  try {
    return toIds(tenantId, yield* steps);
  } catch (cause) {
    throw mapError(tenantId, cause);
  }
}

const readTenantId = (result: unknown): string | undefined => {
  const tenantId: unknown =
    typeof result === "object" && result !== null ? Reflect.get(result, "tenantId") : undefined;
  return typeof tenantId === "string" ? tenantId : undefined;
};

/** Removes the suffix `/tenantId` from row keys in an error message, so that the message contains ids. */
function mapError(tenantId: string, cause: unknown): unknown {
  if (!(cause instanceof RequestError)) {
    return cause;
  }
  // A tenant's id is a UUID, so it contains no special characters of regular expressions.
  const message = cause.message.replaceAll(new RegExp(`(?<=[\\da-f-]{36})/${tenantId}`, "g"), "");
  return new RequestError(cause.status, message, cause.retryAfterSeconds);
}
