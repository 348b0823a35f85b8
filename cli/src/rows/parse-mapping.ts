import { readFile } from "node:fs/promises";
import { UsageError } from "../usage-error.ts";
import { messageOf } from "./byte-source.ts";
import { csvTypes } from "./csv-types.ts";
import type { CsvType } from "./csv-types.ts";
import { defined } from "./defined.ts";
import type { Columns, Mapping } from "./mapping.ts";

/** The options that map columns. */
export interface MappingFlags {
  readonly inputs?: string;
  readonly outputs?: string;
  readonly metadata?: string;
  readonly split?: string;
  /** `false`: `--no-id`. */
  readonly id?: string | false;
  readonly types?: string;
  readonly map?: string;
}

/** The mapping from the options, or from a file. @throws {@link UsageError} it is malformed. */
export async function parseMapping(flags: MappingFlags): Promise<Mapping> {
  const { inputs, outputs, metadata, split, id, types = "", map } = flags;
  const own = defined({
    inputs: inputs === undefined ? undefined : toColumns(inputs, "--inputs"),
    outputs: outputs === undefined ? undefined : toColumns(outputs, "--outputs"),
    metadata: metadata === undefined ? undefined : toColumns(metadata, "--metadata"),
    split,
    id: id === false ? null : id,
  });
  const ownTypes = parseTypes(types);
  if (map === undefined) {
    return { ...own, types: ownTypes };
  }
  const read = await readMapping(map);
  return { ...read, ...own, types: new Map([...read.types, ...ownTypes]) };
}

/** `a,b`: members that are called as their columns. */
const toColumns = (list: string, flag: string): Columns =>
  new Map(namesIn(list, flag).map((name) => [name, name]));

const namesIn = (list: string, flag: string): readonly string[] => {
  const names = list.split(",").map((name) => name.trim());
  if (names.includes("")) {
    throw new UsageError(`${flag} is a list of columns, such as a,b; not ${JSON.stringify(list)}`);
  }
  return names;
};

/** `a:number,b:json`. */
function parseTypes(list: string): ReadonlyMap<string, CsvType> {
  const pairs = list === "" ? [] : namesIn(list, "--types");
  return new Map(
    pairs.map((pair) => {
      const at = pair.lastIndexOf(":");
      return [pair.slice(0, at), typeIn(pair.slice(at + 1), pair.slice(0, at))];
    }),
  );
}

function typeIn(text: unknown, column: string): CsvType {
  const type = csvTypes.find((known) => known === text);
  if (type === undefined || column === "") {
    throw new UsageError(
      `the type of a column is one of ${csvTypes.join(", ")}, such as a:number; not ${JSON.stringify(text)}`,
    );
  }
  return type;
}

const mappingMembers = ["inputs", "outputs", "metadata", "split", "id", "createdAt", "types"];

/** A mapping file: as the options, less the dashes; members by column as a list or an object. */
async function readMapping(path: string): Promise<Mapping> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new UsageError(`the mapping ${path} can't be read: ${messageOf(cause)}`, { cause });
  }
  const given = objectOf(value, path);
  const odd = Object.keys(given).find((name) => !mappingMembers.includes(name));
  if (odd !== undefined) {
    throw new UsageError(
      `the mapping ${path} has ${odd}; it may have ${mappingMembers.join(", ")}`,
    );
  }
  const columns = (name: string): Columns | undefined => columnsOf(given[name], `${path}: ${name}`);
  const column = (name: string): string | undefined => columnOf(given[name], `${path}: ${name}`);
  const types = given["types"] === undefined ? {} : objectOf(given["types"], `${path}: types`);
  return {
    ...defined({
      inputs: columns("inputs"),
      outputs: columns("outputs"),
      metadata: columns("metadata"),
      split: column("split"),
      id: given["id"] === null ? null : column("id"),
      createdAt: column("createdAt"),
    }),
    types: new Map(Object.entries(types).map(([name, type]) => [name, typeIn(type, name)])),
  };
}

/** One column that holds all of it, a list of columns, or the column of each member. */
function columnsOf(value: unknown, what: string): Columns | undefined {
  if (value === undefined || typeof value === "string") {
    return value;
  }
  if (Array.isArray(value)) {
    return new Map(value.map((name) => [textOf(name, what), textOf(name, what)]));
  }
  return new Map(
    Object.entries(objectOf(value, what)).map(([name, column]) => [name, textOf(column, what)]),
  );
}

const columnOf = (value: unknown, what: string): string | undefined =>
  value === undefined ? undefined : textOf(value, what);

function textOf(value: unknown, what: string): string {
  if (typeof value !== "string" || value === "") {
    throw new UsageError(`${what} must name a column`);
  }
  return value;
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UsageError(`${what} must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}
