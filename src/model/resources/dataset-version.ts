import { Fields, parseList, unexpectedAnswer } from "../fields.ts";

/** A dataset as it was from one change to the next. */
export interface DatasetVersion {
  /** ISO 8601: what every `asOf` takes. */
  readonly asOf: string;
  /** Names for it, such as `latest`, which every `asOf` takes too. */
  readonly tags: readonly string[];
}

/** @throws {@link ResponseError} it is not a version. */
export function parseDatasetVersion(value: unknown): DatasetVersion {
  const fields = new Fields(value, "version of a dataset");
  const tags = fields.value("tags") ?? [];
  return { asOf: fields.text("as_of"), tags: parseTexts(tags, "tags of a version") };
}

/** Ids of the examples in which two versions differ. */
export interface DatasetDiff {
  readonly examplesAdded: readonly string[];
  readonly examplesModified: readonly string[];
  readonly examplesRemoved: readonly string[];
}

/** @throws {@link ResponseError} it is not a difference. */
export function parseDatasetDiff(value: unknown): DatasetDiff {
  const fields = new Fields(value, "difference of versions");
  const ids = (name: string): readonly string[] =>
    parseTexts(fields.value(name), "examples that differ");
  return {
    examplesAdded: ids("examples_added"),
    examplesModified: ids("examples_modified"),
    examplesRemoved: ids("examples_removed"),
  };
}

/** @throws {@link ResponseError} it is not a list of texts. */
export const parseTexts = (value: unknown, what: string): readonly string[] =>
  parseList(value, what, (item) => {
    if (typeof item !== "string") {
      throw unexpectedAnswer(`list of ${what}`, "one is not a text");
    }
    return item;
  });
