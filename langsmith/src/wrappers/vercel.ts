import { millraceTelemetry, millraceTracer } from "millrace/ai-sdk";
import type { Any, AnyFunction } from "../any.ts";
import type { Client } from "../client/client.ts";
import { isEnvTracingEnabled, warnOnce } from "../environment.ts";
import type { KVMap } from "../schemas.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";
import { chooseClient } from "./choose-client.ts";

/** Options of {@link LangSmithTelemetry}. */
export interface LangSmithTelemetryConfig {
  name?: string;
  runType?: string;
  metadata?: KVMap;
  tags?: string[];
  client?: Client;
  projectName?: string;
  processInputs?: (inputs: KVMap) => KVMap;
  processOutputs?: (outputs: KVMap) => KVMap;
  processChildLLMRunInputs?: (inputs: KVMap) => KVMap;
  processChildLLMRunOutputs?: (outputs: KVMap) => KVMap;
  traceResponseMetadata?: boolean;
  traceRawHttp?: boolean;
  extra?: KVMap;
  tracingEnabled?: boolean;
}

/** Options of {@link wrapAISDK}. */
export type WrapAISDKConfig = Partial<Omit<RunTreeConfig, "inputs" | "outputs">> &
  Pick<
    LangSmithTelemetryConfig,
    | "processInputs"
    | "processOutputs"
    | "processChildLLMRunInputs"
    | "processChildLLMRunOutputs"
    | "traceResponseMetadata"
    | "traceRawHttp"
  >;

/** The functions of the AI SDK whose calls are recorded. */
const functionNames = [
  "generateText",
  "streamText",
  "generateObject",
  "streamObject",
  "embed",
  "embedMany",
] as const;

/**
 * Returns a copy of the AI SDK (the package `ai`, version 5, 6 or 7). `millrace/ai-sdk` records the calls of its
 * functions. Its other members are unchanged.
 */
export function wrapAISDK<T extends object>(ai: T, lsConfig: WrapAISDKConfig = {}): T {
  warnOfIgnored("wrapAISDK", lsConfig);
  const members = { ...ai } as Record<string, unknown>;
  for (const name of functionNames) {
    const original = members[name];
    if (typeof original === "function") {
      members[name] = (options: Record<string, unknown>, ...others: unknown[]): unknown =>
        (original as AnyFunction)(withTelemetry(options, lsConfig), ...others) as unknown;
    }
  }
  return members as T;
}

function withTelemetry(
  options: Record<string, unknown>,
  config: WrapAISDKConfig,
): Record<string, unknown> {
  if (!isEnvTracingEnabled(config.tracingEnabled)) {
    return options;
  }
  const settings = toSettings(config);
  const functionId = config.name === undefined ? {} : { functionId: config.name };
  return {
    ...options,
    // Versions 5 and 6 of the AI SDK read this option.
    experimental_telemetry: {
      isEnabled: true,
      tracer: millraceTracer(settings),
      ...functionId,
      ...(options["experimental_telemetry"] as object | undefined),
    },
    // Version 7 of the AI SDK reads this option.
    telemetry: {
      integrations: millraceTelemetry(settings),
      ...functionId,
      ...(options["telemetry"] as object | undefined),
    },
  };
}

/**
 * Returns an argument for `registerTelemetry` of the AI SDK 7, which then records all calls. May be called with or
 * without `new`.
 */
export function LangSmithTelemetry(config: LangSmithTelemetryConfig = {}): Any {
  warnOfIgnored("LangSmithTelemetry", config);
  return isEnvTracingEnabled(config.tracingEnabled) ? millraceTelemetry(toSettings(config)) : {};
}

/** Warns that provider options for one call are not supported, and returns only the metadata. Use {@link wrapAISDK}. */
export function createLangSmithProviderOptions(lsConfig: WrapAISDKConfig = {}): KVMap {
  warnOnce(
    "createLangSmithProviderOptions has no effect: pass name, metadata and tags to wrapAISDK, or functionId and metadata in the call's telemetry settings.",
  );
  return { metadata: { ...lsConfig.metadata } };
}

const toSettings = ({
  tags,
  metadata,
  ...choice
}: Pick<LangSmithTelemetryConfig, "client" | "tags" | "metadata" | "tracingEnabled">) => ({
  client: chooseClient(choice),
  ...(tags === undefined ? {} : { tags }),
  ...(metadata === undefined ? {} : { metadata }),
});

const supportedOptions = new Set(["name", "metadata", "tags", "client", "tracingEnabled"]);

function warnOfIgnored(name: string, config: object): void {
  for (const option of Object.keys(config)) {
    if (!supportedOptions.has(option)) {
      warnOnce(
        `The option ${option} of ${name} has no effect. Known: ${[...supportedOptions].join(", ")}.`,
      );
    }
  }
}
