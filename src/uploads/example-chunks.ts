import { isDeepStrictEqual } from "node:util";
import { exampleMembers } from "../api/datasets/example-query.ts";
import type { Call } from "../api/http/http.ts";
import { splitIntoChunks } from "../api/http/pages.ts";
import { ServerInfoReader } from "../api/http/server-info.ts";
import { ConflictError, HttpError } from "../model/errors.ts";
import { parseExample, splitKey } from "../model/resources/example.ts";
import type { Example } from "../model/resources/example.ts";
import { Fields, parseList } from "../model/fields.ts";
import type { KeyValues } from "../model/run.ts";
import type { RejectedRow } from "../model/resources/upload.ts";
import type { TapeRow } from "./tape-rows.ts";
import { randomBytes } from "node:crypto";
import { jsonType } from "../api/http/request.ts";
import type { RequestBody } from "../api/http/request.ts";
import { escapePartName } from "../model/records/part-name.ts";

/** Receives the outcomes of rows as soon as they are known. */
export interface OutcomeListener {
  readonly onDone: (rows: readonly TapeRow[], counts: { created: number; bytes: number }) => void;
  readonly onRejected: (row: TapeRow, rejection: RejectedRow) => void;
}

/**
 * Statuses with which the server refuses the content of the rows. Other errors are a conflict of ids, or a fault of the
 * caller or the server.
 */
const rowRefusalStatuses = new Set([400, 413, 422]);

/**
 * Creates examples. A chunk that the server refuses is halved repeatedly until the refused rows are found. If several
 * rows have the same id, only the first is sent, and the others are then compared with the stored example: to halve a
 * chunk with such rows would take a request for each of them.
 */
export class ExampleChunks {
  readonly #call: Call;
  readonly #info: ServerInfoReader;

  constructor(call: Call) {
    this.#call = call;
    this.#info = new ServerInfoReader(call);
  }

  /**
   * Creates the rows.
   *
   * @throws {@link SdkError} the first failure that is not a refusal of rows. It is then unknown whether the rows
   * without an outcome were created.
   */
  async send(
    rows: readonly TapeRow[],
    datasetId: string,
    outcomes: OutcomeListener,
  ): Promise<void> {
    if (rows.length === 0) {
      return;
    }
    const { firstRows, repeatedRows } = separateRepeatedIds(rows);
    if (repeatedRows.length > 0) {
      await this.send(firstRows, datasetId, outcomes);
      await this.send(
        await this.#settleExisting(repeatedRows, datasetId, outcomes),
        datasetId,
        outcomes,
      );
      return;
    }
    try {
      const existingCount = await this.#create(rows, datasetId);
      const bytes = rows.reduce((sum, row) => sum + measureRow(row), 0);
      outcomes.onDone(rows, { created: rows.length - existingCount, bytes });
    } catch (error) {
      if (error instanceof ConflictError) {
        await this.#resolveConflict(rows, datasetId, { outcomes, error });
      } else if (error instanceof HttpError && rowRefusalStatuses.has(error.status)) {
        await this.#sendHalves(rows, datasetId, { outcomes, error });
      } else {
        throw error;
      }
    }
  }

  /**
   * Checks, on servers that support it, whether the dataset would accept the rows.
   *
   * @throws the same errors as {@link ExampleChunks.send}.
   */
  async check(
    rows: readonly TapeRow[],
    datasetId: string,
    outcomes: OutcomeListener,
  ): Promise<void> {
    if (!(await this.#info.readOrDefaults({})).checksExamples) {
      outcomes.onDone(rows, { created: rows.length, bytes: 0 });
      return;
    }
    const body = createExamplesJson(rows, datasetId);
    const response = await this.#call("checkExamples", { path: { id: datasetId }, body });
    const reasons = new Fields(response, "check of examples").readObject("rejected");
    for (const row of rows) {
      const reason = reasons[row.id];
      if (typeof reason === "string") {
        reject(row, reason, outcomes);
      } else {
        outcomes.onDone([row], { created: 1, bytes: measureRow(row) });
      }
    }
  }

  /**
   * Creates examples with one request.
   *
   * @returns how many of the examples already existed; 0 if the server does not report their number.
   */
  async #create(rows: readonly TapeRow[], datasetId: string): Promise<number> {
    const { exampleParts } = await this.#info.readOrDefaults({});
    const hasAttachments = rows.some(({ attachments }) => attachments.length > 0);
    const response =
      exampleParts || hasAttachments
        ? await this.#call("uploadExamples", {
            path: { id: datasetId },
            body: createExamplesForm(rows),
            repeatable: true,
          })
        : await this.#call("createExamples", {
            body: createExamplesJson(rows, datasetId),
            repeatable: true,
          });
    return Array.isArray(response)
      ? 0
      : (new Fields(response, "list of created examples").readOptionalNumber("existing_count") ??
          0);
  }

  async #sendHalves(
    rows: readonly TapeRow[],
    datasetId: string,
    { outcomes, error }: { readonly outcomes: OutcomeListener; readonly error: HttpError },
  ): Promise<void> {
    const [onlyRow] = rows;
    if (onlyRow !== undefined && rows.length === 1) {
      reject(onlyRow, error.message, outcomes);
      return;
    }
    const middle = Math.ceil(rows.length / 2);
    await this.send(rows.slice(0, middle), datasetId, outcomes);
    await this.send(rows.slice(middle), datasetId, outcomes);
  }

  /** Handles a conflict: some ids already exist. The rows with other ids are sent again. */
  async #resolveConflict(
    rows: readonly TapeRow[],
    datasetId: string,
    refusal: { readonly outcomes: OutcomeListener; readonly error: ConflictError },
  ): Promise<void> {
    const { outcomes } = refusal;
    const newRows = await this.#settleExisting(rows, datasetId, outcomes);
    await (newRows.length === rows.length
      ? this.#sendHalves(rows, datasetId, refusal)
      : this.send(newRows, datasetId, outcomes));
  }

  /**
   * Reports the outcomes of rows whose ids already exist. A row is skipped if the stored example with its id is the
   * same ({@link isSame}), for example from an earlier upload. Otherwise it is rejected.
   *
   * @returns the other rows.
   */
  async #settleExisting(
    rows: readonly TapeRow[],
    datasetId: string,
    outcomes: OutcomeListener,
  ): Promise<readonly TapeRow[]> {
    const existingById = await this.#findExisting(rows, datasetId);
    return rows.filter((row) => {
      const example = existingById.get(row.id);
      if (example === undefined) {
        return true;
      }
      if (isSame(row, example)) {
        outcomes.onDone([row], { created: 0, bytes: measureRow(row) });
      } else {
        reject(row, `the id ${row.id} already exists with a different example`, outcomes);
      }
      return false;
    });
  }

  async #findExisting(
    rows: readonly TapeRow[],
    datasetId: string,
  ): Promise<ReadonlyMap<string, ExistingExample>> {
    const ids = [...new Set(rows.map(({ id }) => id))];
    const hasAttachments = rows.some(({ attachments }) => attachments.length > 0);
    const select = hasAttachments ? exampleMembers : undefined;
    const existingExamples = new Map<string, ExistingExample>();
    for (const chunk of splitIntoChunks(ids)) {
      const query = { dataset: datasetId, id: chunk, limit: chunk.length, select };
      const page = await this.#call("listExamples", { query });
      for (const example of parseList(page, "examples", parseExistingExample)) {
        existingExamples.set(example.id, example);
      }
    }
    return existingExamples;
  }
}

const measureRow = ({ members, attachments }: TapeRow): number =>
  members.reduce((sum, [, json]) => sum + json.length, 0) +
  attachments.reduce((sum, { data }) => sum + data.length, 0);

/** Separates the first row with each id from the rows that repeat an id. */
function separateRepeatedIds(rows: readonly TapeRow[]): {
  readonly firstRows: readonly TapeRow[];
  readonly repeatedRows: readonly TapeRow[];
} {
  const ids = new Set<string>();
  const firstRows: TapeRow[] = [];
  const repeatedRows: TapeRow[] = [];
  for (const row of rows) {
    (ids.has(row.id) ? repeatedRows : firstRows).push(row);
    ids.add(row.id);
  }
  return { firstRows, repeatedRows };
}

function reject(row: TapeRow, reason: string, { onRejected }: OutcomeListener): void {
  onRejected(row, { row: row.row, id: row.id, reason, content: formatExample(row) });
}

/** An example that the server has stored. */
interface ExistingExample extends Example {
  /** Names of the members that the server returned, as on the wire. */
  readonly returnedMembers: ReadonlySet<string>;
}

const parseExistingExample = (value: unknown): ExistingExample => ({
  ...parseExample(value),
  returnedMembers: new Set(Object.keys(Object(value) as object)),
});

/**
 * Whether a row is the same as a stored example: both have the same inputs and outputs, and what else the row contains
 * is equal in the stored example. A member that the server does not return, and the bytes of attachments, are not
 * compared.
 */
function isSame({ members, attachments }: TapeRow, example: ExistingExample): boolean {
  const rowValues = new Map(
    members.map(([name, json]) => [name, JSON.parse(json.toString()) as unknown]),
  );
  const { [splitKey]: metadataSplits, ...rowMetadata } = (rowValues.get("metadata") ??
    {}) as KeyValues;
  const splits = rowValues.get("split") ?? metadataSplits;
  const sourceRunId = rowValues.get("source_run_id") as string | undefined;
  const { returnedMembers } = example;
  return (
    isDeepStrictEqual(rowValues.get("inputs") ?? {}, example.inputs) &&
    isDeepStrictEqual(rowValues.get("outputs") ?? undefined, example.outputs) &&
    Object.entries(rowMetadata).every(([name, value]) =>
      isDeepStrictEqual(value, example.metadata[name]),
    ) &&
    (splits === undefined ||
      example.splits.length === 0 ||
      hasSameNames([splits].flat(), example.splits)) &&
    (sourceRunId === undefined ||
      !returnedMembers.has("source_run_id") ||
      sourceRunId.toLowerCase() === example.sourceRunId?.toLowerCase()) &&
    (attachments.length === 0 ||
      !returnedMembers.has("attachment_urls") ||
      hasSameNames(
        attachments.map(({ name }) => name),
        Object.keys(example.attachments ?? {}),
      ))
  );
}

const hasSameNames = (left: readonly unknown[], right: readonly string[]): boolean =>
  isDeepStrictEqual(new Set(left), new Set(right));

/**
 * Members of an example that are sent as separate parts of a multipart body. The other members are in the example's
 * first part.
 */
const separateParts = new Set(["inputs", "outputs"]);
const [closeBrace, comma] = [Buffer.from("}"), Buffer.from(",")];
const [closeByte, openByte, commaByte, crByte, lfByte] = [0x7d, 0x7b, 0x2c, 0x0d, 0x0a];
/** Maximum bytes of the fixed text in the headers of a part, including the digits of its length. */
const partOverheadBytes = 256;

/** Writes examples as a multipart body (docs/wire.md). */
function createExamplesForm(rows: readonly TapeRow[]): RequestBody {
  // The boundary is random, because an example may contain any fixed text.
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const out = Buffer.allocUnsafe(
    rows.reduce((sum, row) => sum + computeMaxPartBytes(row), partOverheadBytes),
  );
  let offset = 0;
  const writeAscii = (text: string): void => void (offset += out.write(text, offset, "latin1"));
  const writeBytes = (bytes: Uint8Array): void => {
    out.set(bytes, offset);
    offset += bytes.byteLength;
  };
  const writeHead = (name: string, type: string, length: number): void =>
    writeAscii(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
    );
  const endPart = (): void => {
    out[offset++] = crByte;
    out[offset++] = lfByte;
  };
  for (const { id, members, attachments } of rows) {
    const firstPartMembers = members.filter(([name]) => !separateParts.has(name));
    writeHead(id, jsonType, measureObject(firstPartMembers));
    out[offset++] = openByte;
    firstPartMembers.forEach(([name, json], index) => {
      if (index > 0) {
        out[offset++] = commaByte;
      }
      writeAscii(`"${name}":`);
      writeBytes(json);
    });
    out[offset++] = closeByte;
    endPart();
    for (const [name, json] of members) {
      if (separateParts.has(name)) {
        writeHead(`${id}.${name}`, jsonType, json.length);
        writeBytes(json);
        endPart();
      }
    }
    for (const { name, mimeType, data } of attachments) {
      // The name may contain any characters, so it is escaped and written as UTF-8 bytes.
      const partName = Buffer.from(escapePartName(name)).toString("latin1");
      writeHead(`${id}.attachment.${partName}`, mimeType, data.byteLength);
      writeBytes(data);
      endPart();
    }
  }
  writeAscii(`--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: out.subarray(0, offset),
  };
}

/** Computes an upper bound of the bytes that a row takes in a multipart body. */
const computeMaxPartBytes = ({ members, attachments }: TapeRow): number =>
  members.reduce(
    (sum, [name, json]) => sum + json.length + name.length + partOverheadBytes,
    partOverheadBytes,
  ) +
  attachments.reduce(
    (sum, { name, mimeType, data }) =>
      sum +
      data.byteLength +
      Buffer.byteLength(escapePartName(name)) +
      mimeType.length +
      partOverheadBytes,
    0,
  );

/** Computes the length in bytes of the JSON object `{"a":…,"b":…}` with these members. */
const measureObject = (members: TapeRow["members"]): number =>
  members.reduce((sum, [name, json]) => sum + name.length + 3 + json.length, 0) +
  Math.max(0, members.length - 1) +
  2;

/** Writes examples as a JSON array. */
function createExamplesJson(rows: readonly TapeRow[], datasetId: string): RequestBody {
  const chunks: Uint8Array[] = [Buffer.from("[")];
  rows.forEach(({ id, members }, index) => {
    chunks.push(Buffer.from(`${index === 0 ? "" : ","}{"id":"${id}","dataset_id":"${datasetId}"`));
    members.forEach(([name, json]) => chunks.push(Buffer.from(`,"${name}":`), json));
    chunks.push(closeBrace);
  });
  chunks.push(Buffer.from("]"));
  return { contentType: jsonType, content: Buffer.concat(chunks) };
}

/** Formats one example as JSON, for the report of a rejected row. */
const formatExample = ({ id, members }: TapeRow): string =>
  Buffer.concat([
    Buffer.from(`{"id":"${id}"`),
    ...members.flatMap(([name, json]) => [comma, Buffer.from(`"${name}":`), json]),
    closeBrace,
  ]).toString();
