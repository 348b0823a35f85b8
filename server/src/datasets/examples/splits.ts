import { JsonCursor } from "../../bodies/json-cursor.ts";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";

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
 * The metadata of an example, including its splits. Where no splits are passed, those in the metadata count, so that what
 * was read can be written back.
 *
 * @throws RequestError 422: they are too many.
 */
export function withSplits(metadata: string | null, splits: readonly string[] | undefined): string {
  const { rest, splits: own } = separateSplits(metadata ?? "{}");
  return joinSplits(rest, splits ?? own ?? defaultSplits);
}

/** Metadata in two: an object without the splits, and the splits where it names any. */
export interface SeparateMetadata {
  readonly rest: string;
  readonly splits: readonly string[] | undefined;
}

/** Takes metadata apart as it was received. */
export function separateSplits(metadata: string): SeparateMetadata {
  const members = new JsonCursor(Buffer.from(metadata)).readMembers();
  const splits = parseOwn(members.get(splitMember));
  members.delete(splitMember);
  const texts = [...members].map(([name, json]) => `${JSON.stringify(name)}:${json.toString()}`);
  return { rest: `{${texts.join(",")}}`, splits };
}

/** The same of metadata of ours, in which the splits come last: its other members, which may be many, are not read. */
export function separateStored(metadata: string): SeparateMetadata {
  // Within a text the quotes would have a backslash before them: the last one is the member's name.
  const at = metadata.lastIndexOf(splitStart);
  const splits = at === -1 ? undefined : parseList(metadata.slice(at + splitStart.length, -1));
  return splits === undefined
    ? separateSplits(metadata)
    : { rest: `${metadata.slice(0, at).replace(/,$/, "")}}`, splits };
}

/** Puts it together again. @throws RequestError 422: the splits are too many. */
export function joinSplits(rest: string, splits: readonly string[]): string {
  if (splits.length > serverLimits.splitsMax) {
    throw new RequestError(422, `an example is in at most ${serverLimits.splitsMax} splits`);
  }
  const comma = rest === "{}" ? "" : ",";
  return `${rest.slice(0, -1)}${comma}${splitStart}${JSON.stringify(splits)}}`;
}

/** The splits that metadata of ours names. */
export const splitsOf = (metadata: string): readonly string[] =>
  separateStored(metadata).splits ?? [];

const splitStart = `"${splitMember}":`;

function parseList(json: string): readonly string[] | undefined {
  try {
    return parseOwn(Buffer.from(json));
  } catch {
    return undefined; // It is no metadata of ours: the caller reads it member by member.
  }
}

function parseOwn(json: Buffer | undefined): readonly string[] | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json.toString("utf8"));
  if (Array.isArray(value)) {
    const names = value.filter((name) => typeof name === "string");
    return names.length === value.length ? [...new Set(names)] : undefined;
  }
  return typeof value === "string" && value !== "" ? [value] : undefined;
}
