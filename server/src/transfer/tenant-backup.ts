import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { messageOf, ServerError } from "../model/errors.ts";
import { ownerOnly, syncFile, syncFolder } from "../storage/sqlite/synced-files.ts";
import { portableTables } from "./portable-tables.ts";
import type { PortableTable } from "./portable-tables.ts";
import { encodeRow, RowTally } from "./portable-row.ts";
import type { PortableRow } from "./portable-row.ts";
import { readWeek } from "./postgres-target.ts";
import { readTenantFile, TenantFileWriter } from "./tenant-file.ts";
import type { TableSum, TenantBackup } from "./table-sums.ts";
import { noOffsets } from "./tenant-rows.ts";
import type { NumberOffsets, RowSource, RowTarget, TenantIdentity } from "./tenant-rows.ts";

/** Writes the rows of a tenant to a new file. The file gets its name when it is complete. */
export async function writeTenantFile(
  source: RowSource,
  tenantName: string,
  file: string,
): Promise<TenantBackup> {
  const tenant = await source.findTenant(tenantName);
  if (tenant === undefined) {
    throw createMissingTenantError(tenantName);
  }
  if (existsSync(file)) {
    throw new ServerError("BACKUP", `${file} exists already: choose another name, or delete it`);
  }
  if (!existsSync(dirname(resolve(file)))) {
    throw new ServerError("BACKUP", `the folder of ${file} does not exist: create it first`);
  }
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  closeSync(openSync(partial, "wx", ownerOnly));
  const writer = new TenantFileWriter(partial);
  try {
    await writer.writeHead(tenant);
    for (const table of portableTables) {
      await writer.beginTable(table);
      for await (const row of source.read(table, tenant.id)) {
        await writer.writeRow(row);
      }
      await writer.endTable();
    }
    await writer.close();
    chmodSync(partial, ownerOnly);
    syncFile(partial);
    renameSync(partial, file);
    syncFolder(dirname(resolve(file)));
    return { bytes: statSync(file).size, tables: writer.sums };
  } catch (cause) {
    writer.destroy();
    rmSync(partial, { force: true });
    throw cause instanceof ServerError
      ? cause
      : new ServerError(
          "BACKUP",
          `Failed to back up the tenant ${tenantName}: ${messageOf(cause)}`,
          {
            cause,
          },
        );
  }
}

const createMissingTenantError = (name: string): ServerError =>
  new ServerError(
    "BACKUP",
    `there is no tenant ${JSON.stringify(name).slice(0, 80)}: name its handle or its id, or default for the tenant that serves requests without a key`,
  );

/** What {@link checkTenantFile} has found in a file. */
export interface CheckedFile {
  readonly tenant: TenantIdentity;
  readonly tables: readonly TableSum[];
  /** For each kind of number that the database assigned, the highest one in the rows of the file. */
  readonly lastNumbers: NumberOffsets;
  /** The weeks in which the roots of the runs began. */
  readonly weeks: ReadonlySet<number>;
}

/**
 * Reads a file to its end, so that damage is found before anything is changed.
 *
 * @throws ServerError the file is damaged, or of a later version.
 */
export async function checkTenantFile(file: string): Promise<CheckedFile> {
  if (!existsSync(file)) {
    throw new ServerError("BACKUP", `there is no file ${file}`);
  }
  let tenant: TenantIdentity | undefined;
  const tables: TableSum[] = [];
  const lastNumbers: { -readonly [Space in keyof NumberOffsets]: number } = { ...noOffsets };
  const weeks = new Set<number>();
  for await (const part of readTenantFile(file)) {
    if (part.kind === "head") {
      tenant = part.tenant;
    } else if (part.kind === "sum") {
      tables.push(part.sum);
    } else if (part.kind === "row") {
      const { table, row } = part;
      for (const [column, space] of Object.entries(table.numbers ?? {})) {
        lastNumbers[space] = Math.max(
          lastNumbers[space],
          Number(row.values[table.columns.indexOf(column)]),
        );
      }
      if (table.name === "runs") {
        weeks.add(readWeek(table, row));
      }
    }
  }
  if (tenant === undefined) {
    throw new ServerError("BACKUP", `${file} contains no tenant`);
  }
  return { tenant, tables, lastNumbers: lastNumbers, weeks };
}

/** Rows that are written at once, and about how many characters they may have. */
const rowsPerWrite = 500;
const charsPerWrite = 8_388_608;

interface WriteOptions {
  readonly tenantId: string;
  readonly offsets: NumberOffsets;
}

/**
 * Writes the rows of a file, then reads them back and compares their numbers and hashes.
 *
 * @returns the tables, as they were read back
 * @throws ServerError the rows that were read back differ from the rows of the file.
 */
export async function writeTenantRows(
  file: string,
  target: RowTarget,
  { tenantId, offsets }: WriteOptions,
): Promise<readonly TableSum[]> {
  const expected = new Map<string, { readonly table: PortableTable; readonly tally: RowTally }>();
  let waiting: PortableRow[] = [];
  let chars = 0;
  const flush = async (table: PortableTable): Promise<void> => {
    if (waiting.length > 0) {
      await target.write(table, waiting);
      waiting = [];
      chars = 0;
    }
  };
  for await (const part of readTenantFile(file)) {
    if (part.kind === "table") {
      const tally = new RowTally();
      // Rows that the tenant already has are kept, so they are read back, too.
      for await (const row of target.read(part.table, tenantId, offsets)) {
        tally.add(encodeRow(row));
      }
      expected.set(part.table.name, { table: part.table, tally });
    } else if (part.kind === "row") {
      const row = target.toStored(part.row);
      const line = encodeRow(row);
      expected.get(part.table.name)?.tally.add(line);
      waiting.push(row);
      chars += line.length;
      if (waiting.length >= rowsPerWrite || chars >= charsPerWrite) {
        await flush(part.table);
      }
    } else if (part.kind === "sum") {
      const table = expected.get(part.sum.name)?.table;
      if (table !== undefined) {
        await flush(table);
      }
    }
  }
  await target.finish();
  const tableSums: TableSum[] = [];
  for (const [name, { table, tally }] of expected) {
    const actualRows = new RowTally();
    for await (const row of target.read(table, tenantId, offsets)) {
      actualRows.add(encodeRow(row));
    }
    if (actualRows.count !== tally.count || actualRows.digest !== tally.digest) {
      throw new ServerError(
        "BACKUP",
        `the rows of ${name} differ from those of the file (${actualRows.count} of ${tally.count} rows were read back), so nothing was restored: make sure that nobody writes to the tenant, and try again`,
      );
    }
    tableSums.push({ name, count: actualRows.count, sha256: actualRows.digest });
  }
  return tableSums;
}

/** Lists the tables in which a tenant has rows, without the {@link uncountedTables}. */
export async function listFilledTables(
  source: RowSource,
  tenantId: string,
): Promise<readonly string[]> {
  const filled: string[] = [];
  for (const table of portableTables) {
    if (!uncountedTables.has(table.name)) {
      for await (const _row of source.read(table, tenantId)) {
        filled.push(table.name);
        break;
      }
    }
  }
  return filled;
}

/** Tables in which a tenant that was just created may have rows. A restore without `replace` keeps these rows. */
const uncountedTables: ReadonlySet<string> = new Set(["api_keys", "audit_entries"]);
