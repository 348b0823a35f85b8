import { errorClasses, SdkError } from "../../model/errors.ts";

/**
 * An error in a form that can be sent to another thread: a structured clone would lose its class, code and
 * status.
 */
export interface PackedError {
  /** Name of a class of this package, or of a built-in class. */
  readonly className: string;
  readonly isSdkError: boolean;
  readonly message: string;
  readonly stack: string;
  /** Own properties that can be sent to another thread, such as `code` and `status`. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly cause?: PackedCause;
  /** The `errors` of an `AggregateError`. */
  readonly errors?: readonly PackedCause[];
}

/** The cause of an error: another error, or any other value that can be cloned. */
type PackedCause =
  | { readonly kind: "error"; readonly error: PackedError }
  | { readonly kind: "value"; readonly value: unknown };

/** Maximum length of a chain of causes: an error can be its own cause. */
const causeDepthLimit = 8;

/** Packs a thrown value, which is not necessarily an error. */
export function packError(thrown: unknown, depth = 0): PackedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const isSdkError = error instanceof SdkError;
  const members = Object.entries(error).filter(([, value]) => canBeCloned(value));
  const innerErrors: unknown = error instanceof AggregateError ? error.errors : undefined;
  return {
    className: isSdkError ? error.name : error.constructor.name,
    isSdkError,
    message: error.message,
    stack: error.stack ?? String(error),
    members: { name: error.name, ...Object.fromEntries(members) },
    ...("cause" in error && { cause: packCause(error.cause, depth) }),
    ...(Array.isArray(innerErrors) && {
      errors: innerErrors.map((item) => packCause(item, depth)),
    }),
  };
}

function packCause(cause: unknown, depth: number): PackedCause {
  if (cause instanceof Error && depth < causeDepthLimit) {
    return { kind: "error", error: packError(cause, depth + 1) };
  }
  return { kind: "value", value: canBeCloned(cause) ? cause : String(cause) };
}

function canBeCloned(value: unknown): boolean {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return true;
  }
  try {
    structuredClone(value);
    return true;
  } catch {
    // Callers omit a property that can't be cloned, and convert a cause that can't be cloned to text. The class,
    // message and stack still identify the error.
    return false;
  }
}

/** Restores an error: same class, properties, causes and stack. */
export function unpackError({
  message,
  stack,
  members,
  cause,
  errors,
  ...errorType
}: PackedError): Error {
  // This does not call the class's own constructor, which may derive the message from other arguments.
  const error: Error = Reflect.construct(Error, [message], findErrorClass(errorType));
  for (const [name, value] of Object.entries(members)) {
    defineProperty(error, name, { value, enumerable: name !== "name" || errorType.isSdkError });
  }
  defineProperty(error, "stack", { value: stack });
  if (cause !== undefined) {
    defineProperty(error, "cause", { value: unpackCause(cause) });
  }
  if (errors !== undefined) {
    defineProperty(error, "errors", { value: errors.map(unpackCause) });
  }
  return error;
}

const unpackCause = (cause: PackedCause): unknown =>
  cause.kind === "error" ? unpackError(cause.error) : cause.value;

function defineProperty(error: Error, name: string, property: PropertyDescriptor): void {
  Object.defineProperty(error, name, { writable: true, configurable: true, ...property });
}

const builtInClasses = [
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
];

const findErrorClass = ({
  className,
  isSdkError,
}: Pick<PackedError, "className" | "isSdkError">): new (...args: never[]) => Error =>
  (isSdkError ? errorClasses : builtInClasses).find(({ name }) => name === className) ?? Error;
