import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Longest source file that is read, in bytes. Longer ones are usually minified bundles, whose names are meaningless.
 */
const maxSourceBytes = 4_194_304;
/** How many UTF-16 code units before the call are searched for the name. */
const maxHeadLength = 512;

/** Matches `traceable`, also as `millrace.traceable` and as `(0, millrace.traceable)`, which compilers write. */
const calleePattern = /(?:\(0,\s*)?(?:[\p{ID_Continue}$]+\.)*traceable\)?$/u;
/** Matches the end of the statement, property or line before the one that contains the call. */
const boundaryPattern = /[;{},\n]/g;
/** Matches `const answer: Answer =`, `readonly #answer =`, `exports.answer =` and the like. */
const assignmentPattern =
  /^\s*(?:(?:export|const|let|var|public|private|protected|readonly|static|override|accessor)\s+)*(?:[\p{ID_Continue}$]+\.)*#?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*[?!]?\s*(?::.*)?(?:\?\?|\|\||&&|(?<![=!<>+*/%&|^?-]))$/u;
/** Matches `answer:` and `"answer":` in an object. */
const propertyPattern = /^\s*["']?([\p{ID_Start}$_][\p{ID_Continue}$]*)["']?\s*:$/u;
/**
 * Matches the end of a line of a call stack: the file, the line and the column. Lines and columns are counted from 1.
 */
const locationPattern =
  /(?<file>(?:file:\/\/\/|\/|[A-Za-z]:[\\/])[^()]*):(?<line>\d+):(?<column>\d+)\)?$/;

/**
 * The name that the result of a call is assigned to: `answer` in `const answer = traceable(…)`, in the object
 * `{ answer: traceable(…) }` and in a class with a field `answer = traceable(…)`. JavaScript does not provide the name.
 * So it is read from the program's source, at the position of the call in the call stack. The file is read at the first
 * use, and only once.
 */
export class AssignedName {
  /** The stack of the call. Released after the first use, because it refers to the caller's objects. */
  #call: { readonly stack?: unknown } | undefined;
  #name: string | undefined;

  /**
   * Construct this inside `calledFunction`, while it runs. The name is the one to which the caller of `calledFunction`
   * assigns its result.
   */
  constructor(calledFunction: (...args: never[]) => unknown) {
    const call: { readonly stack?: unknown } = {};
    Error.captureStackTrace(call, calledFunction);
    this.#call = call;
  }

  /** Returns `undefined` if the result is assigned to nothing, or the source can't be read. Never throws. */
  find(): string | undefined {
    const call = this.#call;
    if (call !== undefined) {
      this.#call = undefined;
      try {
        this.#name = readAssignedName(call.stack);
      } catch {
        // The source is missing or unreadable, or the stack is exhausted. The run is named after its type.
      }
    }
    return this.#name;
  }
}

function readAssignedName(stack: unknown): string | undefined {
  const caller = typeof stack === "string" ? stack.split("\n", 2)[1] : undefined;
  const { file = "", line, column } = caller?.match(locationPattern)?.groups ?? {};
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  if (path === "" || statSync(path).size > maxSourceBytes) {
    return undefined;
  }
  return findAssignedName(readFileSync(path, "utf8"), {
    line: Number(line),
    column: Number(column),
  });
}

/** A position in a text. Lines and columns are counted from 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Returns the name to which the call at a position is assigned; `undefined` if no call of `traceable` or no name is
 * there.
 */
export function findAssignedName(source: string, { line, column }: Position): string | undefined {
  let start = 0;
  for (let count = 1; count < line; count += 1) {
    start = source.indexOf("\n", start) + 1;
  }
  const callOffset = start + column - 1;
  // The call stack contains the position of the name `traceable`, or, for `(0, millrace.traceable)(…)`, that of the
  // arguments.
  const end = source.startsWith("traceable", callOffset)
    ? callOffset + "traceable".length
    : callOffset;
  const textToCallee = source.slice(Math.max(0, end - maxHeadLength), end);
  const textBeforeCallee = textToCallee.replace(calleePattern, "");
  if (textBeforeCallee === textToCallee) {
    return undefined;
  }
  const trimmedText = textBeforeCallee.trimEnd().replace(/\s*\bawait$/, "");
  const lastBoundary = [...trimmedText.matchAll(boundaryPattern)].at(-1);
  const statement =
    lastBoundary === undefined ? trimmedText : trimmedText.slice(lastBoundary.index + 1);
  return statement.endsWith("=")
    ? assignmentPattern.exec(statement.slice(0, -1))?.[1]
    : propertyPattern.exec(statement)?.[1];
}
