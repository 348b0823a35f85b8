import { JsonCursor } from "../../bodies/json-cursor.ts";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";

/** The member of an example's metadata that names its splits. */
const splitMember = "dataset_split";

/** The splits of an example that was sent without any. */
const defaultSplits: readonly string[] = ["base"];

/**
 * Parses the name of a split or a list of names.
 *
 * @throws RequestError 422: the value is neither, the list is empty, or a name is empty.
 */
export function parseSplits(value: unknown, label: string): readonly string[] | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (names.length === 0 || !names.every((name) => typeof name === "string" && name !== "")) {
    throw new RequestError(
      422,
      `${label} must be the name of a split, or a list of one or more names; a name must not be empty`,
    );
  }
  return [...new Set(names as readonly string[])];
}

/**
 * Returns the metadata of an example with its splits. If no splits are passed, the metadata keeps its own splits: a
 * client can then write metadata that it has read, and the splits stay the same.
 *
 * @throws RequestError 422: there are too many splits.
 */
export function addSplits(metadata: string | null, splits: readonly string[] | undefined): string {
  const { otherMembers, splits: metadataSplits } = separateMetadata(metadata ?? "{}");
  return appendSplits(otherMembers, splits ?? metadataSplits ?? defaultSplits);
}

/** The metadata of an example, separated into its splits and its other members. */
export interface SeparatedMetadata {
  /** JSON text of an object. */
  readonly otherMembers: string;
  readonly splits: readonly string[] | undefined;
}

/** Separates metadata that a client has sent. */
export function separateMetadata(metadata: string): SeparatedMetadata {
  const members = new JsonCursor(Buffer.from(metadata)).readMembers();
  const splits = parseStoredSplits(members.get(splitMember));
  members.delete(splitMember);
  const texts = [...members].map(([name, json]) => `${JSON.stringify(name)}:${json.toString()}`);
  return { otherMembers: `{${texts.join(",")}}`, splits };
}

/**
 * Separates metadata that {@link appendSplits} has written. There the splits are the last member, so the other members,
 * which may be many, need not be parsed.
 */
export function separateStoredMetadata(metadata: string): SeparatedMetadata {
  // Inside a JSON string the quotes would be escaped, so the last match is the member's name.
  const position = metadata.lastIndexOf(splitsPrefix);
  const splits =
    position === -1
      ? undefined
      : tryParseSplits(metadata.slice(position + splitsPrefix.length, -1));
  return splits === undefined
    ? separateMetadata(metadata)
    : { otherMembers: `${metadata.slice(0, position).replace(/,$/, "")}}`, splits };
}

/**
 * Appends the splits to the metadata.
 *
 * @throws RequestError 422: there are too many splits.
 */
export function appendSplits(otherMembers: string, splits: readonly string[]): string {
  if (splits.length > serverLimits.splitsMax) {
    throw new RequestError(422, `an example can be in at most ${serverLimits.splitsMax} splits`);
  }
  const comma = otherMembers === "{}" ? "" : ",";
  return `${otherMembers.slice(0, -1)}${comma}${splitsPrefix}${JSON.stringify(splits)}}`;
}

/** Reads the splits from metadata that {@link appendSplits} has written. */
export const readSplits = (metadata: string): readonly string[] =>
  separateStoredMetadata(metadata).splits ?? [];

const splitsPrefix = `"${splitMember}":`;

function tryParseSplits(json: string): readonly string[] | undefined {
  try {
    return parseStoredSplits(Buffer.from(json));
  } catch {
    return undefined; // `appendSplits` has not written this text, so the caller parses all of the metadata.
  }
}

function parseStoredSplits(json: Buffer | undefined): readonly string[] | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json.toString("utf8"));
  if (Array.isArray(value)) {
    const names = value.filter((name) => typeof name === "string");
    return names.length === value.length ? [...new Set(names)] : undefined;
  }
  return typeof value === "string" && value !== "" ? [value] : undefined;
}
