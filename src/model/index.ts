export {
  formatDottedOrder,
  microsToStamp,
  parseDottedOrder,
  stampToIso,
  stampToMicros,
} from "./dotted-order.ts";
export type { DottedOrder, DottedOrderSegment } from "./dotted-order.ts";
export { endpoints } from "./endpoints.ts";
export type { Endpoint, EndpointName } from "./endpoints.ts";
export { uiEndpoints } from "./ui-endpoints.ts";
export type { UiEndpointName } from "./ui-endpoints.ts";
export {
  AbortError,
  ResponseError,
  CertificateError,
  ClosedError,
  ConflictError,
  HttpError,
  InsufficientQuotaError,
  NetworkError,
  NotFoundError,
  OptionError,
  SdkError,
  TimeoutError,
  ValidationError,
} from "./errors.ts";
export type { ErrorCode, HttpErrorInit, SdkErrorOptions } from "./errors.ts";
export type { FilterField, FilterLanguage, FilterFunction, ValueKind } from "./filter-words.ts";
export { computeEditDistance } from "./edit-distance.ts";
export { escapeFormula, unescapeFormula } from "./csv-cell.ts";
export { isLoopback } from "./options/connection.ts";
export { assertUuid, isUuid } from "./ids.ts";
export { uploadLimits } from "./resources/upload.ts";
export { isKeyScope, keyScopes, permits } from "./resources/key-scopes.ts";
export type { KeyScope } from "./resources/key-scopes.ts";
export { defaultEndpoint, variablesOf } from "./options/option-variables.ts";
export type { ServerOptionName } from "./options/option-variables.ts";
export {
  handleLimit,
  isCommitHash,
  isNewHandle,
  isPromptTag,
  looksLikeHash,
  ownOwner,
} from "./resources/prompt-identifier.ts";
export { formatValue } from "./options/option-problems.ts";
export { chooseProxy, parseProxy } from "./options/proxy.ts";
export type { Proxy, ProxyChoice } from "./options/proxy.ts";
export {
  digestBytes,
  minRememberedBytes,
  listDigest,
  emptyListDigest,
  chunkCode,
  chunksType,
  textDigest,
} from "./options/content-deduplication.ts";
export { defaultRunType, payloadFields, runTypes } from "./run.ts";
export type {
  KeyValues,
  Operation,
  PayloadField,
  RunEvent,
  RunExtra,
  RunType,
  RunMembers,
  WirePatch,
  WireRun,
} from "./run.ts";
export type { StatsReport } from "./records/stats-report.ts";
export { toIso } from "./iso-time.ts";
export { threadKeys, userKeys } from "./metadata-keys.ts";
export { defaultServerInfo, parseServerInfo } from "./resources/server-info.ts";
export type { ServerInfo } from "./resources/server-info.ts";
export { checkKeys, unknownKeysOf, unknownKeyText } from "./unknown-keys.ts";
export type { KeyCheck, KeyTable, UnknownKey } from "./unknown-keys.ts";
export { version } from "./version.ts";
