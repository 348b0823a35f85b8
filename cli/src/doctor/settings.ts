import { defaultEndpoint, variablesOf } from "millrace/model";
import type { ServerOptionName } from "millrace/model";
import type { ServerFlags } from "../local-server/server-flags.ts";

/** A setting, and where it comes from: a flag, a variable, or the default. */
export interface Setting {
  readonly value: string;
  readonly from: string;
}

/** What decides how a client reaches its server. */
export interface Settings {
  readonly endpoint: Setting;
  /** Whether runs are recorded; absent where no setting decides it. */
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

const flag = (value: string | undefined, from: string): Setting | undefined =>
  value === undefined || value === "" ? undefined : { value, from };

/** Reads flags and variables as a client does: a flag before a variable, the first variable that is set. */
export function readSettings(flags: DoctorFlags, env: NodeJS.ProcessEnv): Settings {
  const variable = (name: ServerOptionName): Setting | undefined => {
    const found = variablesOf(name).find((key) => (env[key] ?? "").trim() !== "");
    return found === undefined ? undefined : { value: (env[found] ?? "").trim(), from: found };
  };
  const optional = {
    enabled: variable("enabled"),
    apiKey: flag(flags.apiKey, "--api-key") ?? variable("apiKey"),
    spoolDir: flag(flags.spoolDir, "--spool-dir") ?? variable("spoolDir"),
    httpProxy: variable("httpProxy"),
    httpsProxy: variable("httpsProxy"),
    noProxy: variable("noProxy"),
    socketPath: variable("socketPath"),
    ca: variable("ca"),
    cert: variable("cert"),
    key: variable("key"),
  };
  const given = Object.entries(optional).filter(([, setting]) => setting !== undefined);
  return {
    endpoint: flag(flags.endpoint, "--endpoint") ??
      variable("endpoint") ?? { value: defaultEndpoint, from: "the default" },
    ...(Object.fromEntries(given) as Omit<Settings, "endpoint">),
  };
}

export interface DoctorFlags extends ServerFlags {
  readonly spoolDir?: string;
  readonly project: string;
  readonly json?: true;
}
