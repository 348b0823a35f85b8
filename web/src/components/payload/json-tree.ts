import { formatJson } from "../text/json-text.ts";

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null" | "text";

/** A line of a JSON value, as a page shows it. */
export interface JsonRow {
  /** Absent on a value that stands alone, and on lines of a text. */
  readonly key: string | number | undefined;
  readonly depth: number;
  /** `text`: a piece of the text above it. */
  readonly kind: JsonKind;
  readonly text: string;
  /** Members or characters of it. */
  readonly size: number;
  /** Absent where there is nothing to open. */
  readonly isOpen: boolean | undefined;
}

interface Line {
  readonly key: string | number | undefined;
  readonly value: unknown;
  readonly depth: number;
  readonly parent: Line | undefined;
  readonly isPiece: boolean;
  isOpen: boolean;
}

/** Characters of a text that its own line shows; a longer one can be opened. */
const previewChars = 300;
/** Characters of a line below a long text. */
const pieceChars = 2_000;
/** Lines that are open from the beginning, at most. */
const firstRows = 200;
/** Lines that may be open at once. */
const rowLimit = 400_000;
const matchLimit = 10_000;
const keysShown = 6;

/**
 * A JSON value as the lines that are open of it. What is closed costs nothing; opening it costs its
 * own members alone.
 */
export class JsonTree {
  readonly #root: Line;
  #lines: Line[];
  #matches: (readonly (string | number)[])[] = [];

  constructor(value: unknown) {
    this.#root = makeLine({ key: undefined, value, depth: 0, parent: undefined });
    this.#lines = this.#top();
    this.#openFirst();
  }

  /** How many lines are open. */
  count(): number {
    return this.#lines.length;
  }

  rows(from: number, to: number): readonly JsonRow[] {
    return this.#lines.slice(from, to).map(toRow);
  }

  /** Opens or closes the value of a line, and returns how many lines are open then. */
  toggle(index: number): number {
    const line = this.#lines[index];
    if (line !== undefined && isOpenable(line)) {
      this.#setOpen(index, !line.isOpen);
    }
    return this.count();
  }

  /** Opens containers until {@link rowLimit} lines are open; texts stay as they are. */
  openAll(): number {
    const lines: Line[] = [];
    const stack = this.#top().toReversed();
    for (let line = stack.pop(); line !== undefined; line = stack.pop()) {
      lines.push(line);
      if (isContainer(line.value) && lines.length + stack.length < rowLimit) {
        line.isOpen = sizeOf(line.value) > 0;
        pushAll(stack, childrenOf(line).toReversed());
      }
    }
    this.#lines = lines;
    return this.count();
  }

  closeAll(): number {
    this.#lines = this.#top();
    return this.count();
  }

  /** Finds a text in keys and values, in either case, and returns the number of matches, up to {@link matchLimit}. */
  search(text: string): number {
    this.#matches = text === "" ? [] : findPaths(this.#root.value, text.toLowerCase());
    return this.#matches.length;
  }

  /** Opens the values around a match, and returns its line. */
  reveal(match: number): number {
    const path = this.#matches[match] ?? [];
    let index = isContainer(this.#root.value) ? -1 : 0;
    for (const [step, key] of path.entries()) {
      if (step > 0) {
        this.#setOpen(index, true);
      }
      const depth = step;
      index += 1;
      while (
        index < this.#lines.length &&
        !(this.#lines[index]?.depth === depth && this.#lines[index]?.key === key)
      ) {
        index += 1;
      }
    }
    return Math.min(Math.max(0, index), this.#lines.length - 1);
  }

  /** Where the value is, as JavaScript would reach it: `messages[0].content`. */
  path(index: number): string {
    const keys: (string | number)[] = [];
    for (let line = this.#lines[index]; line !== undefined; line = line.parent) {
      if (line.key !== undefined) {
        keys.push(line.key);
      }
    }
    return formatPath(keys.toReversed());
  }

  /** The value of a line to copy: a text as it is, anything else as JSON. */
  text(index: number): string {
    const line = this.#lines[index];
    const value = line?.isPiece === true ? line.parent?.value : line?.value;
    return typeof value === "string" ? value : formatJson(value);
  }

  /** The lines of the outermost value; a container itself has none. */
  #top(): Line[] {
    this.#root.isOpen = isContainer(this.#root.value);
    return this.#root.isOpen ? childrenOf(this.#root) : [this.#root];
  }

  /** Level by level, as long as a glance takes it in. */
  #openFirst(): void {
    for (let depth = 0; depth < 3; depth += 1) {
      for (let index = this.#lines.length - 1; index >= 0; index -= 1) {
        const line = this.#lines[index];
        if (line?.depth === depth && isContainer(line.value)) {
          const isFitting = this.#lines.length + sizeOf(line.value) <= firstRows;
          this.#setOpen(index, isFitting);
        }
      }
    }
  }

  #setOpen(index: number, isOpen: boolean): void {
    const line = this.#lines[index];
    if (line === undefined || line.isOpen === isOpen || !isOpenable(line)) {
      return;
    }
    line.isOpen = isOpen;
    const rest = isOpen ? index + 1 : endOf(this.#lines, index);
    const between = isOpen ? childrenOf(line) : [];
    this.#lines = this.#lines.slice(0, index + 1).concat(between, this.#lines.slice(rest));
  }
}

const makeLine = ({
  isPiece = false,
  ...rest
}: Omit<Line, "isOpen" | "isPiece"> & { readonly isPiece?: boolean }): Line => ({
  ...rest,
  isPiece,
  isOpen: false,
});

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

const sizeOf = (value: object): number =>
  Array.isArray(value) ? value.length : Object.keys(value).length;

const isOpenable = ({ value, isPiece }: Line): boolean =>
  !isPiece &&
  (isContainer(value)
    ? sizeOf(value) > 0
    : typeof value === "string" && value.length > previewChars);

function childrenOf(parent: Line): Line[] {
  const { value } = parent;
  const depth = parent.key === undefined && parent.parent === undefined ? 0 : parent.depth + 1;
  if (typeof value === "string") {
    const pieces: Line[] = [];
    for (let from = 0; from < value.length; from += pieceChars) {
      const piece = value.slice(from, from + pieceChars);
      pieces.push(
        makeLine({ key: undefined, value: piece, depth: parent.depth + 1, parent, isPiece: true }),
      );
    }
    return pieces;
  }
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, index) => [index, item] as const)
    : Object.entries(value ?? {});
  return entries.map(([key, item]) => makeLine({ key, value: item, depth, parent }));
}

function endOf(lines: readonly Line[], index: number): number {
  const depth = lines[index]?.depth ?? 0;
  let end = index + 1;
  while ((lines[end]?.depth ?? -1) > depth) {
    end += 1;
  }
  return end;
}

function toRow(line: Line): JsonRow {
  const { key, value, depth, isPiece, isOpen } = line;
  const { kind, text, size } = describe(value);
  return {
    key,
    depth,
    kind: isPiece ? "text" : kind,
    text: isPiece ? String(value) : text,
    size,
    isOpen: isOpenable(line) ? isOpen : undefined,
  };
}

function describe(value: unknown): Pick<JsonRow, "kind" | "text" | "size"> {
  if (typeof value === "string") {
    return { kind: "string", text: value.slice(0, previewChars), size: value.length };
  }
  if (Array.isArray(value)) {
    return { kind: "array", text: "", size: value.length };
  }
  if (isContainer(value)) {
    const keys = Object.keys(value);
    const shown = keys.slice(0, keysShown).map((key) => key.slice(0, 40));
    const text = shown.join(", ") + (keys.length > keysShown ? ", …" : "");
    return { kind: "object", text, size: keys.length };
  }
  if (typeof value === "number" || typeof value === "boolean") {
    return { kind: typeof value as "number" | "boolean", text: String(value), size: 1 };
  }
  return { kind: "null", text: "null", size: 1 };
}

interface Found {
  readonly value: unknown;
  readonly path: readonly (string | number)[];
}

/** In the order in which the lines stand. A stack of its own: values may be deeper than the call stack. */
function findPaths(root: unknown, text: string): (readonly (string | number)[])[] {
  const found: (readonly (string | number)[])[] = [];
  const stack: Found[] = [{ value: root, path: [] }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, path } = next;
    const key = path.at(-1);
    const isHit =
      (typeof key === "string" && key.toLowerCase().includes(text)) ||
      (!isContainer(value) && String(value).toLowerCase().includes(text));
    if (isHit) {
      found.push(path);
      if (found.length === matchLimit) {
        return found;
      }
    }
    if (isContainer(value)) {
      const keys: readonly (string | number)[] = Array.isArray(value)
        ? value.map((_, index) => index)
        : Object.keys(value);
      for (const member of keys.toReversed()) {
        stack.push({
          value: (value as Record<string | number, unknown>)[member],
          path: [...path, member],
        });
      }
    }
  }
  return found;
}

function pushAll(stack: Line[], lines: readonly Line[]): void {
  for (const line of lines) {
    stack.push(line);
  }
}

/** `messages[0]["x-y"]`; empty for the value itself. */
export function formatPath(keys: readonly (string | number)[]): string {
  return keys
    .map((key, index) => {
      if (typeof key === "number") {
        return `[${key}]`;
      }
      const isName = /^[A-Za-z_$][\w$]*$/.test(key);
      return isName ? `${index === 0 ? "" : "."}${key}` : `[${JSON.stringify(key)}]`;
    })
    .join("");
}
