import { JsonCursor } from "../../bodies/json-cursor.ts";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";

/** The member of an example's metadata that names its splits. */
const splitMember = "dataset_split";

/** The splits of an example that names none. */
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
      `${label} must be the name of a split or a list of names, without empty ones`,
    );
  }
  return [...new Set(names as readonly string[])];
}

/**
 * The metadata of an example, including its splits. If no splits are passed, those in the metadata are used, so that
 * metadata that was read can be written back unchanged.
 *
 * @throws RequestError 422: there are too many splits.
 */
export function withSplits(metadata: string | null, splits: readonly string[] | undefined): string {
  const { rest, splits: metadataSplits } = separateSplits(metadata ?? "{}");
  return joinSplits(rest, splits ?? metadataSplits ?? defaultSplits);
}

/** Metadata in two parts: the JSON text of an object without the splits, and the splits if it names any. */
export interface SeparatedMetadata {
  readonly rest: string;
  readonly splits: readonly string[] | undefined;
}

/** Separates metadata as it was received from a client. */
export function separateSplits(metadata: string): SeparatedMetadata {
  const members = new JsonCursor(Buffer.from(metadata)).readMembers();
  const splits = parseStoredSplits(members.get(splitMember));
  members.delete(splitMember);
  const texts = [...members].map(([name, json]) => `${JSON.stringify(name)}:${json.toString()}`);
  return { rest: `{${texts.join(",")}}`, splits };
}

/**
 * Separates metadata that {@link joinSplits} wrote. The splits come last there, so the other members, which may be
 * many, are not parsed.
 */
export function separateStored(metadata: string): SeparatedMetadata {
  // Inside a JSON string the quotes would be escaped, so the last match is the member's name.
  const position = metadata.lastIndexOf(splitsStart);
  const splits =
    position === -1 ? undefined : tryParseSplits(metadata.slice(position + splitsStart.length, -1));
  return splits === undefined
    ? separateSplits(metadata)
    : { rest: `${metadata.slice(0, position).replace(/,$/, "")}}`, splits };
}

/**
 * Appends the splits to the metadata.
 *
 * @throws RequestError 422: there are too many splits.
 */
export function joinSplits(rest: string, splits: readonly string[]): string {
  if (splits.length > serverLimits.splitsMax) {
    throw new RequestError(422, `an example can be in at most ${serverLimits.splitsMax} splits`);
  }
  const comma = rest === "{}" ? "" : ",";
  return `${rest.slice(0, -1)}${comma}${splitsStart}${JSON.stringify(splits)}}`;
}

/** The splits in metadata that {@link joinSplits} wrote. */
export const splitsOf = (metadata: string): readonly string[] =>
  separateStored(metadata).splits ?? [];

const splitsStart = `"${splitMember}":`;

function tryParseSplits(json: string): readonly string[] | undefined {
  try {
    return parseStoredSplits(Buffer.from(json));
  } catch {
    return undefined; // Not written by joinSplits: the caller parses the whole text.
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
