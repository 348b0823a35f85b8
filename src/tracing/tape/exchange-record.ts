import type {
  ExchangeFields,
  ReadExchanges,
  RecordedExchange,
} from "../../model/records/exchange.ts";
import { exchangeRunTypes } from "../../model/records/exchange.ts";
import { field, tag } from "../../model/records/tape-format.ts";
import type { KeyValues } from "../../model/run.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import type { PayloadFilters } from "./payload-filters.ts";
import type { ExchangeBody, ExchangeContent, ExchangeRecord } from "./recorder.ts";
import type { TapeWriter } from "./tape-writer.ts";
import type { ValueWriter } from "./value-writer.ts";
import { unlimited } from "./write-sizes.ts";

/** How the exchanges of a client are recorded. */
export interface ExchangeRules {
  /**
   * Whether the main thread must read exchanges (the bytes of model calls), because raw bytes must not be recorded. A
   * call that is recorded as a whole is also read if an option hides a part of it.
   */
  readonly mustRead: boolean;
  /** Returns the function that reads exchanges; `undefined` while its code is being loaded. */
  readonly getReader: () => ReadExchanges | undefined;
}

/** Rules for a client without privacy options: workers read all exchanges. */
export const rawExchanges: ExchangeRules = { mustRead: false, getReader: () => undefined };

/** The fields of a record, and the exchanges from which a worker reads further fields. */
export interface ExchangeParts {
  readonly name?: string | undefined;
  readonly runType?: string | undefined;
  readonly inputs?: unknown;
  readonly outputs?: unknown;
  readonly error?: string | null | undefined;
  readonly events?: readonly unknown[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata: unknown;
  /** Members of `extra` besides the metadata. */
  readonly extra?: KeyValues | undefined;
  readonly exchanges: readonly ExchangeContent[];
}

/**
 * Applies the options that hide payloads to a record. If a function of the caller filters payloads, the exchanges are
 * read here, and their filtered contents are recorded as ordinary fields.
 */
export function filterExchange(
  record: ExchangeRecord,
  filters: PayloadFilters,
  rules: ExchangeRules,
): ExchangeParts {
  const { run, operation, name, runType, error, events } = record;
  const tags = operation === "post" || run.detailsChanged ? run.tags : undefined;
  const exchanges = record.exchanges.map((exchange) => withholdHidden(exchange, filters));
  const isPartHidden =
    exchanges.some(({ part }) => part === "call") &&
    (filters.hidesAllInputs || filters.hidesAllOutputs);
  if (!rules.mustRead && !filters.hasFunction && !isPartHidden) {
    const metadata = filters.filterMetadata(run.metadata) ?? {};
    return { name, runType, error, events, tags, metadata, exchanges };
  }
  const readExchanges = rules.getReader();
  const fields =
    readExchanges === undefined
      ? createMarkers(exchanges)
      : readExchanges(exchanges.map(toRecorded));
  const metadata = { ...fields.metadata, ...run.metadata };
  return {
    name: name ?? fields.name,
    runType: runType ?? fields.runType,
    inputs: filters.filterInputs(fields.inputs),
    outputs: filters.filterOutputs(fields.outputs),
    error: typeof error === "string" ? error : (fields.error ?? error),
    events: joinLists(events, fields.events),
    tags: joinLists(tags, fields.tags),
    metadata: filters.filterMetadata(metadata),
    // `extra` contains settings of the call, as metadata does. If an option hides or filters metadata, `extra` is left
    // out, because the option is not applied to it.
    extra: filters.hidesAnyMetadata ? undefined : fields.extra,
    exchanges: [],
  };
}

/** Removes the body of an exchange that an option hides completely. */
function withholdHidden(exchange: ExchangeContent, filters: PayloadFilters): ExchangeContent {
  if (exchange.part === "call") {
    return filters.hidesAllMetadata ? { ...exchange, hidesMetadata: true } : exchange;
  }
  const isHidden = exchange.part === "request" ? filters.hidesAllInputs : filters.hidesAllOutputs;
  const hidesMetadata = filters.hidesAllMetadata;
  if (!isHidden && !hidesMetadata) {
    return exchange;
  }
  return {
    ...exchange,
    ...(isHidden ? { body: "", value: undefined, omittedBytes: 0, isWithheld: true } : {}),
    ...(hidesMetadata ? { hidesMetadata } : {}),
  };
}

/** Returns markers in place of payloads that can't be read yet. */
function createMarkers(exchanges: readonly ExchangeContent[]): ExchangeFields {
  const marker: KeyValues = {
    millrace_error:
      "withheld: the code that applies the client's privacy options was not loaded yet",
  };
  const fields: Writable<ExchangeFields> = {};
  for (const { part, format, status, isRepeated } of exchanges) {
    if (part === "call") {
      Object.assign(fields, { name: format, inputs: marker, outputs: marker });
    } else if (part === "response") {
      fields.outputs = marker;
      if (status !== undefined && status >= 400) {
        fields.error = `The response has status ${status}`;
      }
    } else if (isRepeated !== true) {
      fields.name = format;
      fields.runType = exchangeRunTypes[format] ?? "llm";
      fields.inputs = marker;
    }
  }
  return fields;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

function toRecorded({ body, ...exchange }: ExchangeContent): RecordedExchange {
  return { ...exchange, body: typeof body === "string" ? Buffer.from(body) : Buffer.concat(body) };
}

const joinLists = <Item>(
  first: readonly Item[] | undefined,
  second: readonly Item[] | undefined,
): readonly Item[] | undefined =>
  first === undefined || second === undefined ? (first ?? second) : [...first, ...second];

/** Enough bytes for everything in an exchange that is not its body. */
const headBytes = 4_096;

/** The members of an exchange besides its body and value, in the order in which they are written. */
const memberNames = Object.keys({
  format: 1,
  part: 1,
  url: 1,
  contentType: 1,
  status: 1,
  ending: 1,
  omittedBytes: 1,
  omittedAt: 1,
  isRepeated: 1,
  isWithheld: 1,
  hidesMetadata: 1,
  warnings: 1,
} satisfies KeyTable<ExchangeMembers>) as readonly (keyof ExchangeMembers)[];

type ExchangeMembers = Omit<ExchangeContent, "body" | "value">;

/** Writes exchanges as the last fields of the current record. */
export function writeExchanges(
  out: TapeWriter,
  values: ValueWriter,
  exchanges: readonly ExchangeContent[],
): void {
  out.reserve(exchanges.reduce((sum, { body }) => sum + headBytes + measureBody(body), 0));
  for (const exchange of exchanges) {
    const { body, value, omittedBytes, isRepeated } = exchange;
    const fieldStart = out.beginField(field.exchange, unlimited);
    out.writeTag(tag.object);
    for (const name of memberNames) {
      const member = exchange[name];
      if (member !== undefined) {
        out.writeText(name);
        values.write(member);
      }
    }
    out.writeText("body");
    out.writeBody(body, measureBody(body));
    if (value !== undefined) {
      out.writeText("value");
      out.limitField();
      values.write(value);
    }
    out.writeEnd();
    out.endField(fieldStart);
    out.truncatedFieldCount += omittedBytes > 0 && isRepeated !== true ? 1 : 0;
  }
}

const measureBody = (body: ExchangeBody): number =>
  typeof body === "string"
    ? Buffer.byteLength(body)
    : body.reduce((sum, { length }) => sum + length, 0);
