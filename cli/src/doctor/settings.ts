import { defaultEndpoint, variablesOf } from "millrace/model";
import type { ServerOptionName } from "millrace/model";
import type { ServerFlags } from "../local-server/server-flags.ts";

/** A setting and its source: a flag, an environment variable, or the default. */
export interface Setting {
  readonly value: string;
  readonly from: string;
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

const fromFlag = (value: string | undefined, from: string): Setting | undefined =>
  value === undefined || value === "" ? undefined : { value, from };

/**
 * Reads flags and environment variables with a client's precedence: a flag before a variable, and of several
 * variables the first that is set.
 */
export function readSettings(flags: DoctorFlags, env: NodeJS.ProcessEnv): Settings {
  const fromVariable = (name: ServerOptionName): Setting | undefined => {
    const found = variablesOf(name).find((key) => (env[key] ?? "").trim() !== "");
    return found === undefined ? undefined : { value: (env[found] ?? "").trim(), from: found };
  };
  const optional = {
    enabled: fromVariable("enabled"),
    apiKey: fromFlag(flags.apiKey, "--api-key") ?? fromVariable("apiKey"),
    spoolDir: fromFlag(flags.spoolDir, "--spool-dir") ?? fromVariable("spoolDir"),
    httpProxy: fromVariable("httpProxy"),
    httpsProxy: fromVariable("httpsProxy"),
    noProxy: fromVariable("noProxy"),
    socketPath: fromVariable("socketPath"),
    ca: fromVariable("ca"),
    cert: fromVariable("cert"),
    key: fromVariable("key"),
  };
  const present = Object.entries(optional).filter(([, setting]) => setting !== undefined);
  return {
    endpoint: fromFlag(flags.endpoint, "--endpoint") ??
      fromVariable("endpoint") ?? { value: defaultEndpoint, from: "the default" },
    ...(Object.fromEntries(present) as Omit<Settings, "endpoint">),
  };
}

export interface DoctorFlags extends ServerFlags {
  readonly spoolDir?: string;
  readonly project: string;
  readonly json?: true;
}
