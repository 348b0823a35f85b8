import { isUtf8 } from "node:buffer";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import type { AsyncBuffer, FileMetaData } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { readErrorMessage } from "./byte-source.ts";
import { SourceError } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** A row group larger than this, in bytes, is read in parts. */
const partBytes = 33_554_432;

/**
 * Opens a Parquet file, which is read one row group at a time.
 *
 * @throws {@link SourceError} if it is not a complete Parquet file.
 */
export async function openParquet(path: string, name: string = path): Promise<RowSource> {
  const handle = await open(path);
  let file: AsyncBuffer;
  let metadata: FileMetaData;
  let columns: readonly string[];
  try {
    file = toAsyncBuffer(handle, (await handle.stat()).size);
    if (file.byteLength < 12) {
      throw new SourceError(`it has only ${file.byteLength} bytes`);
    }
    metadata = await parquetMetadataAsync(file);
    columns = parquetSchema(metadata).children.map(({ element }) => element.name);
  } catch (cause) {
    await handle.close();
    throw createDamageError(name, cause);
  }
  const rowCount = Number(metadata.num_rows);
  let rowsRead = 0;
  const readRows = async function* readRows(): AsyncGenerator<SourceRow> {
    for (const { rowStart, rowEnd } of splitRowGroups(metadata)) {
      const partRows = await parquetReadObjects({
        file,
        metadata,
        compressors,
        rowStart,
        rowEnd,
        useOffsetIndex: true,
        // Otherwise a binary column would be decoded as text, and bytes that are not text would be lost.
        utf8: false,
      }).catch((cause: unknown) => {
        throw createDamageError(name, cause);
      });
      for (const row of partRows) {
        rowsRead += 1;
        yield toJsonValue(row) as SourceRow;
      }
    }
  };
  return {
    columns,
    rows: readRows(),
    getFractionRead: () => (rowCount === 0 ? undefined : rowsRead / rowCount),
    close: () => handle.close(),
  };
}

const createDamageError = (name: string, cause: unknown): SourceError =>
  new SourceError(`${name} is not a complete Parquet file: ${readErrorMessage(cause)}`, { cause });

function toAsyncBuffer(handle: FileHandle, byteLength: number): AsyncBuffer {
  return {
    byteLength,
    async slice(start, end = byteLength) {
      const bytes = new ArrayBuffer(end - start);
      const { bytesRead } = await handle.read(new Uint8Array(bytes), 0, end - start, start);
      if (bytesRead < end - start) {
        throw new SourceError(`it ends at byte ${start + bytesRead}`);
      }
      return bytes;
    },
  };
}

function* splitRowGroups({
  row_groups: groups,
}: FileMetaData): Generator<{ rowStart: number; rowEnd: number }> {
  let groupStart = 0;
  for (const { num_rows: count, total_byte_size: bytes } of groups) {
    const groupEnd = groupStart + Number(count);
    const partCount = Math.max(1, Math.ceil(Number(bytes) / partBytes));
    const rowsPerPart = Math.max(1, Math.ceil(Number(count) / partCount));
    for (let rowStart = groupStart; rowStart < groupEnd; rowStart += rowsPerPart) {
      yield { rowStart, rowEnd: Math.min(groupEnd, rowStart + rowsPerPart) };
    }
    groupStart = groupEnd;
  }
}

/**
 * Converts a Parquet value to JSON: bigints to numbers if they are exact, otherwise to strings; times to ISO
 * 8601; bytes to text if they are UTF-8, because many writers store texts as binary columns, otherwise to base64.
 */
function toJsonValue(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? null : value.toISOString();
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value).toString(isUtf8(value) ? "utf8" : "base64");
  }
  if (Array.isArray(value)) {
    return value.map(toJsonValue);
  }
  if (ArrayBuffer.isView(value)) {
    return Array.from(value as unknown as Iterable<unknown>, toJsonValue);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, toJsonValue(member)]),
  );
}
