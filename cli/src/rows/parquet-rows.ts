import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import type { AsyncBuffer, FileMetaData } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { messageOf } from "./byte-source.ts";
import { SourceError } from "./source-row.ts";
import type { RowSource, SourceRow } from "./source-row.ts";

/** A group of rows beyond it is read in parts. */
const partBytes = 33_554_432;

/** A Parquet file, read group by group. @throws {@link SourceError} it is not a Parquet file, or not a complete one. */
export async function openParquet(path: string, name: string = path): Promise<RowSource> {
  const handle = await open(path);
  let file: AsyncBuffer;
  let metadata: FileMetaData;
  let columns: readonly string[];
  try {
    file = bufferOf(handle, (await handle.stat()).size);
    if (file.byteLength < 12) {
      throw new SourceError(`it has ${file.byteLength} bytes`);
    }
    metadata = await parquetMetadataAsync(file);
    columns = parquetSchema(metadata).children.map(({ element }) => element.name);
  } catch (cause) {
    await handle.close();
    throw damaged(name, cause);
  }
  const total = Number(metadata.num_rows);
  let done = 0;
  const rows = async function* rows(): AsyncGenerator<SourceRow> {
    for (const { rowStart, rowEnd } of partsOf(metadata)) {
      const part = await parquetReadObjects({
        file,
        metadata,
        compressors,
        rowStart,
        rowEnd,
        useOffsetIndex: true,
      }).catch((cause: unknown) => {
        throw damaged(name, cause);
      });
      for (const row of part) {
        done += 1;
        yield plain(row) as SourceRow;
      }
    }
  };
  return {
    columns,
    rows: rows(),
    fraction: () => (total === 0 ? undefined : done / total),
    close: () => handle.close(),
  };
}

const damaged = (name: string, cause: unknown): SourceError =>
  new SourceError(`${name} is no whole Parquet file: ${messageOf(cause)}`, { cause });

function bufferOf(handle: FileHandle, byteLength: number): AsyncBuffer {
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

function* partsOf({
  row_groups: groups,
}: FileMetaData): Generator<{ rowStart: number; rowEnd: number }> {
  let at = 0;
  for (const { num_rows: count, total_byte_size: bytes } of groups) {
    const end = at + Number(count);
    const parts = Math.max(1, Math.ceil(Number(bytes) / partBytes));
    const size = Math.max(1, Math.ceil(Number(count) / parts));
    for (let rowStart = at; rowStart < end; rowStart += size) {
      yield { rowStart, rowEnd: Math.min(end, rowStart + size) };
    }
    at = end;
  }
}

/** What JSON has: whole numbers, where they are exact, and texts for times and bytes. */
function plain(value: unknown): unknown {
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
    return Buffer.from(value).toString("base64");
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (ArrayBuffer.isView(value)) {
    return Array.from(value as unknown as Iterable<unknown>, plain);
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
