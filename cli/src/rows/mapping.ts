import { ValidationError } from "millrace";
import type { CreateFeedback, NewExample } from "millrace";
import { UsageError } from "../usage-error.ts";
import { findSimilarNames } from "../similar-names.ts";
import { omitUndefined } from "../omit-undefined.ts";
import type { CsvType } from "./csv-types.ts";
import type { SourceRow } from "./source-row.ts";

/**
 * The columns that an object is read from: either the name of one column that contains the whole object, or a map from
 * the name of each field to the name of its column.
 */
export type ObjectColumns = string | ReadonlyMap<string, string>;

/** Maps the columns of a source to the parts of an example. */
export interface Mapping {
  /** @defaultValue all columns that no other part uses */
  readonly inputs?: ObjectColumns;
  readonly outputs?: ObjectColumns;
  readonly metadata?: ObjectColumns;
  readonly split?: string;
  /** The column that identifies a row; `null` means that rows are identified by their content. */
  readonly id?: string | null;
  readonly createdAt?: string;
  readonly types: ReadonlyMap<string, CsvType>;
}

/** Unless the user maps columns, each column with one of these names becomes the part of the example with that name. */
export const standardColumns = [
  "inputs",
  "outputs",
  "metadata",
  "split",
  "id",
  "created_at",
] as const;

/**
 * Returns the types of the columns: those that the user has set, and those that the mapping implies. A column with a
 * split, an id or a time is text, and a column that contains a whole object is JSON.
 */
export function completeTypes(
  mapping: Mapping,
  columns: readonly string[],
): ReadonlyMap<string, CsvType> {
  const types = new Map(mapping.types);
  const resolvedMapping = resolveMapping(mapping, columns);
  for (const name of [resolvedMapping.split, resolvedMapping.id, resolvedMapping.createdAt]) {
    if (typeof name === "string" && columns.includes(name) && !types.has(name)) {
      types.set(name, "text");
    }
  }
  for (const name of [resolvedMapping.inputs, resolvedMapping.outputs, resolvedMapping.metadata]) {
    if (typeof name === "string" && columns.includes(name) && !types.has(name)) {
      types.set(name, "json");
    }
  }
  return types;
}

const hasMapping = ({ inputs, outputs, metadata, split, id, createdAt }: Mapping): boolean =>
  [inputs, outputs, metadata, split, id ?? undefined, createdAt].some(
    (column) => column !== undefined,
  );

/**
 * Returns the mapping for rows with these columns. If the user maps no column and there is a column `inputs`, the
 * {@link standardColumns} are mapped.
 */
function resolveMapping(mapping: Mapping, columns: readonly string[]): Mapping {
  if (hasMapping(mapping) || !columns.includes("inputs")) {
    return mapping;
  }
  const findColumn = (name: string): string | undefined =>
    columns.includes(name) ? name : undefined;
  return {
    types: mapping.types,
    inputs: "inputs",
    ...omitUndefined({
      outputs: findColumn("outputs"),
      metadata: findColumn("metadata"),
      split: findColumn("split"),
      createdAt: findColumn("created_at"),
      id: mapping.id === null ? null : findColumn("id"),
    }),
  };
}

/**
 * @throws {@link UsageError} if a mapped column does not exist, or the {@link standardColumns} are mapped and there is
 *   another column.
 */
export function assertColumns(mapping: Mapping, columns: readonly string[]): void {
  const missingColumn = [...listColumns(mapping)].find((name) => !columns.includes(name));
  if (missingColumn !== undefined) {
    throw new UsageError(
      `there is no column ${missingColumn}; the columns are ${columns.join(", ")}`,
    );
  }
  const fault = describeUnknownColumn(mapping, columns);
  if (fault !== undefined) {
    throw new UsageError(fault);
  }
}

/**
 * Describes the first column that is not one of the {@link standardColumns}, if these are mapped. Its values would not
 * be uploaded, and a misspelled name such as `output` is the likely cause.
 */
function describeUnknownColumn(mapping: Mapping, columns: readonly string[]): string | undefined {
  if (resolveMapping(mapping, columns) === mapping) {
    return undefined;
  }
  const names: readonly string[] = standardColumns;
  const unknownColumn = columns.find((name) => !names.includes(name));
  if (unknownColumn === undefined) {
    return undefined;
  }
  const [similarName] = findSimilarNames(unknownColumn, names, 1);
  const suggestion = similarName === undefined ? "" : ` (did you mean ${similarName}?)`;
  return `column ${JSON.stringify(unknownColumn)} is not one of ${names.join(", ")}${suggestion}. To read other columns, or to ignore some, pass a mapping file with --map`;
}

/** Returns all columns that a mapping names. */
function listColumns({
  inputs,
  outputs,
  metadata,
  split,
  id,
  createdAt,
}: Mapping): ReadonlySet<string> {
  const names = [inputs, outputs, metadata].flatMap((columns) =>
    typeof columns === "object" ? [...columns.values()] : [columns],
  );
  return new Set([...names, split, id, createdAt].filter((name) => typeof name === "string"));
}

/** Converts rows to examples. */
export class ExampleBuilder {
  readonly #requestedMapping: Mapping;
  /** Whether rows can have different columns, as in JSONL. */
  readonly #columnsVary: boolean;
  /** Whether the mapping is resolved for each row, from the row's own columns. */
  readonly #resolvesPerRow: boolean;
  readonly #mapping: Mapping;
  readonly #mappedColumns: ReadonlySet<string>;

  /** @param columns - the columns of all rows; `undefined` if each row has its own columns. */
  constructor(mapping: Mapping, columns: readonly string[] | undefined) {
    this.#requestedMapping = mapping;
    this.#columnsVary = columns === undefined;
    this.#resolvesPerRow = this.#columnsVary && !hasMapping(mapping);
    this.#mapping = resolveMapping(mapping, columns ?? []);
    this.#mappedColumns = listColumns(this.#mapping);
  }

  /**
   * Returns the key that identifies a row; `undefined` if rows are identified by their content.
   *
   * @throws {@link ValidationError} if the key is missing.
   */
  readKey(row: SourceRow): string | undefined {
    const { id } = this.#chooseMapping(row);
    if (id === undefined || id === null) {
      return undefined;
    }
    const key = row[id];
    if ((typeof key !== "string" && typeof key !== "number") || key === "") {
      throw new ValidationError(
        `column ${id} must contain the row's key: a non-empty string or a number`,
      );
    }
    return String(key);
  }

  /**
   * Converts a row to an example.
   *
   * @throws {@link ValidationError} if the row lacks a mapped column or has an unknown one, or a time is not a string.
   */
  build(row: SourceRow): NewExample {
    const { inputs, outputs, metadata, split, createdAt } = this.#chooseMapping(row);
    return omitUndefined({
      inputs: inputs === undefined ? this.#pickUnmapped(row) : pickColumns(row, inputs),
      outputs: outputs === undefined ? undefined : pickColumns(row, outputs),
      metadata: metadata === undefined ? undefined : pickColumns(row, metadata),
      split: split === undefined ? undefined : parseSplit(row[split]),
      createdAt: createdAt === undefined ? undefined : parseTime(row[createdAt], createdAt),
    }) as NewExample;
  }

  #chooseMapping(row: SourceRow): Mapping {
    if (this.#resolvesPerRow) {
      const columns = Object.keys(row);
      const fault = describeUnknownColumn(this.#requestedMapping, columns);
      if (fault !== undefined) {
        throw new ValidationError(fault);
      }
      return resolveMapping(this.#requestedMapping, columns);
    }
    if (this.#columnsVary) {
      const missingColumn = [...this.#mappedColumns].find((name) => !Object.hasOwn(row, name));
      if (missingColumn !== undefined) {
        throw new ValidationError(`the row has no field ${missingColumn}`);
      }
    }
    return this.#mapping;
  }

  #pickUnmapped(row: SourceRow): SourceRow {
    return this.#mappedColumns.size === 0
      ? row
      : Object.fromEntries(Object.entries(row).filter(([name]) => !this.#mappedColumns.has(name)));
  }
}

function pickColumns(row: SourceRow, columns: ObjectColumns): unknown {
  if (typeof columns === "string") {
    return row[columns] ?? undefined;
  }
  const members: Record<string, unknown> = {};
  for (const [name, column] of columns) {
    if (row[column] !== undefined) {
      members[name] = row[column];
    }
  }
  return members;
}

/** Reads the splits of a row: a name, or a JSON list of names. */
function parseSplit(value: unknown): string | readonly string[] | undefined {
  const isEmpty = value === "" || (Array.isArray(value) && value.length === 0);
  if (value === undefined || value === null || isEmpty) {
    return undefined;
  }
  if (typeof value === "string" && value.startsWith("[")) {
    try {
      return parseSplit(JSON.parse(value));
    } catch {
      // Not a JSON list, so the text is the name of a split.
      return value;
    }
  }
  return value as string | readonly string[];
}

function parseTime(value: unknown, column: string): string | undefined {
  if (value === undefined || value === null || value === "") {
    return undefined;
  }
  if (typeof value !== "string") {
    throw new ValidationError(`column ${column} must contain a time as a string`);
  }
  return value;
}

/** Converts a row to feedback. The columns have the names of the fields, in camel case or in snake case. */
export const toFeedback = (row: SourceRow): CreateFeedback =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([, value]) => value !== null && value !== "")
      .map(([name, value]) => [
        name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        value,
      ]),
  ) as unknown as CreateFeedback;
