import { OptionError } from "../errors.ts";
import { createFault, readOptionFromEnvironment, isTracingOff } from "./environment.ts";
import type { Environment, EnvironmentFault } from "./environment.ts";
import { describeKind, findProblem, formatValue, isObjectOfMembers } from "./option-problems.ts";
import { defaultEndpoint } from "./option-variables.ts";
import { optionTable } from "./option-table.ts";
import type { Logger } from "../stats.ts";
import type { OptionRow } from "./option-row.ts";
import type { PlainOptions } from "./option-table.ts";
import { checkOtlp, findHeader, findProjectHeader } from "./otlp-options.ts";
import type { OtlpOptions, ResolvedOtlp } from "./otlp-options.ts";
import { chooseProxy, parseProxy } from "./proxy.ts";

/** The effective options, and the environment variables that are invalid. */
export interface ResolvedOptions extends PlainOptions {
  readonly environmentFaults: readonly EnvironmentFault[];
  /**
   * Source of each value that is not the default, by option: the name of an environment variable, or `option` if the
   * caller passed the value, or `otlp` if the option `otlp` determines it.
   */
  readonly sources: ReadonlyMap<string, string>;
  /** Where runs are sent instead of to a Millrace server; `endpoint` and `apiKey` are then those of this backend. */
  readonly otlp?: ResolvedOtlp;
}

/** The options that a caller may pass. */
export type ExplicitOptions = {
  readonly [Name in keyof PlainOptions]?: PlainOptions[Name] | undefined;
} & { readonly otlp?: OtlpOptions | undefined };

/**
 * Computes the effective options: explicit values, else environment variables, else defaults. An
 * invalid variable is recorded as a fault, and the default is used. If the default would leak a
 * payload or use the wrong server, payloads are withheld, or nothing is sent
 * ({@link findSendingProblem}).
 *
 * @throws {@link OptionError} if an explicit value is invalid. The message names the option, its
 * allowed values, and the value unless it is a secret.
 */
export function resolveOptions(
  explicitOptions: ExplicitOptions,
  env: Environment,
): ResolvedOptions {
  const environmentFaults: EnvironmentFault[] = [];
  const resolved: Record<string, unknown> = {};
  const sources = new Map<string, string>();
  const otlp = checkOtlp(explicitOptions);
  const otlpValues = otlp === undefined ? new Map<string, unknown>() : toServerOptions(otlp);
  for (const [name, row] of Object.entries(optionTable)) {
    const value: unknown = Reflect.get(explicitOptions, name);
    if (otlpValues.has(name)) {
      resolved[name] = otlpValues.get(name);
      sources.set(name, "otlp");
    } else if (value === undefined) {
      resolved[name] = readOptionFromEnvironment({
        name,
        row,
        env,
        faults: environmentFaults,
        sources,
      });
    } else {
      assertValid({ name, row, value });
      resolved[name] = value;
    }
  }
  const headerProject = otlp === undefined ? undefined : findProjectHeader(otlp.headers);
  if (headerProject !== undefined && isDefault("projectName", explicitOptions, sources)) {
    // A receiver prefers the project that a run or span names to the project in the request's header. Every run names
    // one, so it must be the project of the header.
    resolved["projectName"] = headerProject;
    sources.set("projectName", "otlp");
  }
  const reportProblem: ReportProblem = (name, problem) => {
    const variable = sources.get(name);
    if (variable === undefined) {
      throw new OptionError(`Option ${name} ${problem}`);
    }
    const row = optionTable[name];
    environmentFaults.push(createFault({ name, row, variable }, `${variable} ${problem}.`));
    resolved[name] = row.fallback;
  };
  checkProxy(resolved as unknown as PlainOptions, reportProblem);
  checkFolder(resolved as unknown as PlainOptions, reportProblem);
  if (isTracingOff(env)) {
    resolved["enabled"] = false;
  }
  const options = resolved as unknown as PlainOptions;
  for (const name of Object.keys(optionTable)) {
    if (Reflect.get(explicitOptions, name) !== undefined) {
      sources.set(name, "option");
    }
  }
  const withheldPayloads = environmentFaults.some(({ option }) => option === "redact")
    ? { hideInputs: true, hideOutputs: true, hideMetadata: true }
    : {};
  const endpoint = options.endpoint.replace(/\/+$/, "");
  return {
    ...options,
    ...withheldPayloads,
    endpoint,
    environmentFaults,
    sources,
    ...(otlp === undefined ? {} : { otlp }),
  };
}

/** Whether neither the caller nor a variable set the option. */
const isDefault = (
  name: keyof PlainOptions,
  explicitOptions: ExplicitOptions,
  sources: ReadonlyMap<string, string>,
): boolean => explicitOptions[name] === undefined && !sources.has(name);

/**
 * Returns the values of the options that concern a server if runs are sent to another backend. Environment variables
 * and defaults do not apply to these options: a key for a Millrace server must not be sent to another backend.
 */
const toServerOptions = ({ url, headers }: ResolvedOtlp): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ["endpoint", url],
    ["apiKey", findHeader(headers, "x-api-key")],
    ["workspaceId", undefined],
    ["contentDeduplication", "inline"],
    ["reportStats", false],
  ]);

/**
 * Returns why nothing may be sent: an environment variable that determines the server, the proxy or the credentials is
 * invalid. Returns `undefined` if sending is allowed.
 */
export const findSendingProblem = ({
  environmentFaults,
}: Pick<ResolvedOptions, "environmentFaults">): string | undefined =>
  environmentFaults.find(({ effect }) => effect === "sendNothing")?.message;

/**
 * Returns why calls of resources, such as `client.datasets`, may not be sent; `undefined` if they may. With `otlp`
 * there is no server that could respond to them.
 */
export const findCallProblem = (
  options: Pick<ResolvedOptions, "environmentFaults" | "otlp">,
): string | undefined =>
  options.otlp === undefined
    ? findSendingProblem(options)
    : "This client has the option otlp, which only sends runs, so there is no Millrace server to call; create a client without otlp for calls";

/** Whether all text must be masked, because the environment variable with the redaction rules is invalid. */
export const mustMaskEverything = ({
  environmentFaults,
}: Pick<ResolvedOptions, "environmentFaults">): boolean =>
  environmentFaults.some(({ option }) => option === "redact");

/** An option with the value that a caller passed. */
interface CandidateValue {
  readonly name: string;
  readonly row: OptionRow;
  readonly value: unknown;
}

/** @throws {@link OptionError} if the value is invalid. */
function assertValid({ name, row, value }: CandidateValue): void {
  const problem = findProblem(row, value);
  if (problem !== undefined) {
    const isHidden = row.isSecret === true || problem.isHidden === true;
    const shown = isHidden ? "" : `, not ${formatValue(value)}`;
    throw new OptionError(`Option ${name} must be ${problem.allowed}${shown}`);
  }
}

/** Checks a value of an option. Returns what is allowed, or `undefined` if the value is valid. */
export const findOptionProblem = (name: keyof PlainOptions, value: unknown): string | undefined =>
  findProblem(optionTable[name], value)?.allowed;

/**
 * Reports that the value of an option is invalid. Throws for an explicit value; for a value from the environment,
 * records the problem as a fault and restores the default.
 */
type ReportProblem = (name: keyof PlainOptions, problem: string) => void;

/** Reports options that store records on disk although no folder is set. */
function checkFolder(
  { overflow, durability, spoolDir }: PlainOptions,
  reportProblem: ReportProblem,
): void {
  if (durability === "spool-first" && spoolDir === undefined) {
    reportProblem("durability", 'can be "spool-first" only with spoolDir (MILLRACE_SPOOL_DIR)');
  }
  if (overflow === "spool" && spoolDir === undefined) {
    reportProblem("overflow", 'can be "spool" only with spoolDir (MILLRACE_SPOOL_DIR)');
  }
}

/**
 * Checks only the proxy that would be used: the variables of other proxies may be meant for other
 * programs.
 */
function checkProxy(options: PlainOptions, reportProblem: ReportProblem): void {
  const address = chooseProxy(options);
  if (address !== undefined && parseProxy(address) === undefined) {
    const name = new URL(options.endpoint).protocol === "https:" ? "httpsProxy" : "httpProxy";
    reportProblem(
      name,
      "must be the address of a proxy, such as http://host:3128 (its value may hold a password and is not shown)",
    );
  }
}

/**
 * Checks that the options of a client are an object.
 *
 * @throws {@link OptionError} if they are anything else. The message does not show the value, because it may be a key.
 */
export function assertOptionsObject(options: unknown): void {
  if (!isObjectOfMembers(options)) {
    throw new OptionError(
      `new Client: options must be an object such as { endpoint: "${defaultEndpoint}" }, not ${describeKind(options)}`,
    );
  }
}

/**
 * Checks the option `logger`.
 *
 * @throws {@link OptionError} if `logger` has no function `warn`.
 */
export function checkLogger(logger: Logger): Logger {
  const value: unknown = logger;
  if (
    typeof value === "object" &&
    value !== null &&
    "warn" in value &&
    typeof value.warn === "function"
  ) {
    return logger;
  }
  throw new OptionError("Option logger must be an object with a function warn(message)");
}
