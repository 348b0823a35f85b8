import { once } from "node:events";
import { createHash } from "node:crypto";
import { closeSync, createReadStream, createWriteStream, openSync, readSync } from "node:fs";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { createGunzip, createGzip, constants } from "node:zlib";
import { version } from "millrace/model";
import { messageOf, ServerError } from "../model/errors.ts";
import { findTable } from "./portable-tables.ts";
import type { PortableTable } from "./portable-tables.ts";
import { decodeRow, encodeFileRow, encodeRow, hasSharedTexts, RowTally } from "./portable-row.ts";
import type { PortableRow } from "./portable-row.ts";
import type { TableSum } from "./table-sums.ts";
import type { TenantIdentity } from "./tenant-rows.ts";

// The backup file of a tenant: lines of JSON, compressed with gzip. The first line names the format, the version and
// the tenant. Each table is a line with its name and its columns, a line for each row, and a line with the number of
// rows and the sum of the SHA-256 hashes of their lines. The last line has the SHA-256 of all lines before it, so that
// a file that ends early, or was changed, is recognized.

/** The format of the files that this version writes, and the newest that it reads. */
const fileFormat = 1;

/** Name of the first member of the first line. Its value is the number of the format. */
const formatName = "millrace_tenant_backup";

/** The longest line that is read: a row, with all payloads of a run. */
const maxLineBytes = 402_653_184;

/** Maximum number of bytes that wait to be compressed. Above this, the writer waits. */
const maxPendingBytes = 4_194_304;

export class TenantFileWriter {
  readonly #gzip: Writable;
  readonly #output: Writable;
  readonly #hash = createHash("sha256");
  /** The rows of the table. Unlike the sum of `#lines`, their sum does not depend on which texts are shared. */
  #rows = new RowTally();
  #lines = new RowTally();
  #table = "";
  readonly #sums: TableSum[] = [];

  /** @param file - an empty file, which is overwritten */
  constructor(file: string) {
    const gzip = createGzip({ level: constants.Z_BEST_SPEED });
    this.#output = createWriteStream(file, { flags: "r+" });
    // Errors are reported by `close` and by the next write, which waits for the stream.
    gzip.on("error", () => undefined);
    this.#output.on("error", (cause) => gzip.destroy(cause));
    gzip.pipe(this.#output);
    this.#gzip = gzip;
  }

  get sums(): readonly TableSum[] {
    return this.#sums;
  }

  writeHead(tenant: TenantIdentity): Promise<void> {
    return this.#write(
      JSON.stringify({
        [formatName]: fileFormat,
        version,
        created: new Date().toISOString(),
        tenant: {
          id: tenant.id,
          handle: tenant.handle,
          display_name_json: tenant.displayNameJson,
          created_us: tenant.createdMicros,
        },
      }),
    );
  }

  async beginTable({ name, columns }: PortableTable): Promise<void> {
    this.#table = name;
    this.#rows = new RowTally();
    this.#lines = new RowTally();
    await this.#write(JSON.stringify({ table: name, columns }));
  }

  async writeRow(row: PortableRow): Promise<void> {
    const rowLine = encodeRow(row);
    const rowTally = tallyLine(rowLine);
    this.#rows.merge(rowTally);
    const line = hasSharedTexts(row) ? encodeFileRow(row) : rowLine;
    this.#lines.merge(line === rowLine ? rowTally : tallyLine(line));
    await this.#write(line);
  }

  async endTable(): Promise<void> {
    const { count, digest } = this.#rows;
    this.#sums.push({ name: this.#table, count, sha256: digest });
    await this.#write(JSON.stringify({ end: this.#table, count, sha256: this.#lines.digest }));
  }

  /** Ends the file. */
  async close(): Promise<void> {
    await this.#write(JSON.stringify({ complete: true, sha256: this.#hash.copy().digest("hex") }));
    this.#gzip.end();
    await finished(this.#output);
  }

  /** Ends the file as it is, after a failure. */
  destroy(): void {
    this.#gzip.destroy();
    this.#output.destroy();
  }

  async #write(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    this.#hash.update(bytes);
    if (this.#gzip.errored !== null) {
      throw this.#gzip.errored;
    }
    if (!this.#gzip.write(bytes) && this.#gzip.writableLength > maxPendingBytes) {
      await once(this.#gzip, "drain");
    }
  }
}

function tallyLine(line: string): RowTally {
  const tally = new RowTally();
  tally.add(line);
  return tally;
}

/** A part of a file, in the order in which it is read. */
export type FilePart =
  | { readonly kind: "head"; readonly tenant: TenantIdentity; readonly version: string }
  | { readonly kind: "table"; readonly table: PortableTable }
  | { readonly kind: "row"; readonly table: PortableTable; readonly row: PortableRow }
  | { readonly kind: "sum"; readonly sum: TableSum };

/**
 * Reads the file of a tenant, and checks it while it is read: the file is intact if the last part is reached.
 *
 * @throws ServerError the file is damaged, is not a backup of a tenant, or is of a later version.
 */
export async function* readTenantFile(file: string): AsyncGenerator<FilePart> {
  try {
    if (isDatabase(file)) {
      throw new ServerError(
        "BACKUP",
        `${file} is not the backup of a tenant: it looks like the backup of a whole server, which is restored without --tenant`,
      );
    }
    yield* parseLines(readLines(file));
  } catch (cause) {
    throw cause instanceof ServerError
      ? cause
      : new ServerError(
          "BACKUP",
          `${file} can't be restored, because it is not an intact backup of a tenant: ${messageOf(cause)}`,
          { cause },
        );
  }
}

/** Whether a file begins as every SQLite database does. */
function isDatabase(file: string): boolean {
  const start = Buffer.alloc(databaseStart.length);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, start, 0, start.length, 0);
  } finally {
    closeSync(descriptor);
  }
  return start.toString("latin1") === databaseStart;
}

const databaseStart = "SQLite format 3\0";

async function* parseLines(lines: AsyncIterable<Buffer>): AsyncGenerator<FilePart> {
  const hash = createHash("sha256");
  let state: ReadState = { kind: "start" };
  let lineNumber = 0;
  for await (const bytes of lines) {
    const line = bytes.toString("utf8");
    lineNumber += 1;
    if (state.kind === "complete") {
      throw new Error("it continues after its last line");
    }
    if (state.kind === "table" && line.startsWith("[")) {
      state.tally.add(line);
      yield { kind: "row", table: state.table, row: readRow(line, state.table, lineNumber) };
    } else {
      const controlLine = JSON.parse(line) as ControlLine;
      if (state.kind === "start") {
        yield readHead(controlLine);
        state = { kind: "between" };
      } else if (state.kind === "table") {
        yield { kind: "sum", sum: readSum(controlLine, state.table, state.tally) };
        state = { kind: "between" };
      } else if (controlLine.complete === true) {
        if (controlLine.sha256 !== hash.digest("hex")) {
          throw new Error("its content was changed: the SHA-256 at its end does not match");
        }
        state = { kind: "complete" };
        continue;
      } else {
        state = { kind: "table", table: readTable(controlLine), tally: new RowTally() };
        yield { kind: "table", table: state.table };
      }
    }
    hash.update(bytes).update("\n");
  }
  if (state.kind !== "complete") {
    throw new Error("it ends too early");
  }
}

type ReadState =
  | { readonly kind: "start" | "between" | "complete" }
  | { readonly kind: "table"; readonly table: PortableTable; readonly tally: RowTally };

/** The members of the lines that are not rows. */
interface ControlLine {
  readonly [formatName]?: unknown;
  readonly version?: unknown;
  readonly tenant?: Readonly<Record<string, unknown>>;
  readonly table?: unknown;
  readonly columns?: unknown;
  readonly end?: unknown;
  readonly count?: unknown;
  readonly sha256?: unknown;
  readonly complete?: unknown;
}

function readHead(controlLine: ControlLine): FilePart {
  const { [formatName]: format, version: writtenBy, tenant } = controlLine;
  if (typeof format !== "number" || tenant === undefined) {
    throw new Error("it does not begin with the first line of a backup");
  }
  if (format > fileFormat) {
    throw new ServerError(
      "BACKUP",
      `the file was written by millrace ${String(writtenBy)} in format ${format}, and this version reads formats up to ${fileFormat}: use a newer version`,
    );
  }
  return {
    kind: "head",
    version: String(writtenBy),
    tenant: {
      id: String(tenant["id"]),
      handle: typeof tenant["handle"] === "string" ? tenant["handle"] : null,
      displayNameJson: String(tenant["display_name_json"]),
      createdMicros: Number(tenant["created_us"]),
    },
  };
}

/**
 * Returns the table with only the columns that the file has. Columns that were added later get their default values.
 */
function readTable({ table: name, columns }: ControlLine): PortableTable {
  const table = typeof name === "string" ? findTable(name) : undefined;
  if (table === undefined || !Array.isArray(columns)) {
    throw createUnknownError(`the table ${JSON.stringify(name).slice(0, 80)}`);
  }
  const unknown = (columns as readonly unknown[]).find(
    (column) => typeof column !== "string" || !table.columns.includes(column),
  );
  if (unknown !== undefined) {
    throw createUnknownError(`the column ${JSON.stringify(unknown).slice(0, 80)} of ${table.name}`);
  }
  return { ...table, columns: columns as readonly string[] };
}

const createUnknownError = (what: string): ServerError =>
  new ServerError(
    "BACKUP",
    `the file contains ${what}, which this version does not support: use the version that wrote the file, or a newer one`,
  );

function readRow(line: string, { columns }: PortableTable, lineNumber: number): PortableRow {
  try {
    return decodeRow(line, columns.length);
  } catch (cause) {
    throw new Error(`line ${lineNumber}: ${messageOf(cause)}`, { cause });
  }
}

function readSum(
  { end, count, sha256 }: ControlLine,
  table: PortableTable,
  tally: RowTally,
): TableSum {
  if (end !== table.name || count !== tally.count || sha256 !== tally.digest) {
    throw new Error(
      `the rows of ${table.name} were changed: their number or their SHA-256 does not match`,
    );
  }
  return { name: table.name, count: tally.count, sha256: tally.digest };
}

/** Reads the lines of a compressed file, without the line breaks. */
async function* readLines(file: string): AsyncGenerator<Buffer> {
  const input = createReadStream(file);
  const gunzip = createGunzip();
  input.on("error", (cause) => gunzip.destroy(cause));
  input.pipe(gunzip);
  let pending: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      let lineStart = 0;
      for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, lineStart)) {
        yield pending.length === 0
          ? chunk.subarray(lineStart, end)
          : Buffer.concat([...pending, chunk.subarray(lineStart, end)]);
        pending = [];
        bytes = 0;
        lineStart = end + 1;
      }
      if (lineStart < chunk.length) {
        pending.push(Buffer.from(chunk.subarray(lineStart)));
        bytes += chunk.length - lineStart;
      }
      if (bytes > maxLineBytes) {
        throw new Error(`a line is longer than ${maxLineBytes} bytes`);
      }
    }
  } finally {
    input.destroy();
    gunzip.destroy();
  }
  if (pending.length > 0) {
    throw new Error("it ends within a line");
  }
}

const lineEnd = 0x0a;

/** Whether a file begins with the bytes that mark gzip. A database does not. */
export const isCompressed = (start: Uint8Array): boolean => start[0] === 0x1f && start[1] === 0x8b;
