import { defaultEndpoint, variablesOf } from "millrace/model";
import type { ServerOptionName } from "millrace/model";
import type { ServerFlags } from "./server-flags.ts";

/** A setting and its source: a flag, an environment variable, or the default. */
export interface Setting {
  readonly value: string;
  readonly source: string;
}

/** The settings that determine how a client reaches its server. */
export interface Settings {
  readonly endpoint: Setting;
  /** Whether runs are recorded; absent if no variable sets it. */
  readonly enabled?: Setting;
  readonly apiKey?: Setting;
  readonly spoolDir?: Setting;
  readonly httpProxy?: Setting;
  readonly httpsProxy?: Setting;
  readonly noProxy?: Setting;
  readonly socketPath?: Setting;
  readonly ca?: Setting;
  readonly cert?: Setting;
  readonly key?: Setting;
}

const toFlagSetting = (value: string | undefined, source: string): Setting | undefined =>
  value === undefined || value === "" ? undefined : { value, source };

/**
 * Reads flags and environment variables with the same precedence as a client: a flag takes precedence over variables,
 * and of several variables, the first one that is set is used.
 */
export function readSettings(
  flags: ServerFlags & { readonly spoolDir?: string | undefined },
  env: NodeJS.ProcessEnv,
): Settings {
  const readVariable = (name: ServerOptionName): Setting | undefined => {
    const variableName = variablesOf(name).find((key) => (env[key] ?? "").trim() !== "");
    return variableName === undefined
      ? undefined
      : { value: (env[variableName] ?? "").trim(), source: variableName };
  };
  const optionalSettings = {
    enabled: readVariable("enabled"),
    apiKey: toFlagSetting(flags.apiKey, "--api-key") ?? readVariable("apiKey"),
    spoolDir: toFlagSetting(flags.spoolDir, "--spool-dir") ?? readVariable("spoolDir"),
    httpProxy: readVariable("httpProxy"),
    httpsProxy: readVariable("httpsProxy"),
    noProxy: readVariable("noProxy"),
    socketPath: readVariable("socketPath"),
    ca: readVariable("ca"),
    cert: readVariable("cert"),
    key: readVariable("key"),
  };
  const presentEntries = Object.entries(optionalSettings).filter(
    ([, setting]) => setting !== undefined,
  );
  return {
    endpoint: toFlagSetting(flags.endpoint, "--endpoint") ??
      readVariable("endpoint") ?? { value: defaultEndpoint, source: "the default" },
    ...(Object.fromEntries(presentEntries) as Omit<Settings, "endpoint">),
  };
}

export interface DoctorFlags extends ServerFlags {
  readonly spoolDir?: string;
  readonly project: string;
  readonly json?: true;
}
