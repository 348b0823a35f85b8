import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Longest source file that is read, in bytes. Longer ones are usually minified bundles, whose names say nothing. */
const maxSourceBytes = 4_194_304;
/** How far before the call the name is searched, in UTF-16 units. */
const maxHeadLength = 512;

/** `traceable`, also as `millrace.traceable` and as `(0, millrace.traceable)`, which compilers write. */
const callee = /(?:\(0,\s*)?(?:[\p{ID_Continue}$]+\.)*traceable\)?$/u;
/** The end of the statement, property or line before the one that contains the call. */
const boundary = /[;{},\n]/g;
/** `const answer: Answer =`, `readonly #answer =`, `exports.answer =` and the like. */
const assignment =
  /^\s*(?:(?:export|const|let|var|public|private|protected|readonly|static|override|accessor)\s+)*(?:[\p{ID_Continue}$]+\.)*#?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*[?!]?\s*(?::.*)?(?:\?\?|\|\||&&|(?<![=!<>+*/%&|^?-]))$/u;
/** `answer:` and `"answer":` in an object. */
const property = /^\s*["']?([\p{ID_Start}$_][\p{ID_Continue}$]*)["']?\s*:$/u;
/** The last part of a line of a stack: the file, the line and the column, each from 1. */
const location = /(?<file>(?:file:\/\/\/|\/|[A-Za-z]:[\\/])[^()]*):(?<line>\d+):(?<column>\d+)\)?$/;

/**
 * The name that the result of a call is assigned to: `answer` in `const answer = traceable(…)`, in `{ answer: traceable(…) }`
 * and in a class with a field `answer = traceable(…)`. JavaScript does not provide it, so it is read from the program's
 * source, at the place that the call stack names. The file is read at the first use, and only once.
 */
export class AssignedName {
  /** The stack of the call. Released after the first use, because it refers to the caller's objects. */
  #call: { readonly stack?: unknown } | undefined;
  #name: string | undefined;

  /** Must be constructed during the call of `calledFunction` that this is about. */
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
        // The source is not there, may not be read, or the stack is exhausted. The run is named after its type.
      }
    }
    return this.#name;
  }
}

function readAssignedName(stack: unknown): string | undefined {
  const caller = typeof stack === "string" ? stack.split("\n", 2)[1] : undefined;
  const { file = "", line, column } = caller?.match(location)?.groups ?? {};
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  if (path === "" || statSync(path).size > maxSourceBytes) {
    return undefined;
  }
  return findAssignedName(readFileSync(path, "utf8"), {
    line: Number(line),
    column: Number(column),
  });
}

/** A place in a text. Both numbers begin at 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** Returns the name to which the call at `place` is assigned; `undefined` if there is no call of `traceable`, or no name. */
export function findAssignedName(source: string, { line, column }: Place): string | undefined {
  let start = 0;
  for (let count = 1; count < line; count += 1) {
    start = source.indexOf("\n", start) + 1;
  }
  const place = start + column - 1;
  // The place is that of the name, or for `(0, millrace.traceable)(…)` that of the arguments.
  const end = source.startsWith("traceable", place) ? place + "traceable".length : place;
  const called = source.slice(Math.max(0, end - maxHeadLength), end);
  const head = called.replace(callee, "");
  if (head === called) {
    return undefined;
  }
  const text = head.trimEnd().replace(/\s*\bawait$/, "");
  const last = [...text.matchAll(boundary)].at(-1);
  const statement = last === undefined ? text : text.slice(last.index + 1);
  return statement.endsWith("=")
    ? assignment.exec(statement.slice(0, -1))?.[1]
    : property.exec(statement)?.[1];
}
