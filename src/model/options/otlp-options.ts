import { isUtf8 } from "node:buffer";
import { OptionError } from "../errors.ts";
import { checkKeys } from "../unknown-keys.ts";
import type { KeyTable } from "../unknown-keys.ts";
import { reservedHeaders } from "./connection.ts";
import { formatValue } from "./option-problems.ts";
import { checkHeaders } from "./headers.ts";

/** Conventions for the names of a span's attributes. */
export const otlpConventions = ["gen_ai", "openinference"] as const;

/** One of {@link otlpConventions}. */
export type OtlpConvention = (typeof otlpConventions)[number];

/** The option `otlp`: sends runs as spans to an OpenTelemetry backend, in place of a Millrace server. */
export interface OtlpOptions {
  /** The complete address to which spans are posted. Nothing is appended to it. */
  readonly url: string;
  /** Headers to send with every request, such as keys. Never logged. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The names of the attributes. @defaultValue `gen_ai` */
  readonly convention?: OtlpConvention | undefined;
}

/** The option `otlp` with its defaults. */
export interface ResolvedOtlp {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly convention: OtlpConvention;
}

/** Description of one member of the option `otlp`, from which the documentation is generated. */
interface OtlpMember {
  readonly fallback: string;
  readonly allowed: string;
  readonly doc: string;
}

/** The members of the option `otlp`. */
export const otlpMembers: { readonly [Name in keyof OtlpOptions]-?: OtlpMember } = {
  url: {
    fallback: "required",
    allowed:
      "a URL that begins with http:// or https://, without user, password, query or fragment",
    doc: "Complete address to which spans are posted, such as `http://localhost:4318/v1/traces`. Nothing is appended to it.",
  },
  headers: {
    fallback: "none",
    allowed: "an object of strings",
    doc: "Headers to send with every request, such as keys; never logged.",
  },
  convention: {
    fallback: "`gen_ai`",
    allowed: otlpConventions.join(", "),
    doc: "Names of the attributes: OpenTelemetry's semantic conventions for generative AI (gen_ai), or OpenInference.",
  },
};

const otlpKeys: KeyTable<OtlpOptions> = otlpMembers;

/**
 * The options of a client that have no effect together with `otlp`, each with a function that returns whether a value
 * is refused. A value that agrees with what `otlp` does, such as `reportStats: false`, is allowed.
 */
const replacedOptions: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ["endpoint", () => true],
  ["apiKey", () => true],
  ["workspaceId", () => true],
  ["headers", () => true],
  ["contentDeduplication", (value) => value === "once"],
  ["reportStats", (value) => value === true],
];

/**
 * Checks the option `otlp`. Returns `undefined` if it is not set.
 *
 * @throws {@link OptionError} if a member is unknown or has an invalid value, or if `options` contains another option
 * that has no effect together with `otlp`. The message never contains a header's value or a password.
 */
export function checkOtlp(options: object): ResolvedOtlp | undefined {
  const otlp: unknown = Reflect.get(options, "otlp");
  if (otlp === undefined) {
    return undefined;
  }
  if (typeof otlp !== "object" || otlp === null || Array.isArray(otlp)) {
    throw new OptionError(
      `Option otlp must be an object { url, headers, convention }, not ${formatValue(otlp)}`,
    );
  }
  checkKeys(otlp as OtlpOptions, otlpKeys, { subject: "Option otlp", error: OptionError });
  const { url, headers, convention = "gen_ai" } = otlp as Partial<OtlpOptions>;
  assertUrl(url);
  const checkedHeaders = checkHeaders(headers, "otlp.headers");
  for (const name of Object.keys(checkedHeaders)) {
    if (reservedHeaders.has(name.toLowerCase()) && name.toLowerCase() !== "x-api-key") {
      throw new OptionError(`Option otlp.headers can't contain ${name}, which the client sets`);
    }
  }
  if (!otlpConventions.includes(convention)) {
    throw new OptionError(
      `Option otlp.convention must be one of ${otlpConventions.join(", ")}, not ${formatValue(convention)}`,
    );
  }
  for (const [name, isReplaced] of replacedOptions) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined && isReplaced(value)) {
      throw new OptionError(
        `Option ${name} has no effect together with otlp, which sends runs to otlp.url and not to a Millrace server. Remove one of them, or create a client for each`,
      );
    }
  }
  return { url, headers: checkedHeaders, convention };
}

/**
 * @throws {@link OptionError} if the address is invalid. The message shows the address only if it can't hold a secret.
 */
function assertUrl(address: unknown): asserts address is string {
  const url = typeof address === "string" && URL.canParse(address) ? new URL(address) : undefined;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  if (!isWeb) {
    const mayHoldSecret = typeof address === "string" && /[@?]/.test(address);
    const shown = mayHoldSecret ? "" : `, not ${formatValue(address)}`;
    throw new OptionError(
      `Option otlp.url must be a URL that begins with http:// or https://${shown}`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new OptionError(
      "Option otlp.url must be a URL without user, password, query or fragment; pass keys in otlp.headers",
    );
  }
}

/**
 * Returns the project that the header `Langsmith-Project` names; `undefined` if there is no such header. Node sends
 * each character of a header as one byte. If these bytes are valid UTF-8, a server decodes them, and so does this
 * function.
 */
export function findProjectHeader(headers: Readonly<Record<string, string>>): string | undefined {
  const text = findHeader(headers, "langsmith-project")?.trim() ?? "";
  if (text === "") {
    return undefined;
  }
  const bytes = Buffer.from(text, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : text;
}

/** Returns the value of a header, whose name may be written in upper or lower case. */
export const findHeader = (
  headers: Readonly<Record<string, string>>,
  name: string,
): string | undefined =>
  Object.entries(headers).find(([candidate]) => candidate.toLowerCase() === name)?.[1];
