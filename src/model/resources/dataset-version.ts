import { Fields, parseList, createUnexpectedResponseError } from "../fields.ts";

/** The state of a dataset from one change until the next one. */
export interface DatasetVersion {
  /** A time in ISO 8601 format. Can be passed to any option `asOf`. */
  readonly asOf: string;
  /** Names of the version, such as `latest`. They can also be passed to `asOf`. */
  readonly tags: readonly string[];
}

/** @throws {@link ResponseError} if `value` is not a version. */
export function parseDatasetVersion(value: unknown): DatasetVersion {
  const fields = new Fields(value, "version of a dataset");
  const tags = fields.readValue("tags") ?? [];
  return { asOf: fields.readText("as_of"), tags: parseTexts(tags, "tags of a version") };
}

/** Ids of the examples in which two versions differ. */
export interface DatasetDiff {
  readonly examplesAdded: readonly string[];
  readonly examplesModified: readonly string[];
  readonly examplesRemoved: readonly string[];
}

/** @throws {@link ResponseError} if `value` is not a difference between versions. */
export function parseDatasetDiff(value: unknown): DatasetDiff {
  const fields = new Fields(value, "difference of versions");
  const readIds = (name: string): readonly string[] =>
    parseTexts(fields.readValue(name), "examples that differ");
  return {
    examplesAdded: readIds("examples_added"),
    examplesModified: readIds("examples_modified"),
    examplesRemoved: readIds("examples_removed"),
  };
}

/** @throws {@link ResponseError} if `value` is not an array of strings. */
export const parseTexts = (value: unknown, label: string): readonly string[] =>
  parseList(value, label, (item) => {
    if (typeof item !== "string") {
      throw createUnexpectedResponseError(`list of ${label}`, "an item is not a string");
    }
    return item;
  });
