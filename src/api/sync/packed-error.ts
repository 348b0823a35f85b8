import { errorClasses, SdkError } from "../../model/errors.ts";

/** An error as it crosses between threads: a plain clone would lose its class, code and status. */
export interface PackedError {
  /** Name of a class of ours, or of the language's. */
  readonly className: string;
  readonly isOurs: boolean;
  readonly message: string;
  readonly stack: string;
  /** Own members such as `code` and `status`, those that can cross. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly cause?: PackedCause;
  /** Of an `AggregateError`. */
  readonly errors?: readonly PackedCause[];
}

type PackedCause =
  | { readonly kind: "error"; readonly error: PackedError }
  | { readonly kind: "value"; readonly value: unknown };

/** Longest chain of causes that crosses: a cause can be its own. */
const causeLimit = 8;

/** What was thrown, which need not be an error. */
export function packError(thrown: unknown, depth = 0): PackedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const isOurs = error instanceof SdkError;
  const members = Object.entries(error).filter(([, value]) => canCross(value));
  const inner: unknown = error instanceof AggregateError ? error.errors : undefined;
  return {
    className: isOurs ? error.name : error.constructor.name,
    isOurs,
    message: error.message,
    stack: error.stack ?? String(error),
    members: { name: error.name, ...Object.fromEntries(members) },
    ...("cause" in error && { cause: packCause(error.cause, depth) }),
    ...(Array.isArray(inner) && { errors: inner.map((one) => packCause(one, depth)) }),
  };
}

function packCause(cause: unknown, depth: number): PackedCause {
  if (cause instanceof Error && depth < causeLimit) {
    return { kind: "error", error: packError(cause, depth + 1) };
  }
  return { kind: "value", value: canCross(cause) ? cause : String(cause) };
}

function canCross(value: unknown): boolean {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return true;
  }
  try {
    structuredClone(value);
    return true;
  } catch {
    // This property is left out; the rest of the error is enough to identify it.
    return false;
  }
}

/** The error again, of the same class, with the members, causes and stack that it had. */
export function unpackError({ message, stack, members, cause, errors, ...of }: PackedError): Error {
  // Not by the class's own constructor, which may make the message from other facts.
  const error: Error = Reflect.construct(Error, [message], classOf(of));
  for (const [name, value] of Object.entries(members)) {
    define(error, name, { value, enumerable: name !== "name" || of.isOurs });
  }
  define(error, "stack", { value: stack });
  if (cause !== undefined) {
    define(error, "cause", { value: unpackCause(cause) });
  }
  if (errors !== undefined) {
    define(error, "errors", { value: errors.map(unpackCause) });
  }
  return error;
}

const unpackCause = (cause: PackedCause): unknown =>
  cause.kind === "error" ? unpackError(cause.error) : cause.value;

function define(error: Error, name: string, property: PropertyDescriptor): void {
  Object.defineProperty(error, name, { writable: true, configurable: true, ...property });
}

const languageClasses = [
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
];

const classOf = ({
  className,
  isOurs,
}: Pick<PackedError, "className" | "isOurs">): new (...args: never[]) => Error =>
  (isOurs ? errorClasses : languageClasses).find(({ name }) => name === className) ?? Error;
