import { createPrivateKey, X509Certificate } from "node:crypto";
import type { OptionRow, TextFormat } from "./option-row.ts";
import { findRulesProblem } from "./redaction.ts";

/** Why a value is invalid. */
export interface OptionProblem {
  /** What the value must be, such as `a whole number from 1 to 100`. */
  readonly allowed: string;
  /** Whether the value may contain a secret and must not be shown. */
  readonly isHidden?: true;
}

/** Checks the value of an option. Returns `undefined` if it is valid. */
export function findProblem(row: OptionRow, value: unknown): OptionProblem | undefined {
  switch (row.kind) {
    case "number": {
      const isInRange = typeof value === "number" && value >= row.min && value <= row.max;
      const hasAllowedFraction = row.fraction === true || Number.isInteger(value);
      const kind = row.fraction === true ? "a number" : "a whole number";
      return isInRange && hasAllowedFraction
        ? undefined
        : { allowed: `${kind} from ${row.min} to ${row.max}` };
    }
    case "text":
      return typeof value === "string" && value.trim() !== ""
        ? findFormatProblem(value, row.format)
        : { allowed: "a non-empty string" };
    case "switch":
      return typeof value === "boolean" ? undefined : { allowed: "true or false" };
    case "hide":
      return typeof value === "boolean" || typeof value === "function"
        ? undefined
        : { allowed: "true, false or a function" };
    case "rules": {
      const allowed = findRulesProblem(value);
      return allowed === undefined ? undefined : { allowed };
    }
    case "choice":
      return row.choices.some((choice) => choice === value)
        ? undefined
        : { allowed: `one of ${row.choices.join(", ")}` };
  }
}

function findFormatProblem(
  text: string,
  format: TextFormat | undefined,
): OptionProblem | undefined {
  switch (format) {
    case "address":
      return findAddressProblem(text);
    case "token":
      // The value becomes part of an HTTP header. Characters that a header must not contain are refused at this point,
      // because the error can then name the option.
      return /^[\x21-\x7e]+$/.test(text)
        ? undefined
        : {
            allowed: "printable ASCII without spaces or line breaks (its value is not shown)",
            isHidden: true,
          };
    case "certificates":
      return doesNotThrow(() => new X509Certificate(text))
        ? undefined
        : createPemProblem(text, "certificates as PEM text (-----BEGIN CERTIFICATE-----)");
    case "privateKey":
      return doesNotThrow(() => createPrivateKey(text))
        ? undefined
        : createPemProblem(
            text,
            "an unencrypted private key as PEM text (-----BEGIN PRIVATE KEY-----)",
          );
    case undefined:
      return undefined;
  }
}

function findAddressProblem(address: string): OptionProblem | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    const allowed = "a URL that begins with http:// or https://";
    return address.includes("@") ? { allowed, isHidden: true } : { allowed };
  }
  return url.username === "" && url.password === "" && url.search === "" && url.hash === ""
    ? undefined
    : {
        allowed:
          "a URL without user, password, query or fragment; pass the key as apiKey (MILLRACE_API_KEY)",
        isHidden: true,
      };
}

/** Creates the problem of a text that is not valid PEM. A text with dashes is hidden: it may be a private key. */
const createPemProblem = (text: string, expected: string): OptionProblem => {
  const allowed = `${expected}, not the path of a file`;
  return text.includes("-----") ? { allowed, isHidden: true } : { allowed };
};

function doesNotThrow(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    // OpenSSL's message is dropped, because it refers to a line of OpenSSL's source. The caller writes an error message
    // that says what is allowed.
    return false;
  }
}

/** Whether a value is an object whose members are its own properties, unlike a Map, Headers or an array. */
export const isObjectOfMembers = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(Symbol.iterator in value);

/**
 * Describes a value that was passed instead of an object of members: `null`, `a string`, `an object of the class Map`.
 * The content is left out, because it may be a key.
 */
export function describeKind(value: unknown): string {
  if (value === null || value === undefined) {
    return String(value);
  }
  if (Array.isArray(value)) {
    return "an array";
  }
  if (typeof value !== "object") {
    return `a ${typeof value}`;
  }
  // `Object.prototype.toString` names the class as `[object Map]`, also of an object without a prototype.
  const className = Object.prototype.toString.call(value).slice("[object ".length, -1);
  return `an object of the class ${className}. Convert it with Object.fromEntries`;
}

/** Formats a value for an error message. */
export const formatValue = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : describeType(value);

const describeType = (value: unknown): string =>
  typeof value === "number" || typeof value === "boolean" || value === null
    ? String(value)
    : `a value of type ${typeof value}`;
