import { createPrivateKey, X509Certificate } from "node:crypto";
import type { OptionRow, TextFormat } from "./option-row.ts";
import { problemWithRules } from "./redaction.ts";

/** What is wrong with a value. */
export interface OptionProblem {
  /** What the value must be: `a whole number from 1 to 100`. */
  readonly allowed: string;
  /** Whether the value may hold a secret, and must not be shown. */
  readonly isHidden?: true;
}

/** What a value must be to be the value of this option; `undefined` where it is. */
export function problemOf(row: OptionRow, value: unknown): OptionProblem | undefined {
  switch (row.kind) {
    case "number": {
      const inRange = typeof value === "number" && value >= row.min && value <= row.max;
      const allowed = row.fraction === true || Number.isInteger(value);
      const kind = row.fraction === true ? "a number" : "a whole number";
      return inRange && allowed ? undefined : { allowed: `${kind} from ${row.min} to ${row.max}` };
    }
    case "text":
      return typeof value === "string" && value.trim() !== ""
        ? formatProblem(value, row.format)
        : { allowed: "a text, not empty" };
    case "switch":
      return typeof value === "boolean" ? undefined : { allowed: "true or false" };
    case "hide":
      return typeof value === "boolean" || typeof value === "function"
        ? undefined
        : { allowed: "true, false or a function" };
    case "rules": {
      const allowed = problemWithRules(value);
      return allowed === undefined ? undefined : { allowed };
    }
    case "choice":
      return row.choices.some((choice) => choice === value)
        ? undefined
        : { allowed: `one of ${row.choices.join(", ")}` };
  }
}

function formatProblem(text: string, format: TextFormat | undefined): OptionProblem | undefined {
  switch (format) {
    case "address":
      return addressProblem(text);
    case "token":
      // It goes into a header: what can't stand there is refused here, where the message can say so.
      return /^[\x21-\x7e]+$/.test(text)
        ? undefined
        : {
            allowed: "printable ASCII without spaces or line ends (its value is not shown)",
            isHidden: true,
          };
    case "certificates":
      return succeeds(() => new X509Certificate(text))
        ? undefined
        : pemProblem(text, "certificates as PEM text (-----BEGIN CERTIFICATE-----)");
    case "privateKey":
      return succeeds(() => createPrivateKey(text))
        ? undefined
        : pemProblem(text, "an unencrypted private key as PEM text (-----BEGIN PRIVATE KEY-----)");
    case undefined:
      return undefined;
  }
}

function addressProblem(address: string): OptionProblem | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    const allowed = "an address that begins with http:// or https://";
    return address.includes("@") ? { allowed, isHidden: true } : { allowed };
  }
  return url.username === "" && url.password === "" && url.search === "" && url.hash === ""
    ? undefined
    : {
        allowed:
          "an address without user, password, query or fragment; pass the key as apiKey (MILLRACE_API_KEY)",
        isHidden: true,
      };
}

/** A text with dashes may be a key that was put into the wrong variable. */
const pemProblem = (text: string, wanted: string): OptionProblem => {
  const allowed = `${wanted}, not the path of a file`;
  return text.includes("-----") ? { allowed, isHidden: true } : { allowed };
};

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    // Leave OpenSSL's message out: it names a line of its source. The caller adds what is allowed.
    return false;
  }
}

/** A value as an error names it. */
export const shownValue = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : kindOf(value);

const kindOf = (value: unknown): string =>
  typeof value === "number" || typeof value === "boolean" || value === null
    ? String(value)
    : `a value of type ${typeof value}`;
