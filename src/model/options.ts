import { OptionError } from "./errors.ts";
import { optionTable } from "./option-table.ts";
import type { Logger } from "./stats.ts";
import type { OptionRow } from "./option-row.ts";
import type { PlainOptions } from "./option-table.ts";
import { chooseProxy, parseProxy } from "./proxy.ts";
import { parseRuleNames, problemWithRules } from "./redaction.ts";

/** Variables of the process, or of a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The options as they count: what was given, else the environment, else the default.
 *
 * @throws {@link OptionError} a value that is not what the option takes; names the option, its range
 * and the value, the value of a key excepted.
 */
export function resolveOptions(
  given: { readonly [Name in keyof PlainOptions]?: PlainOptions[Name] | undefined },
  env: Environment,
): PlainOptions {
  const resolved: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(optionTable)) {
    const value: unknown = Reflect.get(given, name);
    resolved[name] =
      value === undefined ? fromEnvironment(name, row, env) : checked({ name, row, value });
  }
  const options = resolved as unknown as PlainOptions;
  checkEndpoint(options.endpoint);
  checkToken("apiKey", options.apiKey);
  checkToken("workspaceId", options.workspaceId);
  checkProxy(options);
  checkFolder(options);
  return { ...options, endpoint: options.endpoint.replace(/\/+$/, "") };
}

function fromEnvironment(name: string, row: OptionRow, env: Environment): unknown {
  // Empty counts as unset, as in a shell.
  const variable = row.env.find((key) => (env[key] ?? "").trim() !== "");
  if (variable === undefined) {
    return row.fallback;
  }
  const text = (env[variable] ?? "").trim();
  return checked({ name, row, value: parseText(row, text), variable });
}

/** A variable's text as the option's kind of value; stays text where it is not one. */
function parseText(row: OptionRow, text: string): unknown {
  if (row.kind === "number") {
    return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
  }
  if (row.kind === "switch" || row.kind === "hide") {
    const switches: Readonly<Record<string, boolean>> = {
      true: true,
      "1": true,
      false: false,
      "0": false,
    };
    return switches[text.toLowerCase()] ?? text;
  }
  return row.kind === "rules" ? parseRuleNames(text) : text;
}

interface Candidate {
  readonly name: string;
  readonly row: OptionRow;
  readonly value: unknown;
  /** The variable that it comes from. */
  readonly variable?: string;
}

function checked({ name, row, value, variable }: Candidate): unknown {
  const problem = problemOf(row, value);
  if (problem !== undefined) {
    const shown = name === "apiKey" || name === "key" ? "" : `, not ${show(value)}`;
    const label = variable === undefined ? name : `${name} (${variable})`;
    throw new OptionError(`Option ${label} must be ${problem}${shown}`);
  }
  return value;
}

/** What a value must be to be this option's; `undefined` where it is. */
export const problemWith = (name: keyof PlainOptions, value: unknown): string | undefined =>
  problemOf(optionTable[name], value);

function problemOf(row: OptionRow, value: unknown): string | undefined {
  switch (row.kind) {
    case "number": {
      const inRange = typeof value === "number" && value >= row.min && value <= row.max;
      const allowed = row.fraction === true || Number.isInteger(value);
      const kind = row.fraction === true ? "a number" : "a whole number";
      return inRange && allowed ? undefined : `${kind} from ${row.min} to ${row.max}`;
    }
    case "text":
      return typeof value === "string" && value.trim() !== "" ? undefined : "a text, not empty";
    case "switch":
      return typeof value === "boolean" ? undefined : "true or false";
    case "hide":
      return typeof value === "boolean" || typeof value === "function"
        ? undefined
        : "true, false or a function";
    case "rules":
      return problemWithRules(value);
    case "choice":
      return row.choices.some((choice) => choice === value)
        ? undefined
        : `one of ${row.choices.join(", ")}`;
  }
}

const show = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : kindOf(value);

const kindOf = (value: unknown): string =>
  typeof value === "number" || typeof value === "boolean" || value === null
    ? String(value)
    : `a value of type ${typeof value}`;

function checkEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new OptionError(
      `Option endpoint must be an address that begins with http:// or https://, not ${show(endpoint)}`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new OptionError(
      "Option endpoint must have no user, password, query or fragment; pass the key as apiKey",
    );
  }
}

/** It goes into a header: what can't stand there is refused here, where the message can say so. */
function checkToken(name: string, token: string | undefined): void {
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new OptionError(
      `Option ${name} must be printable ASCII without spaces or line ends (its value is not shown)`,
    );
  }
}

/** @throws {@link OptionError} something is to be kept on disk, and no folder is named. */
function checkFolder({ overflow, durability, spoolDir }: PlainOptions): void {
  if (durability === "spool-first" && spoolDir === undefined) {
    throw new OptionError('Option durability can be "spool-first" only with spoolDir');
  }
  if (overflow === "spool" && spoolDir === undefined) {
    throw new OptionError('Option overflow can be "spool" only with spoolDir');
  }
}

/** Only the proxy that is on the way: a variable of the environment may be for other programs. */
function checkProxy(options: PlainOptions): void {
  const address = chooseProxy(options);
  if (address !== undefined && parseProxy(address) === undefined) {
    const name = address === options.httpsProxy ? "httpsProxy" : "httpProxy";
    throw new OptionError(
      `Option ${name} must be the address of a proxy, such as http://host:3128 (its value may hold a password and is not shown)`,
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
      throw new OptionError(`Option headers: ${show(name)} is not the name of a header`);
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
