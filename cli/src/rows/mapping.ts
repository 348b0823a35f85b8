import { ValidationError } from "millrace";
import type { CreateFeedback, NewExample } from "millrace";
import { UsageError } from "../usage-error.ts";
import { defined } from "./defined.ts";
import type { CsvType } from "./csv-types.ts";
import type { SourceRow } from "./source-row.ts";

/** A column that holds all members, or the column of each member. */
export type Columns = string | ReadonlyMap<string, string>;

/** Which columns of a source become what. */
export interface Mapping {
  /** Left out: all columns that nothing else takes. */
  readonly inputs?: Columns;
  readonly outputs?: Columns;
  readonly metadata?: Columns;
  readonly split?: string;
  /** How two rows are recognized as the same; `null`: by their content. */
  readonly id?: string | null;
  readonly createdAt?: string;
  readonly types: ReadonlyMap<string, CsvType>;
}

/** The columns that are taken for what they are called, where nothing is mapped. */
export const ownColumns = ["inputs", "outputs", "metadata", "split", "id", "created_at"] as const;

/** Columns that hold what texts alone can be, or JSON alone, whatever they look like. */
export function typesOf(
  mapping: Mapping,
  columns: readonly string[],
): ReadonlyMap<string, CsvType> {
  const types = new Map(mapping.types);
  const full = resolve(mapping, columns);
  for (const name of [full.split, full.id, full.createdAt]) {
    if (typeof name === "string" && columns.includes(name) && !types.has(name)) {
      types.set(name, "text");
    }
  }
  for (const name of [full.inputs, full.outputs, full.metadata]) {
    if (typeof name === "string" && columns.includes(name) && !types.has(name)) {
      types.set(name, "json");
    }
  }
  return types;
}

const isMapped = ({ inputs, outputs, metadata, split, id, createdAt }: Mapping): boolean =>
  [inputs, outputs, metadata, split, id ?? undefined, createdAt].some((one) => one !== undefined);

/** The mapping that a row with these columns has. */
function resolve(mapping: Mapping, columns: readonly string[]): Mapping {
  if (isMapped(mapping) || !columns.includes("inputs")) {
    return mapping;
  }
  const own = (name: string): string | undefined => (columns.includes(name) ? name : undefined);
  return {
    types: mapping.types,
    inputs: "inputs",
    ...defined({
      outputs: own("outputs"),
      metadata: own("metadata"),
      split: own("split"),
      createdAt: own("created_at"),
      id: mapping.id === null ? null : own("id"),
    }),
  };
}

/** @throws {@link UsageError} a column that is mapped is not there. */
export function assertColumns(mapping: Mapping, columns: readonly string[]): void {
  const missing = [...taken(mapping)].find((name) => !columns.includes(name));
  if (missing !== undefined) {
    throw new UsageError(`there is no column ${missing}; there are ${columns.join(", ")}`);
  }
}

/** All columns that a mapping names. */
function taken({ inputs, outputs, metadata, split, id, createdAt }: Mapping): ReadonlySet<string> {
  const names = [inputs, outputs, metadata].flatMap((columns) =>
    typeof columns === "object" ? [...columns.values()] : [columns],
  );
  return new Set([...names, split, id, createdAt].filter((name) => typeof name === "string"));
}

/** Makes examples of rows. */
export class ExampleMaker {
  readonly #given: Mapping;
  /** Whether the mapped columns are determined for each row. */
  readonly #isOpen: boolean;
  readonly #byRow: boolean;
  readonly #mapping: Mapping;
  readonly #taken: ReadonlySet<string>;

  /** `columns` are those of all rows. Left out, each row has its own. */
  constructor(mapping: Mapping, columns: readonly string[] | undefined) {
    this.#given = mapping;
    this.#isOpen = columns === undefined;
    this.#byRow = this.#isOpen && !isMapped(mapping);
    this.#mapping = resolve(mapping, columns ?? []);
    this.#taken = taken(this.#mapping);
  }

  /** The key of a row; `undefined` where its content identifies it. @throws {@link ValidationError} the key is missing. */
  keyOf(row: SourceRow): string | undefined {
    const { id } = this.#of(row);
    if (id === undefined || id === null) {
      return undefined;
    }
    const key = row[id];
    if ((typeof key !== "string" && typeof key !== "number") || key === "") {
      throw new ValidationError(
        `column ${id} must hold the row's key, a text or a number, not empty`,
      );
    }
    return String(key);
  }

  /** @throws {@link ValidationError} the row has not what an example needs. */
  make(row: SourceRow): NewExample {
    const { inputs, outputs, metadata, split, createdAt } = this.#of(row);
    return defined({
      inputs: inputs === undefined ? this.#rest(row) : pick(row, inputs),
      outputs: outputs === undefined ? undefined : pick(row, outputs),
      metadata: metadata === undefined ? undefined : pick(row, metadata),
      split: split === undefined ? undefined : splitOf(row[split]),
      createdAt: createdAt === undefined ? undefined : timeOf(row[createdAt], createdAt),
    }) as NewExample;
  }

  #of(row: SourceRow): Mapping {
    if (this.#byRow) {
      return resolve(this.#given, Object.keys(row));
    }
    if (this.#isOpen) {
      const missing = [...this.#taken].find((name) => !Object.hasOwn(row, name));
      if (missing !== undefined) {
        throw new ValidationError(`the row has no ${missing}`);
      }
    }
    return this.#mapping;
  }

  #rest(row: SourceRow): SourceRow {
    return this.#taken.size === 0
      ? row
      : Object.fromEntries(Object.entries(row).filter(([name]) => !this.#taken.has(name)));
  }
}

function pick(row: SourceRow, columns: Columns): unknown {
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

/** A name, or a list of names, which a cell has as JSON. */
function splitOf(value: unknown): string | readonly string[] | undefined {
  if (value === undefined || value === null || value === "") {
    return undefined;
  }
  if (typeof value === "string" && value.startsWith("[")) {
    try {
      return splitOf(JSON.parse(value));
    } catch {
      // Then it is a name that begins so.
      return value;
    }
  }
  return value as string | readonly string[];
}

function timeOf(value: unknown, column: string): string | undefined {
  if (value === undefined || value === null || value === "") {
    return undefined;
  }
  if (typeof value !== "string") {
    throw new ValidationError(`column ${column} must hold a time as text`);
  }
  return value;
}

/** A row of judgements: its columns are called as the members, or as the wire has them. */
export const toFeedback = (row: SourceRow): CreateFeedback =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([, value]) => value !== null && value !== "")
      .map(([name, value]) => [
        name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        value,
      ]),
  ) as unknown as CreateFeedback;
