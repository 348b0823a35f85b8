import { findProblem, formatValue } from "./option-problems.ts";
import type { OptionProblem } from "./option-problems.ts";
import { optionTable } from "./option-table.ts";
import type { OptionRow } from "./option-row.ts";
import type { PlainOptions } from "./option-table.ts";
import { parseRuleNames } from "./redaction.ts";

/** Environment variables, of the process or of a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An environment variable with an invalid value. */
export interface EnvironmentFault {
  readonly option: keyof PlainOptions;
  readonly variable: string;
  /** What the client does because the variable is invalid: use the default, withhold payloads, or send nothing. */
  readonly effect: "default" | "withhold" | "sendNothing";
  /**
   * A message with the variable, its value (unless secret), the allowed values, and what the client
   * does instead.
   */
  readonly message: string;
}

/**
 * Whether the environment enables tracing for a program that creates no client: by a tracing variable, or by the
 * address of a server. An API key alone does not enable tracing.
 */
export function isTracingConfigured(env: Environment): boolean {
  const tracing = readTracingVariable(env);
  return tracing === undefined ? findVariable(optionTable.endpoint, env) !== undefined : tracing;
}

/** Whether a tracing variable is false. Such a variable takes precedence over the option `enabled`. */
export const isTracingOff = (env: Environment): boolean => readTracingVariable(env) === false;

/**
 * The value of the first tracing variable that is set; `undefined` if none is set or its value is
 * invalid.
 */
function readTracingVariable(env: Environment): boolean | undefined {
  const row = optionTable.enabled;
  const variable = findVariable(row, env);
  const value = variable === undefined ? undefined : parseText(row, readVariable(variable, env));
  return typeof value === "boolean" ? value : undefined;
}

/** Arguments of {@link readOptionFromEnvironment}. */
export interface EnvironmentLookup {
  readonly name: string;
  readonly row: OptionRow;
  readonly env: Environment;
  /** The list to which a fault is added if the variable is invalid. */
  readonly faults: EnvironmentFault[];
  /**
   * The environment variable that each option's value comes from, by option. Reading an option adds its variable to
   * this map.
   */
  readonly sources: Map<string, string>;
}

/**
 * Reads the value of an option from the environment. Returns the default if no variable is set. If the
 * value is invalid, a fault is added to `faults`, and the result is the default, or `true` for an
 * option that hides payloads.
 */
export function readOptionFromEnvironment({
  name,
  row,
  env,
  faults,
  sources,
}: EnvironmentLookup): unknown {
  const variable = findVariable(row, env);
  if (variable === undefined) {
    return row.fallback;
  }
  const text = readVariable(variable, env);
  const value = parseText(row, text);
  const problem = findProblem(row, value) ?? (isEmptyList(value) ? emptyRulesProblem : undefined);
  if (problem === undefined) {
    sources.set(name, variable);
    return value;
  }
  const isHidden = row.isSecret === true || problem.isHidden === true;
  const shown = isHidden ? "has an invalid value" : `is ${formatValue(text)}`;
  const allowed = allowedTexts[row.kind] ?? problem.allowed;
  faults.push(createFault({ name, row, variable }, `${variable} ${shown}; allowed: ${allowed}.`));
  return row.failClosed === "withhold" && row.kind === "hide" ? true : row.fallback;
}

/** Returns the name of the first variable that is set. An empty or blank variable counts as unset. */
const findVariable = (row: OptionRow, env: Environment): string | undefined =>
  row.env.find((key) => readVariable(key, env) !== "");

const readVariable = (variable: string, env: Environment): string => (env[variable] ?? "").trim();

/**
 * The texts that an environment variable may contain, for kinds of options that also accept values other than texts.
 */
const allowedTexts: { readonly [Kind in OptionRow["kind"]]?: string } = {
  switch: "true, false, yes, no, on, off, 1 or 0",
  hide: "true, false, yes, no, on, off, 1 or 0",
  rules: "secrets, emails, cards, separated by commas",
};

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const emptyRulesProblem: OptionProblem = { allowed: "a rule" };

/** The option and the environment variable that a fault concerns. */
export interface FaultSource {
  readonly name: string;
  readonly row: OptionRow;
  readonly variable: string;
}

/**
 * Creates the fault of an invalid variable, with a message that says what the client does instead.
 */
export function createFault(
  { name, row, variable }: FaultSource,
  problem: string,
): EnvironmentFault {
  const option = name as keyof PlainOptions;
  const effect = row.failClosed ?? "default";
  return { option, variable, effect, message: `${problem} ${describeEffect(option, row)}` };
}

function describeEffect(option: keyof PlainOptions, row: OptionRow): string {
  if (row.failClosed === "sendNothing") {
    return "Nothing is sent until it is corrected.";
  }
  if (row.failClosed === "withhold") {
    const subject = withheldSubjects[option] ?? "Everything that the rules would search is";
    return `${subject} withheld until it is corrected.`;
  }
  // For `enabled` the message does not name the default, because this option alone does not decide whether a client
  // records.
  return row.fallback === undefined || option === "enabled"
    ? "It is ignored."
    : `The default ${String(row.fallback)} is used.`;
}

const withheldSubjects: { readonly [Name in keyof PlainOptions]?: string } = {
  hideInputs: "Inputs are",
  hideOutputs: "Outputs are",
  hideMetadata: "Metadata is",
};

const switchValues: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  "1": true,
  false: false,
  no: false,
  off: false,
  "0": false,
};

/**
 * Converts a variable's text to the type of value that the option has. Returns the text unchanged if it can't be
 * converted.
 */
function parseText(row: OptionRow, text: string): unknown {
  const lower = text.toLowerCase();
  switch (row.kind) {
    case "number":
      return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
    case "switch":
    case "hide":
      return Object.hasOwn(switchValues, lower) ? switchValues[lower] : text;
    case "rules":
      return parseRuleNames(text);
    case "choice":
      return row.choices.includes(lower) ? lower : text;
    case "text":
      return text;
  }
}
