import { readFile } from "node:fs/promises";
import { UsageError } from "../usage-error.ts";
import { readErrorMessage } from "./byte-source.ts";
import { csvTypes } from "./csv-types.ts";
import type { CsvType } from "./csv-types.ts";
import { omitUndefined } from "../omit-undefined.ts";
import type { ObjectColumns, Mapping } from "./mapping.ts";

/** The flags that map columns. */
export interface MappingFlags {
  readonly inputs?: string;
  readonly outputs?: string;
  readonly metadata?: string;
  readonly split?: string;
  /** `false` for `--no-id`. */
  readonly id?: string | false;
  readonly types?: string;
  readonly map?: string;
}

/**
 * Builds the mapping from the flags and, if given, a mapping file. Flags override the file.
 *
 * @throws {@link UsageError} if the mapping is malformed.
 */
export async function parseMapping(flags: MappingFlags): Promise<Mapping> {
  const { inputs, outputs, metadata, split, id, types = "", map } = flags;
  const mappingFromFlags = omitUndefined({
    inputs: inputs === undefined ? undefined : toColumns(inputs, "--inputs"),
    outputs: outputs === undefined ? undefined : toColumns(outputs, "--outputs"),
    metadata: metadata === undefined ? undefined : toColumns(metadata, "--metadata"),
    split,
    id: id === false ? null : id,
  });
  const typesFromFlags = parseTypes(types);
  if (map === undefined) {
    return { ...mappingFromFlags, types: typesFromFlags };
  }
  const mappingFromFile = await readMapping(map);
  return {
    ...mappingFromFile,
    ...mappingFromFlags,
    types: new Map([...mappingFromFile.types, ...typesFromFlags]),
  };
}

/** Parses a list of columns such as `a,b`. Each field of the object gets the name of its column. */
const toColumns = (list: string, flag: string): ObjectColumns =>
  new Map(parseNames(list, flag).map((name) => [name, name]));

const parseNames = (list: string, flag: string): readonly string[] => {
  const names = list.split(",").map((name) => name.trim());
  if (names.includes("")) {
    throw new UsageError(
      `${flag} must be a list of columns, such as a,b, not ${JSON.stringify(list)}`,
    );
  }
  return names;
};

/** Parses column types such as `a:number,b:json`. */
function parseTypes(list: string): ReadonlyMap<string, CsvType> {
  const pairs = list === "" ? [] : parseNames(list, "--types");
  return new Map(
    pairs.map((pair) => {
      const colon = pair.lastIndexOf(":");
      return [pair.slice(0, colon), parseType(pair.slice(colon + 1), pair.slice(0, colon))];
    }),
  );
}

function parseType(text: unknown, column: string): CsvType {
  const type = csvTypes.find((candidate) => candidate === text);
  if (type === undefined || column === "") {
    throw new UsageError(
      `the type of a column must be one of ${csvTypes.join(", ")}, as in a:number, not ${JSON.stringify(text)}`,
    );
  }
  return type;
}

const mappingFields = ["inputs", "outputs", "metadata", "split", "id", "createdAt", "types"];

/**
 * Reads a mapping file: JSON with the {@link mappingFields}. A part of an example is one column, a list of
 * columns, or an object with the column of each field.
 */
async function readMapping(path: string): Promise<Mapping> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new UsageError(`the mapping ${path} can't be read: ${readErrorMessage(cause)}`, {
      cause,
    });
  }
  const content = assertObject(value, path);
  const unknownField = Object.keys(content).find((name) => !mappingFields.includes(name));
  if (unknownField !== undefined) {
    throw new UsageError(
      `the mapping ${path} has the unknown field ${unknownField}; known fields are ${mappingFields.join(", ")}`,
    );
  }
  const readColumns = (name: string): ObjectColumns | undefined =>
    parseColumns(content[name], `${path}: ${name}`);
  const readColumn = (name: string): string | undefined =>
    parseColumn(content[name], `${path}: ${name}`);
  const types =
    content["types"] === undefined ? {} : assertObject(content["types"], `${path}: types`);
  return {
    ...omitUndefined({
      inputs: readColumns("inputs"),
      outputs: readColumns("outputs"),
      metadata: readColumns("metadata"),
      split: readColumn("split"),
      id: content["id"] === null ? null : readColumn("id"),
      createdAt: readColumn("createdAt"),
    }),
    types: new Map(Object.entries(types).map(([name, type]) => [name, parseType(type, name)])),
  };
}

/**
 * Parses the columns of an object: the name of one column that contains the whole object, a list of columns, or an
 * object with the column of each field.
 */
function parseColumns(value: unknown, label: string): ObjectColumns | undefined {
  if (value === undefined || typeof value === "string") {
    return value;
  }
  if (Array.isArray(value)) {
    return new Map(
      value.map((name) => [assertColumnName(name, label), assertColumnName(name, label)]),
    );
  }
  return new Map(
    Object.entries(assertObject(value, label)).map(([name, column]) => [
      name,
      assertColumnName(column, label),
    ]),
  );
}

const parseColumn = (value: unknown, label: string): string | undefined =>
  value === undefined ? undefined : assertColumnName(value, label);

function assertColumnName(value: unknown, label: string): string {
  if (typeof value !== "string" || value === "") {
    throw new UsageError(`${label} must name a column`);
  }
  return value;
}

function assertObject(value: unknown, label: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsageError(`${label} must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}
