import { problemOf, shownValue } from "./option-problems.ts";
import type { OptionProblem } from "./option-problems.ts";
import { optionTable } from "./option-table.ts";
import type { OptionRow } from "./option-row.ts";
import type { PlainOptions } from "./option-table.ts";
import { parseRuleNames } from "./redaction.ts";

/** Variables of the process, or of a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable whose value its option can't have. */
export interface EnvironmentFault {
  readonly option: keyof PlainOptions;
  readonly variable: string;
  /** What the client does instead. */
  readonly effect: "default" | "withhold" | "sendNothing";
  /** Variable, value (of no secret), what is allowed and what the client does instead. */
  readonly message: string;
}

/**
 * Whether the environment enables tracing for a program without a client of its own: by a tracing variable, or
 * by the address of a server. A key alone does not.
 */
export function isTracingConfigured(env: Environment): boolean {
  const tracing = tracingVariable(env);
  return tracing === undefined ? variableOf(optionTable.endpoint, env) !== undefined : tracing;
}

/** Whether a tracing variable is false. It takes precedence over the option `enabled`. */
export const isTracingOff = (env: Environment): boolean => tracingVariable(env) === false;

/** The value of the first tracing variable that is set; `undefined` where none is set or it is empty. */
function tracingVariable(env: Environment): boolean | undefined {
  const row = optionTable.enabled;
  const variable = variableOf(row, env);
  const value = variable === undefined ? undefined : parseText(row, textOf(variable, env));
  return typeof value === "boolean" ? value : undefined;
}

/** What is looked up of the environment, and where what was found is noted. */
export interface Lookup {
  readonly name: string;
  readonly row: OptionRow;
  readonly env: Environment;
  readonly faults: EnvironmentFault[];
  /** By option: the variable that its value comes from. */
  readonly sources: Map<string, string>;
}

/** The value of a variable, else the default; a variable that can't be read is noted as a fault. */
export function fromEnvironment({ name, row, env, faults, sources }: Lookup): unknown {
  const variable = variableOf(row, env);
  if (variable === undefined) {
    return row.fallback;
  }
  const text = textOf(variable, env);
  const value = parseText(row, text);
  const problem = problemOf(row, value) ?? (isEmptyList(value) ? emptyRules : undefined);
  if (problem === undefined) {
    sources.set(name, variable);
    return value;
  }
  const isHidden = row.isSecret === true || problem.isHidden === true;
  const shown = isHidden ? "has a value that its option can't have" : `is ${shownValue(text)}`;
  const allowed = allowedTexts[row.kind] ?? problem.allowed;
  faults.push(faultOf({ name, row, variable }, `${variable} ${shown}; allowed: ${allowed}.`));
  return row.failClosed === "withhold" && row.kind === "hide" ? true : row.fallback;
}

/** The variable that counts. Empty is unset, as in a shell. */
const variableOf = (row: OptionRow, env: Environment): string | undefined =>
  row.env.find((key) => textOf(key, env) !== "");

const textOf = (variable: string, env: Environment): string => (env[variable] ?? "").trim();

/** What a variable can say, where an option takes more. */
const allowedTexts: { readonly [Kind in OptionRow["kind"]]?: string } = {
  switch: "true, false, yes, no, on, off, 1 or 0",
  hide: "true, false, yes, no, on, off, 1 or 0",
  rules: "secrets, emails, cards, separated by commas",
};

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const emptyRules: OptionProblem = { allowed: "a rule" };

export interface FaultPlace {
  readonly name: string;
  readonly row: OptionRow;
  readonly variable: string;
}

/** What a bad variable leads to, in one sentence. */
export function faultOf({ name, row, variable }: FaultPlace, problem: string): EnvironmentFault {
  const option = name as keyof PlainOptions;
  const effect = row.failClosed ?? "default";
  return { option, variable, effect, message: `${problem} ${effectText(option, row)}` };
}

function effectText(option: keyof PlainOptions, row: OptionRow): string {
  if (row.failClosed === "sendNothing") {
    return "Nothing is sent until it is corrected.";
  }
  if (row.failClosed === "withhold") {
    const what = withheldTexts[option] ?? "All that the rules would search is";
    return `${what} withheld until it is corrected.`;
  }
  // Whether a client records depends on more than this option's default.
  return row.fallback === undefined || option === "enabled"
    ? "It is ignored."
    : `The default, ${String(row.fallback)}, holds.`;
}

const withheldTexts: { readonly [Name in keyof PlainOptions]?: string } = {
  hideInputs: "Inputs are",
  hideOutputs: "Outputs are",
  hideMetadata: "Metadata is",
};

const switches: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  "1": true,
  false: false,
  no: false,
  off: false,
  "0": false,
};

/** A variable's text as the option's kind of value; stays text where it is not one. */
function parseText(row: OptionRow, text: string): unknown {
  const lower = text.toLowerCase();
  switch (row.kind) {
    case "number":
      return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
    case "switch":
    case "hide":
      return Object.hasOwn(switches, lower) ? switches[lower] : text;
    case "rules":
      return parseRuleNames(text);
    case "choice":
      return row.choices.includes(lower) ? lower : text;
    case "text":
      return text;
  }
}
