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
import { findMoment, readAsOf } from "../as-of.ts";
import { datasetIdOf, findDataset } from "../dataset-handlers.ts";
import { allValues } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

/**
 * `GET /datasets/{id}/openai_ft`: one line for each example. An example that can't be converted fails the request and
 * is named in the error.
 */
export async function exportDatasetOpenAi(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  disableIdleTimeout(request, reply);
  const pages = await openPages(store, request);
  // Convert everything once before sending: after the first byte the status can't become an error.
  for await (const page of pages()) {
    page.forEach(toLine);
  }
  return sendLines(reply, { pages, type: "application/x-ndjson", toText: toLines(toLine) });
}

/** `GET /datasets/{id}/jsonl`: one line for each example, its payloads as they were sent. */
export async function exportDatasetJsonl(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const pages = await openPages(store, request);
  return sendLines(reply, { pages, type: "application/x-ndjson", toText: toLines(toJsonLine) });
}

/** `GET /datasets/{id}/csv`: a column for each member of the inputs and of the outputs. */
export async function exportDatasetCsv(
  store: DatasetStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  disableIdleTimeout(request, reply);
  const pages = await openPages(store, request);
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  for await (const page of pages()) {
    for (const example of page) {
      Object.keys(parse(example.inputs)).forEach((name) => inputs.add(name));
      Object.keys(parse(example.outputs)).forEach((name) => outputs.add(name));
    }
    // Each row has a cell for every column, however few members its example has, so the number of columns must be
    // bounded.
    if (inputs.size + outputs.size > serverLimits.csvColumns) {
      throw new RequestError(
        422,
        `the examples have more than ${serverLimits.csvColumns} different members, each of which would be a column; export /datasets/${datasetIdOf(request)}/jsonl instead`,
      );
    }
  }
  const columns = [...inputs, ...[...outputs].map((name) => outputColumn(name, inputs))];
  const toRow = (example: Example): string[] => {
    const [inputValues, outputValues] = [parse(example.inputs), parse(example.outputs)];
    return [
      ...[...inputs].map((name) => toCell(inputValues, name)),
      ...[...outputs].map((name) => toCell(outputValues, name)),
    ];
  };
  return sendLines(reply, {
    pages,
    type: "text/csv",
    head: `${Papa.unparse([columns.map(escapeFormula)])}\r\n`,
    toText: (page) =>
      `${Papa.unparse(page.map((example) => toRow(example).map(escapeFormula)))}\r\n`,
  });
}

/** The column of an output; prefixed if the inputs have a member of the same name. */
const outputColumn = (name: string, inputs: ReadonlySet<string>): string =>
  inputs.has(name) ? `outputs.${name}` : name;

type Pages = () => AsyncGenerator<readonly Example[]>;

/** Returns a function that reads the examples of one version page by page, as often as needed. */
async function openPages(store: DatasetStore, request: FastifyRequest): Promise<Pages> {
  const dataset = await findDataset(store, request);
  const query = request.query as QueryString;
  const asOf = readAsOf(query);
  const splits = allValues(query, "splits");
  // Pin the version: concurrent writes create later ones.
  const moment = (await findMoment(store, dataset, asOf)) ?? dataset.versionMicros ?? 0;
  const bounds = { limit: serverLimits.examplesStep, bytesMax: serverLimits.exportBytes };
  return async function* pages() {
    for (let after = 0, isMore = true; isMore;) {
      const page = await store.read.examples.page(request.tenantId, {
        datasetId: dataset.id,
        moment,
        after,
        ...bounds,
        ...(splits === undefined ? {} : { splits }),
      });
      if (page.length > 0) {
        yield page;
      }
      after = page.at(-1)?.position ?? after;
      isMore = page.length > 0;
      await setImmediate(); // Let other requests run before the next page.
    }
  };
}

interface LineSource {
  readonly pages: Pages;
  readonly type: string;
  readonly head?: string;
  readonly toText: (page: readonly Example[]) => string;
}

function sendLines(reply: FastifyReply, { pages, type, head, toText }: LineSource): FastifyReply {
  const texts = async function* texts() {
    if (head !== undefined) {
      yield head;
    }
    for await (const page of pages()) {
      yield toText(page);
    }
  };
  return reply
    .headers({ "content-type": `${type}; charset=utf-8`, "x-content-type-options": "nosniff" })
    .send(Readable.from(texts(), { objectMode: false }));
}

const toLines =
  (toText: (example: Example) => string) =>
  (page: readonly Example[]): string =>
    page.map((example) => `${toText(example)}\n`).join("");

function toLine(example: Example): string {
  try {
    return toFineTuning(example);
  } catch (cause) {
    throw new RequestError(
      422,
      `example ${example.id} can't be converted for fine-tuning: ${messageOf(cause)}`,
    );
  }
}

/** Replaces line breaks by spaces. JSON contains line breaks only between members, never inside strings. */
const onOneLine = (json: string): string => json.replaceAll(/[\r\n]+/g, " ");

const toJsonLine = (example: Example): string =>
  onOneLine(
    `{"id":${JSON.stringify(example.id)},"inputs":${example.inputs},"outputs":${example.outputs ?? "null"},` +
      `"metadata":${example.metadata},"created_at":${JSON.stringify(toIso(example.createdMicros))}}`,
  );

const parse = (json: string | null): Readonly<Record<string, unknown>> =>
  json === null ? {} : (JSON.parse(json) as Readonly<Record<string, unknown>>);

/** Formats a value for a CSV cell: strings without quotes, all other values as JSON. */
function toCell(values: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined || value === null) {
    return "";
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}
