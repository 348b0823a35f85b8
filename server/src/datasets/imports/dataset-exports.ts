import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import Papa from "papaparse";
import { escapeFormula } from "millrace/model";
import { toFineTuning } from "./fine-tuning.ts";
import { messageOf, RequestError } from "../../model/errors.ts";
import { disableIdleTimeout } from "../../http/disable-idle-timeout.ts";
import { serverLimits } from "../../model/options.ts";
import type { Example } from "../examples/example.ts";
import type { DatasetStore } from "../dataset-store.ts";
import { toIso } from "../../http/wire-text.ts";
import { findVersionTime, readAsOf } from "../as-of.ts";
import { readDatasetId, findDataset } from "../dataset-handlers.ts";
import { allValues } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

/**
 * `GET /datasets/{id}/openai_ft`: exports a line of a fine-tuning file for each example. If an example can't be
 * converted, the request fails, and the error names the example.
 */
export async function exportDatasetOpenAi(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  disableIdleTimeout(request, reply);
  const readPages = await createPageReader(store, request);
  // Convert all examples once before sending: after the first byte the response can't become an error.
  for await (const page of readPages()) {
    page.forEach(toFineTuningLine);
  }
  return sendLines(reply, {
    readPages,
    contentType: "application/x-ndjson",
    toText: toLines(toFineTuningLine),
  });
}

/** `GET /datasets/{id}/jsonl`: exports a line of JSON for each example, with its payloads as they were sent. */
export async function exportDatasetJsonl(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const readPages = await createPageReader(store, request);
  return sendLines(reply, {
    readPages,
    contentType: "application/x-ndjson",
    toText: toLines(toJsonLine),
  });
}

/** `GET /datasets/{id}/csv`: exports CSV with a column for each member of the inputs and of the outputs. */
export async function exportDatasetCsv(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  disableIdleTimeout(request, reply);
  const readPages = await createPageReader(store, request);
  const inputNames = new Set<string>();
  const outputNames = new Set<string>();
  for await (const page of readPages()) {
    for (const example of page) {
      Object.keys(parseObject(example.inputs)).forEach((name) => inputNames.add(name));
      Object.keys(parseObject(example.outputs)).forEach((name) => outputNames.add(name));
    }
    // Limit the number of columns: each row has a cell for every column, even if its example has few members.
    if (inputNames.size + outputNames.size > serverLimits.csvColumns) {
      throw new RequestError(
        422,
        `the examples have more than ${serverLimits.csvColumns} different members, each of which would be a column; export /datasets/${readDatasetId(request)}/jsonl instead`,
      );
    }
  }
  const columns = [
    ...inputNames,
    ...[...outputNames].map((name) => toOutputColumn(name, inputNames)),
  ];
  const toRow = (example: Example): string[] => {
    const [inputValues, outputValues] = [parseObject(example.inputs), parseObject(example.outputs)];
    return [
      ...[...inputNames].map((name) => toCell(inputValues, name)),
      ...[...outputNames].map((name) => toCell(outputValues, name)),
    ];
  };
  return sendLines(reply, {
    readPages,
    contentType: "text/csv",
    header: `${Papa.unparse([columns.map(escapeFormula)])}\r\n`,
    toText: (page) =>
      `${Papa.unparse(page.map((example) => toRow(example).map(escapeFormula)))}\r\n`,
  });
}

/** Returns the name of the column of an output. It has a prefix if the inputs have a member of the same name. */
const toOutputColumn = (name: string, inputs: ReadonlySet<string>): string =>
  inputs.has(name) ? `outputs.${name}` : name;

type ReadPages = () => AsyncGenerator<readonly Example[]>;

/**
 * Returns a function that reads the examples of the requested version, page by page. Each call reads all of them again.
 */
async function createPageReader(store: DatasetStore, request: FastifyRequest): Promise<ReadPages> {
  const dataset = await findDataset(store, request);
  const query = request.query as QueryString;
  const asOf = readAsOf(query);
  const splits = allValues(query, "splits");
  // Use the time of the newest version instead of `null`, so that all pages belong to the same version.
  const versionTime = (await findVersionTime(store, dataset, asOf)) ?? dataset.versionMicros ?? 0;
  const pageLimits = { limit: serverLimits.examplesStep, bytesMax: serverLimits.exportBytes };
  return async function* readPages() {
    for (let afterPosition = 0, hasMore = true; hasMore;) {
      const page = await store.read.examples.page(request.tenantId, {
        datasetId: dataset.id,
        versionTime,
        after: afterPosition,
        ...pageLimits,
        ...(splits === undefined ? {} : { splits }),
      });
      if (page.length > 0) {
        yield page;
      }
      afterPosition = page.at(-1)?.position ?? afterPosition;
      hasMore = page.length > 0;
      await setImmediate(); // Let other requests run before the next page.
    }
  };
}

/** What an export sends. */
interface ExportContent {
  readonly readPages: ReadPages;
  readonly contentType: string;
  /** Sent before the first page. */
  readonly header?: string;
  readonly toText: (page: readonly Example[]) => string;
}

function sendLines(
  reply: FastifyReply,
  { readPages, contentType, header, toText }: ExportContent,
): FastifyReply {
  const readTexts = async function* readTexts() {
    if (header !== undefined) {
      yield header;
    }
    for await (const page of readPages()) {
      yield toText(page);
    }
  };
  return reply
    .headers({
      "content-type": `${contentType}; charset=utf-8`,
      "x-content-type-options": "nosniff",
    })
    .send(Readable.from(readTexts(), { objectMode: false }));
}

const toLines =
  (toText: (example: Example) => string) =>
  (page: readonly Example[]): string =>
    page.map((example) => `${toText(example)}\n`).join("");

function toFineTuningLine(example: Example): string {
  try {
    return toFineTuning(example);
  } catch (cause) {
    throw new RequestError(
      422,
      `example ${example.id} can't be converted for fine-tuning: ${messageOf(cause)}`,
    );
  }
}

/** Replaces line breaks by spaces, so that JSON fits on one line. Strings in JSON never contain line breaks. */
const replaceLineBreaks = (json: string): string => json.replaceAll(/[\r\n]+/g, " ");

const toJsonLine = (example: Example): string =>
  replaceLineBreaks(
    `{"id":${JSON.stringify(example.id)},"inputs":${example.inputs},"outputs":${example.outputs ?? "null"},` +
      `"metadata":${example.metadata},"created_at":${JSON.stringify(toIso(example.createdMicros))}}`,
  );

const parseObject = (json: string | null): Readonly<Record<string, unknown>> =>
  json === null ? {} : (JSON.parse(json) as Readonly<Record<string, unknown>>);

/** Formats a value for a CSV cell: strings without quotes, all other values as JSON. */
function toCell(values: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined || value === null) {
    return "";
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}
