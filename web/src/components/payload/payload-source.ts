import { formatJson } from "../text/json-text.ts";
import { toChatMessages } from "./chat-messages.ts";
import type { ChatMessage } from "./chat-messages.ts";
import { JsonTree } from "./json-tree.ts";
import type { JsonRow } from "./json-tree.ts";

export const payloadModes = ["chat", "markdown", "json", "raw"] as const;

/** How a value is displayed. */
export type PayloadMode = (typeof payloadModes)[number];

type MaybePromise<Value> = Value | Promise<Value>;

/** A value to display. A value in this thread returns results at once; a value in a worker returns promises. */
export interface PayloadSource {
  /** The modes in which the value can be displayed, the most suitable first. */
  modes(): MaybePromise<readonly PayloadMode[]>;
  /** The value as chat messages; empty if it contains none. */
  messages(): MaybePromise<readonly ChatMessage[]>;
  /** The only text of the value; empty if it has more members. See {@link toProse}. */
  prose(): MaybePromise<string>;
  /** The value as indented JSON. */
  json(): MaybePromise<string>;
  /** The number of visible rows of the JSON tree. The methods below are those of {@link JsonTree}. */
  count(): MaybePromise<number>;
  rows(from: number, to: number): MaybePromise<readonly JsonRow[]>;
  toggle(index: number): MaybePromise<number>;
  expandAll(): MaybePromise<number>;
  collapseAll(): MaybePromise<number>;
  search(text: string): MaybePromise<number>;
  reveal(match: number): MaybePromise<number>;
  path(index: number): MaybePromise<string>;
  text(index: number): MaybePromise<string>;
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

  modes(): readonly PayloadMode[] {
    const isChat = this.messages().length > 0;
    const isProse = toProse(this.value) !== undefined;
    return [
      ...(isChat ? (["chat"] as const) : []),
      ...(isProse ? (["markdown"] as const) : []),
      "json",
      "raw",
    ];
  }

  messages(): readonly ChatMessage[] {
    this.#messages ??= toChatMessages(this.value) ?? [];
    return this.#messages;
  }

  prose(): string {
    return toProse(this.value) ?? "";
  }

  json(): string {
    return formatJson(this.value);
  }

  count(): number {
    return this.tree.count();
  }

  rows(from: number, to: number): readonly JsonRow[] {
    return this.tree.rows(from, to);
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

  reveal(match: number): number {
    return this.tree.reveal(match);
  }

  path(index: number): string {
    return this.tree.path(index);
  }

  text(index: number): string {
    return this.tree.text(index);
  }

  private get tree(): JsonTree {
    this.#tree ??= new JsonTree(this.value);
    return this.#tree;
  }
}

/** The text of a value that is only a text or has a single member with a text: `"..."` or `{ "answer": "..." }`. */
export function toProse(value: unknown): string | undefined {
  if (typeof value === "string") {
    return value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const [first, ...others] = Object.values(value) as readonly unknown[];
  return others.length === 0 && typeof first === "string" ? first : undefined;
}

/** A large member of a document that the worker kept. */
export interface StoredMember {
  /** The number under which {@link PayloadStore} keeps the member. */
  readonly document: number;
  /** The length of the member's JSON, in characters. */
  readonly sizeChars: number;
}

/** A parsed document without its large members, which the worker keeps. */
export interface OpenedDocument {
  readonly value: unknown;
  readonly stored: Readonly<Record<string, StoredMember>>;
}

/** Members with more characters of JSON are kept by the worker. */
const storedMinChars = 50_000;

/** Parses documents and keeps their large members, each under a number. */
export class PayloadStore {
  readonly #documents = new Map<number, LocalPayload>();
  #lastNumber = 0;

  /** @throws SyntaxError the bytes are not JSON. */
  open(bytes: ArrayBuffer): OpenedDocument {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      return { value: parsed, stored: {} };
    }
    const value: Record<string, unknown> = {};
    const stored: Record<string, StoredMember> = {};
    for (const [name, member] of Object.entries(parsed)) {
      const sizeChars = (JSON.stringify(member) ?? "").length;
      // A string is always returned: it is copied in one step and needs no tree.
      if (sizeChars <= storedMinChars || typeof member === "string") {
        value[name] = member;
      } else {
        this.#lastNumber += 1;
        this.#documents.set(this.#lastNumber, new LocalPayload(member));
        stored[name] = { document: this.#lastNumber, sizeChars };
      }
    }
    return { value, stored };
  }

  /** @throws Error the member is no longer stored. */
  call(document: number, method: PayloadMethod, args: readonly unknown[]): unknown {
    const payload = this.#documents.get(document);
    if (payload === undefined) {
      throw new Error("This value is no longer loaded. Open the run again.");
    }
    const boundMethod: (...args: never[]) => unknown = payload[method].bind(payload);
    return boundMethod(...(args as never[]));
  }

  close(document: number): void {
    this.#documents.delete(document);
  }
}
