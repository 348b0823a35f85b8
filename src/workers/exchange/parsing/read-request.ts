import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { decodeBody, parseJson, toRawPayload } from "./body.ts";
import { hideCredentials } from "./credentials.ts";
import { isJsonObject } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";
import { toModelMetadata } from "./model-metadata.ts";
import type { ModelKind, ModelSettings } from "./model-metadata.ts";
import { Warnings } from "./warnings.ts";

/** How the requests of one format are read. */
export interface RequestFormat {
  readonly name: string;
  readonly runType: "llm" | "embedding";
  readonly model: ModelKind;
  /** Settings of the model that become metadata of the run. */
  readonly readSettings: (request: JsonObject) => ModelSettings;
  /** Reads a body that is not JSON; returns `undefined` if it can't read the body. */
  readonly readOther?: (exchange: RawExchange, warnings: Warnings) => JsonObject | undefined;
  /** Replaces content that is not recorded as text, such as audio. */
  readonly compact?: (request: JsonObject) => JsonObject;
}

/** Reads the request to a provider. The inputs of the run are the request's body, without the credentials in it. */
export function readRequest(exchange: RawExchange, format: RequestFormat): ExchangeFields {
  const warnings = new Warnings();
  const request = parseRequest(exchange, format, warnings);
  const compactRequest = request && (format.compact?.(request) ?? request);
  return warnings.addTo({
    name: format.name,
    runType: format.runType,
    inputs: compactRequest === undefined ? {} : hideCredentials(compactRequest),
    metadata: toModelMetadata(exchange, format.model, format.readSettings(request ?? {})),
  });
}

function parseRequest(
  exchange: RawExchange,
  format: RequestFormat,
  warnings: Warnings,
): JsonObject | undefined {
  if (isJsonObject(exchange.value)) {
    return exchange.value;
  }
  const otherBody = format.readOther?.(exchange, warnings);
  if (otherBody !== undefined) {
    return otherBody;
  }
  const bodyText = decodeBody(exchange, warnings);
  if (bodyText.head === "") {
    return undefined;
  }
  const parsed =
    bodyText.tail === undefined ? parseJson(bodyText.head) : { fault: "its middle is missing" };
  if (isJsonObject(parsed.value)) {
    return parsed.value;
  }
  if (parsed.fault === undefined) {
    return { body: parsed.value };
  }
  warnings.add(`The request could not be parsed: ${parsed.fault}.`);
  return toRawPayload(bodyText);
}
