import { Buffer } from "node:buffer";

// Encodes lists in PostgreSQL's binary format. The driver would send a list as text: it searches each element twice for
// characters to escape, and PostgreSQL then parses the text. For the 30 lists of a batch of runs, that took a tenth of
// the CPU time of the thread that writes.

/** How the elements of a list are written. */
interface ElementFormat {
  /** PostgreSQL's object identifier of the element type. */
  readonly oid: number;
  /** The most bytes that an element takes; `undefined` if the element does not have the type. */
  readonly measure: (element: unknown) => number | undefined;
  /** Writes an element, and returns the number of its bytes. */
  readonly write: (target: Buffer, element: unknown, start: number) => number;
}

/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const bytesPerUnit = 3;

const createIntegerFormat = (
  oid: number,
  bytes: number,
  write: (target: Buffer, element: number, start: number) => void,
): ElementFormat => {
  const limit = Math.min(2 ** (8 * bytes - 1) - 1, Number.MAX_SAFE_INTEGER);
  return {
    oid,
    measure: (element) =>
      typeof element === "number" && Number.isInteger(element) && Math.abs(element) <= limit
        ? bytes
        : undefined,
    write: (target, element, start) => {
      write(target, element as number, start);
      return bytes;
    },
  };
};

const formats: Readonly<Record<string, ElementFormat>> = {
  text: {
    oid: 25,
    measure: (element) => (typeof element === "string" ? element.length * bytesPerUnit : undefined),
    write: (target, element, start) => target.write(element as string, start),
  },
  bigint: createIntegerFormat(20, 8, (target, element, start) => {
    target.writeInt32BE(Math.floor(element / 2 ** 32), start);
    target.writeUInt32BE(element >>> 0, start + 4);
  }),
  int: createIntegerFormat(23, 4, (target, element, start) => target.writeInt32BE(element, start)),
  smallint: createIntegerFormat(21, 2, (target, element, start) =>
    target.writeInt16BE(element, start),
  ),
  "double precision": {
    oid: 701,
    measure: (element) => (typeof element === "number" ? 8 : undefined),
    write: (target, element, start) => {
      target.writeDoubleBE(element as number, start);
      return 8;
    },
  },
};

const listTypes = new Map<string, ReadonlyMap<number, string>>();
/** Maximum number of statements in `listTypes`. */
const maxListTypes = 1_000;

/**
 * Returns the parameters of a statement, with their lists in PostgreSQL's binary format. The statement must contain the
 * type of a list, as `$1::text[]` does. Lists without a type, and lists with an element of another type, stay as they
 * are: the driver converts them.
 */
export function encodeLists(sql: string, values: readonly unknown[]): unknown[] {
  if (!values.some((value) => Array.isArray(value))) {
    return [...values];
  }
  let types = listTypes.get(sql);
  if (types === undefined) {
    types = findListTypes(sql);
    if (listTypes.size < maxListTypes) {
      listTypes.set(sql, types);
    }
  }
  return values.map((value, index) =>
    Array.isArray(value) ? (encodeList(value, types.get(index) ?? "") ?? value) : value,
  );
}

const listPattern = /\$(\d+)::(text|bigint|int|smallint|double precision)\[\]/g;

/** Returns the names of the types of the lists among the parameters of a statement, by the index of the parameter. */
const findListTypes = (sql: string): ReadonlyMap<number, string> =>
  new Map(
    [...sql.matchAll(listPattern)].map(([_match, number, type]) => [
      Number(number) - 1,
      type ?? "",
    ]),
  );

/** Space in which lists are written before they are copied. Longer lists get space of their own. */
const scratch = Buffer.allocUnsafeSlow(262_144);

const headerBytes = 20;
const lengthBytes = 4;

/**
 * Returns a list in PostgreSQL's binary format, in which `null` and `undefined` are NULL.
 *
 * @returns `undefined` if an element does not have the type, so that the driver must convert the list
 */
function encodeList(list: readonly unknown[], type: string): Buffer | undefined {
  const format = formats[type];
  if (format === undefined) {
    return undefined;
  }
  let maxBytes = headerBytes;
  let hasNull = false;
  for (const element of list) {
    const isNull = element === null || element === undefined;
    const bytes = isNull ? 0 : format.measure(element);
    if (bytes === undefined) {
      return undefined;
    }
    hasNull ||= isNull;
    maxBytes += lengthBytes + bytes;
  }
  const isShort = maxBytes <= scratch.length;
  const target = isShort ? scratch : Buffer.allocUnsafeSlow(maxBytes);
  const end = writeList(target, list, { format, hasNull });
  return isShort ? Buffer.from(target.subarray(0, end)) : target.subarray(0, end);
}

/** Writes a list, and returns the number of bytes that were written. */
function writeList(
  target: Buffer,
  list: readonly unknown[],
  { format, hasNull }: { readonly format: ElementFormat; readonly hasNull: boolean },
): number {
  target.writeInt32BE(list.length === 0 ? 0 : 1, 0); // dimensions
  target.writeInt32BE(hasNull ? 1 : 0, 4);
  target.writeInt32BE(format.oid, 8);
  if (list.length === 0) {
    return 12;
  }
  target.writeInt32BE(list.length, 12);
  target.writeInt32BE(1, 16); // index of the first element
  let position = headerBytes;
  for (const element of list) {
    const start = position + lengthBytes;
    if (element === null || element === undefined) {
      target.writeInt32BE(-1, position);
      position = start;
    } else {
      const bytes = format.write(target, element, start);
      target.writeInt32BE(bytes, position);
      position = start + bytes;
    }
  }
  return position;
}
