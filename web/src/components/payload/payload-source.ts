import { formatCompactJson, formatJson } from "../text/json-text.ts";
import { toChatMessages } from "./chat-messages.ts";
import type { ChatMessage } from "./chat-messages.ts";
import { JsonTree } from "./json-tree.ts";
import type { JsonRow } from "./json-tree.ts";
import type { PayloadMode } from "./payload-mode.ts";
import { hasTable, toTable } from "./payload-table.ts";
import type { PayloadTable } from "./payload-table.ts";
import { formatYaml } from "./yaml-text.ts";

type MaybePromise<Value> = Value | Promise<Value>;

/**
 * A value to display. Its methods return promises if the value is in the memory of a worker, otherwise plain results.
 */
export interface PayloadSource {
  /** The modes in which the value can be displayed, the most suitable first. */
  listModes(): MaybePromise<readonly PayloadMode[]>;
  /** The value as chat messages; empty if it contains none. */
  readMessages(): MaybePromise<readonly ChatMessage[]>;
  /**
   * The text of a value that is one text or contains exactly one. For any other value, the result has no text. See
   * {@link toProse}.
   */
  readProse(): MaybePromise<Prose>;
  /** The list of objects that the value is or contains, as a table; without rows for any other value. */
  readTable(): MaybePromise<PayloadTable>;
  /** The value as indented JSON. */
  readJson(): MaybePromise<string>;
  readYaml(): MaybePromise<string>;
  /** The number of visible rows of the JSON tree. The methods below are those of {@link JsonTree}. */
  countRows(): MaybePromise<number>;
  readRows(from: number, to: number): MaybePromise<readonly JsonRow[]>;
  toggle(index: number): MaybePromise<number>;
  expandAll(): MaybePromise<number>;
  collapseAll(): MaybePromise<number>;
  search(text: string): MaybePromise<number>;
  reveal(matchIndex: number): MaybePromise<number>;
  readPath(index: number): MaybePromise<string>;
  readText(index: number): MaybePromise<string>;
}

export type PayloadMethod = keyof PayloadSource;

/** A value in the memory of this thread. Its chat messages and its JSON tree are created on first use. */
export class LocalPayload implements PayloadSource {
  readonly value: unknown;
  #tree: JsonTree | undefined;
  #messages: readonly ChatMessage[] | undefined;

  constructor(value: unknown) {
    this.value = value;
  }

  listModes(): readonly PayloadMode[] {
    const isChat = this.readMessages().length > 0;
    const isProse = toProse(this.value) !== undefined;
    return [
      ...(isChat ? (["chat"] as const) : []),
      ...(isProse ? (["markdown"] as const) : []),
      "json",
      ...(hasTable(this.value) ? (["table"] as const) : []),
      "yaml",
      "raw",
    ];
  }

  readMessages(): readonly ChatMessage[] {
    this.#messages ??= toChatMessages(this.value) ?? [];
    return this.#messages;
  }

  readProse(): Prose {
    return toProse(this.value) ?? { text: "" };
  }

  readTable(): PayloadTable {
    return toTable(this.value) ?? emptyTable;
  }

  readJson(): string {
    return formatJson(this.value);
  }

  readYaml(): string {
    return formatYaml(this.value);
  }

  countRows(): number {
    return this.tree.countRows();
  }

  readRows(from: number, to: number): readonly JsonRow[] {
    return this.tree.readRows(from, to);
  }

  toggle(index: number): number {
    return this.tree.toggle(index);
  }

  expandAll(): number {
    return this.tree.expandAll();
  }

  collapseAll(): number {
    return this.tree.collapseAll();
  }

  search(text: string): number {
    return this.tree.search(text);
  }

  reveal(matchIndex: number): number {
    return this.tree.reveal(matchIndex);
  }

  readPath(index: number): string {
    return this.tree.readPath(index);
  }

  readText(index: number): string {
    return this.tree.readText(index);
  }

  private get tree(): JsonTree {
    this.#tree ??= new JsonTree(this.value);
    return this.#tree;
  }
}

const emptyTable: PayloadTable = { columns: [], rows: [], rowCount: 0 };

/** The text of a value that consists of one text. */
export interface Prose {
  readonly text: string;
  /** The name of the member that contains the text; absent if the value is the text itself. */
  readonly key?: string;
}

/** Returns the text of a value that is a text or whose only member is one: `"..."` or `{ "answer": "..." }`. */
export function toProse(value: unknown): Prose | undefined {
  if (typeof value === "string") {
    return { text: value };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const [[key, text] = [], ...others] = Object.entries(value) as [string, unknown][];
  return others.length === 0 && key !== undefined && typeof text === "string"
    ? { key, text }
    : undefined;
}

/** A large member of a document, which stays in the worker's memory. */
export interface StoredMember {
  /** The number that identifies the member in the {@link PayloadStore}. */
  readonly document: number;
  /** The length of the member's JSON, in characters. */
  readonly sizeChars: number;
}

/** A parsed document. Its large members are not in `value`; they stay in the worker's memory. */
export interface OpenedDocument {
  readonly value: unknown;
  readonly storedMembers: Readonly<Record<string, StoredMember>>;
}

/** Members of a document with more characters of JSON than this stay in the worker's memory. */
const storedMinChars = 50_000;

/** Parses documents and stores their large members in the worker's memory. A number identifies each member. */
export class PayloadStore {
  readonly #documents = new Map<number, LocalPayload>();
  #lastNumber = 0;

  /** @throws SyntaxError the bytes are not JSON. */
  open(bytes: ArrayBuffer): OpenedDocument {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      return { value: parsed, storedMembers: {} };
    }
    const value: Record<string, unknown> = {};
    const storedMembers: Record<string, StoredMember> = {};
    for (const [name, member] of Object.entries(parsed)) {
      const sizeChars = formatCompactJson(member).length;
      // A string is never stored: copying it to the main thread is fast, and it needs no tree.
      if (sizeChars <= storedMinChars || typeof member === "string") {
        value[name] = member;
      } else {
        this.#lastNumber += 1;
        this.#documents.set(this.#lastNumber, new LocalPayload(member));
        storedMembers[name] = { document: this.#lastNumber, sizeChars };
      }
    }
    return { value, storedMembers };
  }

  /** @throws Error the member is no longer stored. */
  call(documentNumber: number, method: PayloadMethod, args: readonly unknown[]): unknown {
    const payload = this.#documents.get(documentNumber);
    if (payload === undefined) {
      throw new Error("This value is no longer loaded. Open the run again.");
    }
    const boundMethod: (...args: never[]) => unknown = payload[method].bind(payload);
    return boundMethod(...(args as never[]));
  }

  close(documentNumber: number): void {
    this.#documents.delete(documentNumber);
  }
}
