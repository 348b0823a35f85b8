import { exchangeRunTypes, exchangeWarningsKey } from "../../model/records/exchange.ts";
import type { ExchangeFields, RecordedExchange } from "../../model/records/exchange.ts";
import { readExchange } from "./read-exchange.ts";

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The metadata key that is set on a run if the program stopped reading the response before its end. */
const cancelledKey = "millrace_cancelled";
/** Number of bytes at the end of a response in which the end-of-stream marker, such as `[DONE]`, is searched. */
const searchedTailBytes = 64;

/**
 * Reads the fields of a run from the exchanges of one record: the fields of the run's start from a request, those of
 * its end from a response, and both from a call that is recorded as a whole. Never throws.
 */
export function readExchanges(exchanges: readonly RecordedExchange[]): ExchangeFields {
  const fields: Writable<ExchangeFields> = {};
  const metadata: Record<string, unknown> = {};
  const warnings: string[] = [];
  let hidesMetadata = false;
  for (const exchange of exchanges) {
    const exchangeFields =
      exchange.isWithheld === true ? createEmptyPayload(exchange) : readExchange(exchange);
    const { [exchangeWarningsKey]: readWarnings, ...readMetadata } = exchangeFields.metadata ?? {};
    warnings.push(...toTexts(exchange.warnings), ...toTexts(readWarnings));
    Object.assign(metadata, readMetadata);
    hidesMetadata ||= exchange.hidesMetadata === true;
    if (exchange.part === "call") {
      Object.assign(fields, {
        name: exchange.format,
        runType: "chain",
        inputs: {},
        ...exchangeFields,
      });
    } else if (exchange.part === "response") {
      Object.assign(fields, toEndFields(exchange, exchangeFields));
      if (exchange.ending === "cancelled" && !isComplete(exchange, exchangeFields)) {
        metadata[cancelledKey] = true;
      }
    } else if (exchange.isRepeated !== true) {
      Object.assign(fields, toStartFields(exchange, exchangeFields));
    }
    if (exchange.omittedBytes > 0 && exchange.isRepeated !== true) {
      warnings.push(
        `${exchange.omittedBytes} bytes in the middle of the ${exchange.part} were left out`,
      );
    }
  }
  if (warnings.length > 0) {
    metadata[exchangeWarningsKey] = [...new Set(warnings)];
  }
  if (hidesMetadata) {
    delete fields.extra;
    delete fields.metadata;
  } else {
    fields.metadata = metadata;
  }
  return fields;
}

function toStartFields({ format }: RecordedExchange, fields: ExchangeFields): ExchangeFields {
  const { name = format, inputs = {}, tags, events } = fields;
  const runType = fields.runType ?? exchangeRunTypes[format] ?? "llm";
  return { name, runType, inputs, ...(tags && { tags }), ...(events && { events }) };
}

function toEndFields({ status, ending }: RecordedExchange, fields: ExchangeFields): ExchangeFields {
  const { outputs = {}, tags, events } = fields;
  const isRefused = status !== undefined && status >= 400;
  const error =
    fields.error ??
    (isRefused ? `The response has status ${status}` : undefined) ??
    (ending === "failed" ? "The response could not be read to its end" : undefined);
  return {
    outputs,
    ...(error === undefined ? {} : { error }),
    ...(tags && { tags }),
    ...(events && { events }),
  };
}

/** Returns an empty payload for an exchange whose body is not recorded. */
const createEmptyPayload = ({ part }: RecordedExchange): ExchangeFields =>
  part === "request" ? { inputs: {} } : { outputs: {} };

const isComplete = ({ body }: RecordedExchange, fields: ExchangeFields): boolean =>
  fields.isComplete ??
  Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    .subarray(-searchedTailBytes)
    .includes("[DONE]");

const toTexts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
