import { isUuid } from "millrace/model";
import { RequestError } from "../errors.ts";
import { serverLimits } from "../options.ts";
import type { ProjectQuery } from "../store/project.ts";

/** As the router gives it: a name that is repeated has a list. */
export type QueryString = Readonly<Record<string, string | readonly string[] | undefined>>;

/** @throws RequestError 422: a value is not what its filter takes. */
export function parseProjectQuery(query: QueryString): ProjectQuery {
  const parsed = {
    name: first(query["name"]),
    nameContains: first(query["name_contains"]),
    ids: parseIds(query, "id"),
    referenceDatasetIds: parseIds(query, "reference_dataset"),
    isReferenceFree: parseSwitch(query, "reference_free"),
    metadata: parseMetadata(first(query["metadata"])),
  };
  return {
    ...Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined)),
    limit: parseCount(query, "limit", {
      fallback: serverLimits.projectsDefault,
      max: serverLimits.projectsMax,
    }),
    offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}

/** `true` or `false`; `undefined` where it is left out. @throws RequestError 422: it is neither. */
export function parseSwitch(query: QueryString, name: string): boolean | undefined {
  const text = first(query[name])?.toLowerCase();
  if (text === undefined || text === "") {
    return undefined;
  }
  if (text !== "true" && text !== "false") {
    throw new RequestError(422, `${name} is true or false, not ${JSON.stringify(text)}`);
  }
  return text === "true";
}

/** @throws RequestError 422: it is no UUID. */
export function parseId(id: unknown, name: string): string {
  if (isUuid(id)) {
    return id.toLowerCase();
  }
  throw new RequestError(422, `${name} is not a UUID: ${JSON.stringify(id).slice(0, 80)}`);
}

const parseIds = (query: QueryString, name: string): readonly string[] | undefined => {
  const ids = [query[name] ?? []].flat();
  return ids.length === 0 ? undefined : ids.map((id) => parseId(id, name));
};

function parseMetadata(text: string | undefined): ProjectQuery["metadata"] | undefined {
  if (text === undefined || text === "") {
    return undefined;
  }
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(422, "metadata is a JSON object");
  }
  return { ...value };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON: the caller refuses it.
  }
}

const first = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === "string" ? value : value?.[0];

function parseCount(
  query: QueryString,
  name: string,
  { fallback, max }: { fallback: number; max: number },
): number {
  const text = first(query[name]);
  const count = text === undefined || text === "" ? fallback : Number(text);
  if (!Number.isSafeInteger(count) || count < 0 || count > max) {
    throw new RequestError(
      422,
      `${name} is a whole number from 0 to ${max}, not ${JSON.stringify(text)}`,
    );
  }
  return count;
}
