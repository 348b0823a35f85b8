import { isDeepStrictEqual } from "node:util";
import type { Call } from "../api/http/http.ts";
import { chunksOf } from "../api/http/pages.ts";
import { ServerInfoReader } from "../api/http/server-info.ts";
import { ConflictError, HttpError } from "../model/errors.ts";
import { parseExample } from "../model/resources/example.ts";
import type { Example } from "../model/resources/example.ts";
import { Fields, parseList } from "../model/fields.ts";
import type { RejectedRow } from "../model/resources/upload.ts";
import type { TapeRow } from "./tape-rows.ts";
import { randomBytes } from "node:crypto";
import { jsonType } from "../api/http/request.ts";
import type { RequestBody } from "../api/http/request.ts";
import { escapePartName } from "../model/records/part-name.ts";

/** Receives the outcomes of rows as soon as they are known. */
export interface Outcomes {
  readonly done: (rows: readonly TapeRow[], counts: { created: number; bytes: number }) => void;
  readonly rejected: (row: TapeRow, rejection: RejectedRow) => void;
}

/** Refusals that speak of the request's rows, not of the caller or the server. */
const refusals = new Set([400, 413, 422]);

/** Makes examples. What a server refuses is divided until the row is found that it refuses. */
export class ExampleChunks {
  readonly #call: Call;
  readonly #info: ServerInfoReader;

  constructor(call: Call) {
    this.#call = call;
    this.#info = new ServerInfoReader(call);
  }

  /** @throws {@link SdkError} the failure after which the rest is open. */
  async send(rows: readonly TapeRow[], datasetId: string, outcomes: Outcomes): Promise<void> {
    if (rows.length === 0) {
      return;
    }
    try {
      const existing = await this.#make(rows, datasetId);
      const bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0);
      outcomes.done(rows, { created: rows.length - existing, bytes });
    } catch (error) {
      if (error instanceof ConflictError) {
        await this.#sortOut(rows, datasetId, { outcomes, error });
      } else if (error instanceof HttpError && refusals.has(error.status)) {
        await this.#divide(rows, datasetId, { outcomes, error });
      } else {
        throw error;
      }
    }
  }

  /** Asks whether the dataset would take them, where the server can say so. @throws as {@link ExampleChunks.send}. */
  async check(rows: readonly TapeRow[], datasetId: string, outcomes: Outcomes): Promise<void> {
    if (!(await this.#info.readOrDefaults({})).checksExamples) {
      outcomes.done(rows, { created: rows.length, bytes: 0 });
      return;
    }
    const body = examplesJson(rows, datasetId);
    const answer = await this.#call("checkExamples", { path: { id: datasetId }, body });
    const reasons = new Fields(answer, "check of examples").object("rejected");
    for (const row of rows) {
      const reason = reasons[row.id];
      if (typeof reason === "string") {
        reject(row, reason, outcomes);
      } else {
        outcomes.done([row], { created: 1, bytes: sizeOf(row) });
      }
    }
  }

  /** @returns how many of them existed already, as far as the server reports it. */
  async #make(rows: readonly TapeRow[], datasetId: string): Promise<number> {
    const { exampleParts } = await this.#info.readOrDefaults({});
    const wantsParts = rows.some(({ attachments }) => attachments.length > 0);
    const answer =
      exampleParts || wantsParts
        ? await this.#call("uploadExamples", {
            path: { id: datasetId },
            body: examplesForm(rows),
            repeatable: true,
          })
        : await this.#call("createExamples", {
            body: examplesJson(rows, datasetId),
            repeatable: true,
          });
    return Array.isArray(answer)
      ? 0
      : (new Fields(answer, "list of created examples").optionalNumber("existing_count") ?? 0);
  }

  async #divide(
    rows: readonly TapeRow[],
    datasetId: string,
    { outcomes, error }: { readonly outcomes: Outcomes; readonly error: HttpError },
  ): Promise<void> {
    const [only] = rows;
    if (only !== undefined && rows.length === 1) {
      reject(only, error.message, outcomes);
      return;
    }
    const middle = Math.ceil(rows.length / 2);
    await this.send(rows.slice(0, middle), datasetId, outcomes);
    await this.send(rows.slice(middle), datasetId, outcomes);
  }

  /** Some of the ids are taken: by the same example, as of an earlier upload, or by another one. */
  async #sortOut(
    rows: readonly TapeRow[],
    datasetId: string,
    refusal: { readonly outcomes: Outcomes; readonly error: ConflictError },
  ): Promise<void> {
    const there = await this.#find(rows, datasetId);
    const { outcomes } = refusal;
    const seen = new Set<string>();
    const rest: TapeRow[] = [];
    for (const row of rows) {
      const example = there.get(row.id);
      if (example !== undefined && isSame(row, example)) {
        outcomes.done([row], { created: 0, bytes: sizeOf(row) });
      } else if (example !== undefined) {
        reject(row, `another example has the id ${row.id} already`, outcomes);
      } else if (seen.has(row.id)) {
        reject(row, `an earlier row has the id ${row.id} already`, outcomes);
      } else {
        seen.add(row.id);
        rest.push(row);
      }
    }
    await (rest.length === rows.length
      ? this.#divide(rows, datasetId, refusal)
      : this.send(rest, datasetId, outcomes));
  }

  async #find(rows: readonly TapeRow[], datasetId: string): Promise<ReadonlyMap<string, Example>> {
    const ids = [...new Set(rows.map(({ id }) => id))];
    const found = new Map<string, Example>();
    for (const some of chunksOf(ids)) {
      const query = { dataset: datasetId, id: some, limit: some.length };
      const page = await this.#call("listExamples", { query });
      for (const example of parseList(page, "examples", parseExample)) {
        found.set(example.id, example);
      }
    }
    return found;
  }
}

const sizeOf = ({ members, attachments }: TapeRow): number =>
  members.reduce((sum, [, json]) => sum + json.length, 0) +
  attachments.reduce((sum, { data }) => sum + data.length, 0);

function reject(row: TapeRow, reason: string, { rejected }: Outcomes): void {
  rejected(row, { row: row.row, id: row.id, reason, content: exampleText(row) });
}

/** Whether the contents are equal. The stored metadata may have more entries, such as the splits. */
function isSame({ members }: TapeRow, { inputs, outputs, metadata }: Example): boolean {
  const own = new Map(
    members.map(([name, json]) => [name, JSON.parse(json.toString()) as unknown]),
  );
  const said = Object.entries((own.get("metadata") ?? {}) as Readonly<Record<string, unknown>>);
  return (
    isDeepStrictEqual(own.get("inputs") ?? {}, inputs) &&
    isDeepStrictEqual(own.get("outputs") ?? undefined, outputs) &&
    said.every(([name, value]) => isDeepStrictEqual(value, metadata[name]))
  );
}

/** Members that are parts of their own; the others are in an example's first part. */
const payloads = new Set(["inputs", "outputs"]);
const [close, comma] = [Buffer.from("}"), Buffer.from(",")];
const [closeByte, openByte, commaByte, crByte, lfByte] = [0x7d, 0x7b, 0x2c, 0x0d, 0x0a];
/** Of the fixed texts of a part, and of its length in digits. */
const partBytes = 256;

/** The examples as parts (docs/wire.md). */
function examplesForm(rows: readonly TapeRow[]): RequestBody {
  // Random, as an example may hold any fixed text.
  const boundary = `millrace-${randomBytes(16).toString("hex")}`;
  const out = Buffer.allocUnsafe(rows.reduce((sum, row) => sum + roomFor(row), partBytes));
  let at = 0;
  const ascii = (text: string): void => void (at += out.write(text, at, "latin1"));
  const copy = (bytes: Uint8Array): void => {
    out.set(bytes, at);
    at += bytes.byteLength;
  };
  const head = (name: string, type: string, length: number): void =>
    ascii(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
    );
  const end = (): void => {
    out[at++] = crByte;
    out[at++] = lfByte;
  };
  for (const { id, members, attachments } of rows) {
    const rest = members.filter(([name]) => !payloads.has(name));
    head(id, jsonType, objectLength(rest));
    out[at++] = openByte;
    rest.forEach(([name, json], index) => {
      if (index > 0) {
        out[at++] = commaByte;
      }
      ascii(`"${name}":`);
      copy(json);
    });
    out[at++] = closeByte;
    end();
    for (const [name, json] of members) {
      if (payloads.has(name)) {
        head(`${id}.${name}`, jsonType, json.length);
        copy(json);
        end();
      }
    }
    for (const { name, mimeType, data } of attachments) {
      // A name is any text.
      const partName = Buffer.from(escapePartName(name)).toString("latin1");
      head(`${id}.attachment.${partName}`, mimeType, data.byteLength);
      copy(data);
      end();
    }
  }
  ascii(`--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: out.subarray(0, at),
  };
}

/** Bytes that a row takes as parts, at most. */
const roomFor = ({ members, attachments }: TapeRow): number =>
  members.reduce((sum, [name, json]) => sum + json.length + name.length + partBytes, partBytes) +
  attachments.reduce(
    (sum, { name, mimeType, data }) =>
      sum + data.byteLength + Buffer.byteLength(escapePartName(name)) + mimeType.length + partBytes,
    0,
  );

/** `{"a":…,"b":…}` */
const objectLength = (members: TapeRow["members"]): number =>
  members.reduce((sum, [name, json]) => sum + name.length + 3 + json.length, 0) +
  Math.max(0, members.length - 1) +
  2;

/** The examples as a list in JSON. */
function examplesJson(rows: readonly TapeRow[], datasetId: string): RequestBody {
  const pieces: Uint8Array[] = [Buffer.from("[")];
  rows.forEach(({ id, members }, index) => {
    pieces.push(Buffer.from(`${index === 0 ? "" : ","}{"id":"${id}","dataset_id":"${datasetId}"`));
    members.forEach(([name, json]) => pieces.push(Buffer.from(`,"${name}":`), json));
    pieces.push(close);
  });
  pieces.push(Buffer.from("]"));
  return { contentType: jsonType, content: Buffer.concat(pieces) };
}

/** JSON of one example, for a person to read. */
const exampleText = ({ id, members }: TapeRow): string =>
  Buffer.concat([
    Buffer.from(`{"id":"${id}"`),
    ...members.flatMap(([name, json]) => [comma, Buffer.from(`"${name}":`), json]),
    close,
  ]).toString();
