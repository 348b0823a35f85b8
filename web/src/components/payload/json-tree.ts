import { formatJson } from "../text/json-text.ts";

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null" | "text";

/** One line of a displayed JSON value. */
export interface JsonRow {
  /** `undefined` for a value that is not in a container, and for the chunks of a long text. */
  readonly key: string | number | undefined;
  readonly depth: number;
  /** `text` is one chunk of an expanded long string, whose own line precedes the chunks. */
  readonly kind: JsonKind;
  readonly text: string;
  /** The number of members or characters. */
  readonly size: number;
  /** `undefined` if the line can't be expanded. */
  readonly isOpen: boolean | undefined;
}

/** A line of the tree, with the value that it shows. */
interface Line {
  readonly key: string | number | undefined;
  readonly value: unknown;
  readonly depth: number;
  readonly parent: Line | undefined;
  /** Whether the line is a chunk of the long text of `parent`. */
  readonly isTextChunk: boolean;
  isOpen: boolean;
}

/** The maximum number of characters of a text that its line shows. A longer text can be expanded. */
const previewChars = 300;
/** The length of each chunk of an expanded long text. */
const textChunkChars = 2_000;
/** The maximum number of lines that are visible at first. */
const maxInitialRows = 200;
/** The maximum number of lines that {@link JsonTree.expandAll} makes visible. */
const maxRows = 400_000;
const maxMatches = 10_000;
/** The maximum number of keys in the preview of a collapsed object. */
const maxPreviewKeys = 6;

/**
 * The visible lines of a JSON value that is displayed as a tree. Members of a collapsed value have no lines, so that
 * a large value opens quickly.
 */
export class JsonTree {
  readonly #root: Line;
  #lines: Line[];
  #matches: readonly SearchItem[] = [];

  constructor(value: unknown) {
    this.#root = createLine({ key: undefined, value, depth: 0, parent: undefined });
    this.#lines = this.#createTopLines();
    this.#expandInitially();
  }

  /** The number of visible lines. */
  countRows(): number {
    return this.#lines.length;
  }

  readRows(from: number, to: number): readonly JsonRow[] {
    return this.#lines.slice(from, to).map(toRow);
  }

  /** Expands or collapses a line. Returns the new number of visible lines. */
  toggle(index: number): number {
    const line = this.#lines[index];
    if (line !== undefined && isOpenable(line)) {
      this.#setOpen(index, !line.isOpen);
    }
    return this.countRows();
  }

  /** Expands objects and arrays until {@link maxRows} lines are visible. Does not expand long texts. */
  expandAll(): number {
    const lines: Line[] = [];
    const stack = this.#createTopLines().toReversed();
    for (let line = stack.pop(); line !== undefined; line = stack.pop()) {
      lines.push(line);
      if (isContainer(line.value) && lines.length + stack.length < maxRows) {
        line.isOpen = countMembers(line.value) > 0;
        pushAll(stack, createChildren(line).toReversed());
      }
    }
    this.#lines = lines;
    return this.countRows();
  }

  collapseAll(): number {
    this.#lines = this.#createTopLines();
    return this.countRows();
  }

  /** Searches keys and values for a text, ignoring case. Returns the number of matches, at most {@link maxMatches}. */
  search(text: string): number {
    this.#matches = text === "" ? [] : findMatches(this.#root.value, text.toLowerCase());
    return this.#matches.length;
  }

  /** Expands the ancestors of a match. Returns the index of its line. */
  reveal(matchIndex: number): number {
    const path = toPath(this.#matches[matchIndex]);
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

  /** Returns the path of a line's value in JavaScript notation: `messages[0].content`. */
  readPath(index: number): string {
    const keys: (string | number)[] = [];
    for (let line = this.#lines[index]; line !== undefined; line = line.parent) {
      if (line.key !== undefined) {
        keys.push(line.key);
      }
    }
    return formatPath(keys.toReversed());
  }

  /** Returns the value of a line, to be copied: a text unchanged, anything else as JSON. */
  readText(index: number): string {
    const line = this.#lines[index];
    const value = line?.isTextChunk === true ? line.parent?.value : line?.value;
    return typeof value === "string" ? value : formatJson(value);
  }

  /** Returns the lines of the root value. A root object or array has no line of its own, only lines for its members. */
  #createTopLines(): Line[] {
    this.#root.isOpen = isContainer(this.#root.value);
    return this.#root.isOpen ? createChildren(this.#root) : [this.#root];
  }

  /** Expands the first three levels, as long as no more than {@link maxInitialRows} lines become visible. */
  #expandInitially(): void {
    for (let depth = 0; depth < 3; depth += 1) {
      for (let index = this.#lines.length - 1; index >= 0; index -= 1) {
        const line = this.#lines[index];
        if (line?.depth === depth && isContainer(line.value)) {
          const canExpand = this.#lines.length + countMembers(line.value) <= maxInitialRows;
          this.#setOpen(index, canExpand);
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
    const nextIndex = isOpen ? index + 1 : findSubtreeEnd(this.#lines, index);
    const inserted = isOpen ? createChildren(line) : [];
    this.#lines = this.#lines.slice(0, index + 1).concat(inserted, this.#lines.slice(nextIndex));
  }
}

const createLine = ({
  isTextChunk = false,
  ...fields
}: Omit<Line, "isOpen" | "isTextChunk"> & { readonly isTextChunk?: boolean }): Line => ({
  ...fields,
  isTextChunk,
  isOpen: false,
});

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

const countMembers = (value: object): number =>
  Array.isArray(value) ? value.length : Object.keys(value).length;

const isOpenable = ({ value, isTextChunk }: Line): boolean =>
  !isTextChunk &&
  (isContainer(value)
    ? countMembers(value) > 0
    : typeof value === "string" && value.length > previewChars);

function createChildren(parent: Line): Line[] {
  const { value } = parent;
  const depth = parent.key === undefined && parent.parent === undefined ? 0 : parent.depth + 1;
  if (typeof value === "string") {
    const chunks: Line[] = [];
    for (let from = 0; from < value.length; from += textChunkChars) {
      const chunk = value.slice(from, from + textChunkChars);
      chunks.push(
        createLine({
          key: undefined,
          value: chunk,
          depth: parent.depth + 1,
          parent,
          isTextChunk: true,
        }),
      );
    }
    return chunks;
  }
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item: unknown, index) => [index, item] as const)
    : Object.entries(value ?? {});
  return entries.map(([key, item]) => createLine({ key, value: item, depth, parent }));
}

/** Returns the index after the last visible descendant of a line. */
function findSubtreeEnd(lines: readonly Line[], index: number): number {
  const depth = lines[index]?.depth ?? 0;
  let end = index + 1;
  while ((lines[end]?.depth ?? -1) > depth) {
    end += 1;
  }
  return end;
}

function toRow(line: Line): JsonRow {
  const { key, value, depth, isTextChunk, isOpen } = line;
  const { kind, text, size } = describeValue(value);
  return {
    key,
    depth,
    kind: isTextChunk ? "text" : kind,
    text: isTextChunk ? String(value) : text,
    size,
    isOpen: isOpenable(line) ? isOpen : undefined,
  };
}

function describeValue(value: unknown): Pick<JsonRow, "kind" | "text" | "size"> {
  if (typeof value === "string") {
    return { kind: "string", text: value.slice(0, previewChars), size: value.length };
  }
  if (Array.isArray(value)) {
    return { kind: "array", text: "", size: value.length };
  }
  if (isContainer(value)) {
    const keys = Object.keys(value);
    const shownKeys = keys.slice(0, maxPreviewKeys).map((key) => key.slice(0, 40));
    const text = shownKeys.join(", ") + (keys.length > maxPreviewKeys ? ", …" : "");
    return { kind: "object", text, size: keys.length };
  }
  if (typeof value === "number" || typeof value === "boolean") {
    return { kind: typeof value as "number" | "boolean", text: String(value), size: 1 };
  }
  return { kind: "null", text: "null", size: 1 };
}

/**
 * A searched value. It refers to its container, because storing the path of each value would fill the memory if values
 * are deeply nested.
 */
interface SearchItem {
  readonly value: unknown;
  readonly key: string | number | undefined;
  readonly parent: SearchItem | undefined;
}

function toPath(match: SearchItem | undefined): readonly (string | number)[] {
  const keys: (string | number)[] = [];
  for (let item = match; item !== undefined; item = item.parent) {
    if (item.key !== undefined) {
      keys.push(item.key);
    }
  }
  return keys.toReversed();
}

/**
 * Returns matching keys and values in display order. The search is not recursive, because deeply nested values would
 * overflow the call stack.
 */
function findMatches(root: unknown, text: string): readonly SearchItem[] {
  const matches: SearchItem[] = [];
  const stack: SearchItem[] = [{ value: root, key: undefined, parent: undefined }];
  for (let searchItem = stack.pop(); searchItem !== undefined; searchItem = stack.pop()) {
    const { value, key } = searchItem;
    const isMatch =
      (typeof key === "string" && key.toLowerCase().includes(text)) ||
      (!isContainer(value) && String(value).toLowerCase().includes(text));
    if (isMatch) {
      matches.push(searchItem);
      if (matches.length === maxMatches) {
        return matches;
      }
    }
    if (isContainer(value)) {
      const keys: readonly (string | number)[] = Array.isArray(value)
        ? value.map((_, index) => index)
        : Object.keys(value);
      for (const member of keys.toReversed()) {
        stack.push({
          value: (value as Record<string | number, unknown>)[member],
          key: member,
          parent: searchItem,
        });
      }
    }
  }
  return matches;
}

function pushAll(stack: Line[], lines: readonly Line[]): void {
  for (const line of lines) {
    stack.push(line);
  }
}

/** Formats a path: `messages[0]["x-y"]`; empty for the root value. */
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
