import { warnOnce } from "../environment.ts";
import type { KVMap } from "../schemas.ts";

/** The methods of `Headers` that are used. */
export interface HeadersLike {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

/** The content of the header `baggage`: metadata, tags and project for the runs below a run of another process. */
export interface Baggage {
  metadata?: KVMap;
  tags?: string[];
  project_name?: string;
}

/** Writes the header `baggage`. */
export function writeBaggage({
  metadata,
  tags,
  project_name: projectName,
}: {
  readonly metadata?: KVMap | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly project_name: string;
}): string {
  const entries = [
    metadata !== undefined && Object.keys(metadata).length > 0
      ? ["langsmith-metadata", JSON.stringify(metadata)]
      : [],
    tags !== undefined && tags.length > 0 ? ["langsmith-tags", tags.join(",")] : [],
    projectName ? ["langsmith-project", projectName] : [],
  ];
  return entries
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value)}`))
    .join(",");
}

/** Reads the header `baggage`. An entry that can't be read is ignored with a warning. */
export function readBaggage(header: string): Baggage {
  const baggage: Baggage = {};
  for (const item of header.split(",")) {
    const [name, encoded = ""] = item.trim().split("=", 2);
    try {
      const value = decodeURIComponent(encoded);
      if (name === "langsmith-metadata") {
        baggage.metadata = JSON.parse(value) as KVMap;
      } else if (name === "langsmith-tags") {
        baggage.tags = value.split(",");
      } else if (name === "langsmith-project") {
        baggage.project_name = value;
      }
    } catch {
      warnOnce(`An entry of the header baggage can't be read, so it is ignored: ${String(name)}.`);
    }
  }
  return baggage;
}

/** Reads a header from a `Headers` object or from an object with the headers as members. */
export function readHeader(headers: unknown, name: string): string | undefined {
  if (typeof headers !== "object" || headers === null) {
    return undefined;
  }
  const value: unknown =
    "get" in headers && typeof headers.get === "function"
      ? (headers as HeadersLike).get(name)
      : Reflect.get(headers, name);
  const text: unknown = Array.isArray(value) ? value[0] : value;
  return typeof text === "string" ? text : undefined;
}
