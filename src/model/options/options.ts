import { OptionError } from "../errors.ts";
import { faultOf, fromEnvironment, isTracingOff } from "./environment.ts";
import type { Environment, EnvironmentFault } from "./environment.ts";
import { problemOf, shownValue } from "./option-problems.ts";
import { optionTable } from "./option-table.ts";
import type { Logger } from "../stats.ts";
import type { OptionRow } from "./option-row.ts";
import type { PlainOptions } from "./option-table.ts";
import { chooseProxy, parseProxy } from "./proxy.ts";

/** The options as they count, and what was wrong with the environment. */
export interface ResolvedOptions extends PlainOptions {
  readonly faults: readonly EnvironmentFault[];
  /** Where values come from that are not the default, by option: a variable's name, or `option`. */
  readonly sources: ReadonlyMap<string, string>;
}

/** What a caller may give. */
export type GivenOptions = {
  readonly [Name in keyof PlainOptions]?: PlainOptions[Name] | undefined;
};

/**
 * The options as they count: what was given, else the environment, else the default. A bad variable is a
 * fault, and the default holds; where that would leak a payload or reach the wrong server, payloads are
 * withheld, or nothing is sent ({@link sendsNothing}).
 *
 * @throws {@link OptionError} a given value is not what the option takes; names the option, its range
 * and the value, the value of a secret excepted.
 */
export function resolveOptions(given: GivenOptions, env: Environment): ResolvedOptions {
  const faults: EnvironmentFault[] = [];
  const resolved: Record<string, unknown> = {};
  const sources = new Map<string, string>();
  for (const [name, row] of Object.entries(optionTable)) {
    const value: unknown = Reflect.get(given, name);
    if (value === undefined) {
      resolved[name] = fromEnvironment({ name, row, env, faults, sources });
    } else {
      assertGiven({ name, row, value });
      resolved[name] = value;
    }
  }
  const refuse: Refusal = (name, problem) => {
    const variable = sources.get(name);
    if (variable === undefined) {
      throw new OptionError(`Option ${name} ${problem}`);
    }
    const row = optionTable[name];
    faults.push(faultOf({ name, row, variable }, `${variable} ${problem}.`));
    resolved[name] = row.fallback;
  };
  checkProxy(resolved as unknown as PlainOptions, refuse);
  checkFolder(resolved as unknown as PlainOptions, refuse);
  if (isTracingOff(env)) {
    resolved["enabled"] = false;
  }
  const options = resolved as unknown as PlainOptions;
  for (const name of Object.keys(optionTable)) {
    if (Reflect.get(given, name) !== undefined) {
      sources.set(name, "option");
    }
  }
  const withheld = faults.some(({ option }) => option === "redact")
    ? { hideInputs: true, hideOutputs: true, hideMetadata: true }
    : {};
  const endpoint = options.endpoint.replace(/\/+$/, "");
  return { ...options, ...withheld, endpoint, faults, sources };
}

/** Why nothing may be sent: the variable of the endpoint or of the key has a value that can't be used. */
export const sendsNothing = ({ faults }: Pick<ResolvedOptions, "faults">): string | undefined =>
  faults.find(({ effect }) => effect === "sendNothing")?.message;

/** Whether the rules that mask can't be known, so that all that they would search is masked. */
export const masksEverything = ({ faults }: Pick<ResolvedOptions, "faults">): boolean =>
  faults.some(({ option }) => option === "redact");

interface Candidate {
  readonly name: string;
  readonly row: OptionRow;
  readonly value: unknown;
}

/** @throws {@link OptionError} the value is not what the option takes. */
function assertGiven({ name, row, value }: Candidate): void {
  const problem = problemOf(row, value);
  if (problem !== undefined) {
    const isHidden = row.isSecret === true || problem.isHidden === true;
    const shown = isHidden ? "" : `, not ${shownValue(value)}`;
    throw new OptionError(`Option ${name} must be ${problem.allowed}${shown}`);
  }
}

/** What a value must be to be this option's; `undefined` where it is. */
export const problemWith = (name: keyof PlainOptions, value: unknown): string | undefined =>
  problemOf(optionTable[name], value)?.allowed;

/** Throws for a value that was given; for one of the environment, notes the fault and takes the default. */
type Refusal = (name: keyof PlainOptions, problem: string) => void;

/** Something is to be kept on disk, and no folder is named. */
function checkFolder({ overflow, durability, spoolDir }: PlainOptions, refuse: Refusal): void {
  if (durability === "spool-first" && spoolDir === undefined) {
    refuse("durability", 'can be "spool-first" only with spoolDir (MILLRACE_SPOOL_DIR)');
  }
  if (overflow === "spool" && spoolDir === undefined) {
    refuse("overflow", 'can be "spool" only with spoolDir (MILLRACE_SPOOL_DIR)');
  }
}

/** Only the proxy that is on the way: a variable of the environment may be for other programs. */
function checkProxy(options: PlainOptions, refuse: Refusal): void {
  const address = chooseProxy(options);
  if (address !== undefined && parseProxy(address) === undefined) {
    const name = address === options.httpsProxy ? "httpsProxy" : "httpProxy";
    refuse(
      name,
      "must be the address of a proxy, such as http://host:3128 (its value may hold a password and is not shown)",
    );
  }
}

/**
 * Headers to send with every request.
 *
 * @throws {@link OptionError} a name is no header's, or a value has a character that none can have.
 */
export function checkHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (headers === undefined) {
    return {};
  }
  const entries = typeof headers === "object" && headers !== null ? Object.entries(headers) : [];
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) {
    throw new OptionError("Option headers must be an object of texts");
  }
  const checkedEntries = entries.map(([name, value]: [string, unknown]): [string, string] => {
    if (!headerName.test(name)) {
      throw new OptionError(`Option headers: ${shownValue(name)} is not the name of a header`);
    }
    if (typeof value !== "string" || !headerValue.test(value)) {
      throw new OptionError(
        `Option headers: the value of ${name} must be a text without line ends and controls (it is not shown)`,
      );
    }
    return [name, value];
  });
  return Object.fromEntries(checkedEntries);
}

/** RFC 9110, sections 5.1 and 5.5. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** @throws {@link OptionError} it has no `warn`. */
export function checkLogger(logger: Logger): Logger {
  const given: unknown = logger;
  if (
    typeof given === "object" &&
    given !== null &&
    "warn" in given &&
    typeof given.warn === "function"
  ) {
    return logger;
  }
  throw new OptionError("Option logger must be an object with a function warn(message)");
}
