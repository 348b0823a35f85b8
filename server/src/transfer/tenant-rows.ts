import { idOf } from "../storage/row-keys.ts";
import type { NumberSpace, PortableTable } from "./portable-tables.ts";
import type { PortableRow, PortableValue } from "./portable-row.ts";

/** The row of a tenant, as a backup contains it. */
export interface TenantIdentity {
  readonly id: string;
  /** `null` if the tenant has none. */
  readonly handle: string | null;
  readonly displayNameJson: string;
  readonly createdMicros: number;
}

/** What is added to the numbers of a restored tenant, so that they differ from those that the database has already. */
export type NumberOffsets = Readonly<Record<NumberSpace, number>>;

/** The numbers of a tenant's rows stay as they are. */
export const noOffsets: NumberOffsets = { examples: 0, exampleBlobs: 0, queueEntries: 0 };

/** Reads the rows of a tenant in one state of the database, in the form that both engines have in common. */
export interface RowSource {
  /** @param name - the handle or the id of the tenant, or `default` for the one that serves requests without a key */
  findTenant(name: string): Promise<TenantIdentity | undefined>;
  read(
    table: PortableTable,
    tenantId: string,
    offsets?: NumberOffsets,
  ): AsyncIterable<PortableRow> | Iterable<PortableRow>;
}

/** Writes rows of a tenant in one transaction. */
export interface RowTarget extends RowSource {
  /** Returns the row that {@link RowSource.read} will return for a row that is written. */
  toStored(row: PortableRow): PortableRow;
  write(table: PortableTable, rows: readonly PortableRow[]): Promise<void>;
  /** Computes what is derived from the rows. Called once, after the last row. */
  finish(): Promise<void>;
}

/** The name of the tenant that serves requests without a key, which may have no handle. */
export const defaultTenantName = "default";

/** The beginning of the keys of settings that belong to a tenant. */
const settingPrefix = "retention/";

interface RowContext {
  readonly tenantId: string;
  /** What is added to the numeric ids of each table, so that they differ from those of other tenants. */
  readonly offsets: NumberOffsets;
}

/** Converts the values that a database stores to portable ones. */
export const toPortableValues = (
  table: PortableTable,
  values: readonly PortableValue[],
  { tenantId, offsets }: RowContext,
): PortableValue[] =>
  values.map((value, index) => {
    const column = table.columns[index] ?? "";
    if (table.name === "settings" && column === "key") {
      return String(value).replace(settingPrefix + tenantId, settingPrefix);
    }
    return convertNumbers(table, column, {
      value: typeof value === "string" ? toId(value, tenantId) : value,
      offsets,
      sign: -1,
    });
  });

/** Converts portable values to those that a database stores. */
export const toStoredValues = (
  table: PortableTable,
  values: readonly PortableValue[],
  { tenantId, offsets }: RowContext,
): PortableValue[] =>
  values.map((value, index) => {
    const column = table.columns[index] ?? "";
    return table.name === "settings" && column === "key"
      ? String(value).replace(settingPrefix, settingPrefix + tenantId)
      : convertNumbers(table, column, { value, offsets, sign: 1 });
  });

/** Returns the id in a key. SQLite appends the tenant to ids that another tenant uses, too. */
function toId(text: string, tenantId: string): string {
  const suffix = `/${tenantId}`;
  return text.endsWith(suffix) && text.length === idOf(text).length + suffix.length
    ? idOf(text)
    : text;
}

function convertNumbers(
  table: PortableTable,
  column: string,
  { value, offsets, sign }: { value: PortableValue; offsets: NumberOffsets; sign: 1 | -1 },
): PortableValue {
  const space = table.numbers?.[column];
  if (space !== undefined && typeof value === "number") {
    return value + sign * offsets[space];
  }
  return table.name === "examples" && column === "attachments" && typeof value === "string"
    ? convertAttachments(value, sign * offsets.exampleBlobs)
    : value;
}

/**
 * Adds an offset to each `blob` in the list of an example's files: the number of the row with the bytes of the file.
 */
const convertAttachments = (json: string, added: number): string =>
  added === 0
    ? json
    : JSON.stringify(
        (JSON.parse(json) as readonly { readonly blob: number }[]).map((file) => ({
          ...file,
          blob: file.blob + added,
        })),
      );
