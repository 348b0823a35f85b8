import type { Connection } from "../model/options/connection.ts";
import type { Environment } from "../model/options/environment.ts";
import type { PlainOptions } from "../model/options/option-table.ts";
import { mustMaskEverything, findSendingProblem } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import { chooseProxy, nameProxySource } from "../model/options/proxy.ts";
import { maskEverything, planRedaction } from "../model/options/redaction.ts";
import type { RedactionPlan } from "../model/options/redaction-search.ts";
import type { SharedTraffic } from "../model/records/shared-traffic.ts";
import type { ShippingOptions } from "../model/records/shipping.ts";
import { version } from "../model/version.ts";

/** Selects the options that the workers need. */
export function selectShippingOptions(
  options: ResolvedOptions,
  headers: Readonly<Record<string, string>>,
  traffic: SharedTraffic,
): ShippingOptions {
  const redaction = createRedactionPlan(options);
  return {
    connection: selectConnection(options, headers, computeRequestsPerWorker(options)),
    attempts: options.attempts,
    retryAfterLimitMs: options.retryAfterLimitMs,
    maxResponseBytes: options.maxResponseBytes,
    files: {
      areAllowed: options.dangerouslyAllowFilesystem,
      limitBytes: options.maxAttachmentBytes,
    },
    contentDeduplication: options.contentDeduplication,
    attachBytesFrom: options.attachBytesFrom,
    runtime: {
      sdk: "millrace",
      sdk_version: version,
      runtime: "node",
      runtime_version: process.version,
      platform: process.platform,
    },
    traffic: traffic.memory,
    ...(options.otlp === undefined
      ? {}
      : {
          otlp: { convention: options.otlp.convention, projectName: options.projectName },
        }),
    ...(redaction === undefined ? {} : { redaction }),
  };
}

/** Converts the redaction options to a plan; `undefined` if nothing is masked. */
export const createRedactionPlan = (
  options: Pick<ResolvedOptions, "redact" | "apiKey" | "environmentFaults">,
): RedactionPlan | undefined =>
  mustMaskEverything(options) ? maskEverything : planRedaction(options.redact, options.apiKey);

/** Maximum number of requests in flight for one worker. */
const computeRequestsPerWorker = ({ workers, requestsInFlight }: PlainOptions): number =>
  Math.ceil(requestsInFlight / Math.max(1, workers));

/** Selects the options for connecting to the server. */
export function selectConnection(
  options: ResolvedOptions,
  headers: Readonly<Record<string, string>>,
  requestsInFlight: number,
): Connection {
  const sendingProblem = findSendingProblem(options);
  return {
    ...(sendingProblem === undefined ? {} : { sendingProblem }),
    endpoint: options.endpoint,
    headers,
    timeoutMs: options.timeoutMs,
    requestsInFlight,
    compression: options.compression,
    ...(chooseProxy(options) === undefined
      ? {}
      : { proxySource: nameProxySource(options.endpoint, options.sources) }),
    ...selectDefined(options, [
      "apiKey",
      "workspaceId",
      "httpProxy",
      "httpsProxy",
      "noProxy",
      "ca",
      "cert",
      "key",
      "socketPath",
    ]),
  };
}

/** Returns the program's environment without `NODE_OPTIONS`: modules that it preloads would also run in the workers. */
export function createWorkerEnvironment(env: Environment): Readonly<Record<string, string>> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[0] !== "NODE_OPTIONS" && entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}

function selectDefined<Name extends keyof PlainOptions>(
  options: PlainOptions,
  names: readonly Name[],
): { readonly [N in Name]?: NonNullable<PlainOptions[N]> } {
  const selected: { [N in Name]?: NonNullable<PlainOptions[N]> } = {};
  for (const name of names) {
    const value = options[name];
    if (value !== undefined && value !== null) {
      selected[name] = value;
    }
  }
  return selected;
}
