import { JsonCursor } from "../ingest/json-cursor.ts";
import { RequestError } from "../errors.ts";

/** The member of an example's metadata that names its splits. */
const splitMember = "dataset_split";

/** Where an example is that names no split. */
const defaultSplits: readonly string[] = ["base"];

/** @throws RequestError 422: it is neither a text nor a list of texts, or one is empty. */
export function parseSplits(value: unknown, what: string): readonly string[] | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (names.length === 0 || !names.every((name) => typeof name === "string" && name !== "")) {
    throw new RequestError(
      422,
      `${what} is the name of a split, or a list of them, at least one and none of them empty`,
    );
  }
  return [...new Set(names as readonly string[])];
}

/**
 * The metadata of an example with its splits in it. What the metadata itself says of splits counts
 * where none are given: what was read can be written back.
 */
export function withSplits(metadata: string | null, splits: readonly string[] | undefined): string {
  if (metadata === null) {
    return toObject([], splits ?? defaultSplits);
  }
  const members = new JsonCursor(Buffer.from(metadata)).readMembers();
  const own = splits ?? parseOwn(members.get(splitMember)) ?? defaultSplits;
  members.delete(splitMember);
  return toObject([...members], own);
}

/** The splits that metadata of ours names. */
export const splitsOf = (metadata: string): readonly string[] => readOwn(metadata) ?? [];

/** The splits that metadata as it was received names. */
export function readOwn(metadata: string): readonly string[] | undefined {
  return parseOwn(new JsonCursor(Buffer.from(metadata)).readMembers().get(splitMember));
}

function toObject(members: readonly [string, Buffer][], splits: readonly string[]): string {
  const texts = members.map(([name, json]) => `${JSON.stringify(name)}:${json.toString("utf8")}`);
  return `{${[...texts, `"${splitMember}":${JSON.stringify(splits)}`].join(",")}}`;
}

function parseOwn(json: Buffer | undefined): readonly string[] | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json.toString("utf8"));
  if (Array.isArray(value)) {
    const names = value.filter((name) => typeof name === "string");
    return names.length === value.length ? [...new Set(names)] : undefined;
  }
  return typeof value === "string" && value !== "" ? [value] : undefined;
}
