import { formatJson } from "../text/json-text.ts";
import { toChatMessages } from "./chat-messages.ts";
import type { ChatMessage } from "./chat-messages.ts";
import { JsonTree } from "./json-tree.ts";
import type { JsonRow } from "./json-tree.ts";

export const payloadModes = ["chat", "markdown", "json", "raw"] as const;

/** How a value is shown. */
export type PayloadMode = (typeof payloadModes)[number];

type MaybePromise<Value> = Value | Promise<Value>;

/** A value to read, stored by the page or by a worker; a worker answers later. */
export interface PayloadSource {
  /** Modes in which it can be shown, the best one first. */
  modes(): MaybePromise<readonly PayloadMode[]>;
  messages(): MaybePromise<readonly ChatMessage[]>;
  prose(): MaybePromise<string>;
  json(): MaybePromise<string>;
  count(): MaybePromise<number>;
  rows(from: number, to: number): MaybePromise<readonly JsonRow[]>;
  toggle(index: number): MaybePromise<number>;
  openAll(): MaybePromise<number>;
  closeAll(): MaybePromise<number>;
  search(text: string): MaybePromise<number>;
  reveal(match: number): MaybePromise<number>;
  path(index: number): MaybePromise<string>;
  text(index: number): MaybePromise<string>;
}

export type PayloadMethod = keyof PayloadSource;

/** A value that this thread holds; what takes time is done when it is first asked for. */
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

  openAll(): number {
    return this.tree.openAll();
  }

  closeAll(): number {
    return this.tree.closeAll();
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

/** The one text that a value consists of: `"..."`, or `{ "answer": "..." }`. */
export function toProse(value: unknown): string | undefined {
  if (typeof value === "string") {
    return value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return undefined;
  }
  const [only, ...more] = Object.values(value) as readonly unknown[];
  return more.length === 0 && typeof only === "string" ? only : undefined;
}

/** What a worker holds of a document, beside what it gave back. */
export interface StoredMember {
  readonly document: number;
  /** Characters of its JSON text. */
  readonly sizeChars: number;
}

/** A document with its large members left out. */
export interface OpenedDocument {
  readonly value: unknown;
  readonly stored: Readonly<Record<string, StoredMember>>;
}

/** Characters of JSON beyond which a member stays where it was parsed. */
const storedChars = 50_000;

/** Parses documents and keeps the large members of them, by number. */
export class PayloadStore {
  readonly #documents = new Map<number, LocalPayload>();
  #last = 0;

  /** @throws SyntaxError it is not JSON. */
  open(bytes: ArrayBuffer): OpenedDocument {
    const whole: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof whole !== "object" || whole === null || Array.isArray(whole)) {
      return { value: whole, stored: {} };
    }
    const value: Record<string, unknown> = {};
    const stored: Record<string, StoredMember> = {};
    for (const [name, member] of Object.entries(whole)) {
      const sizeChars = (JSON.stringify(member) ?? "").length;
      // A text is handed over as it is: nothing is gained by keeping it.
      if (sizeChars <= storedChars || typeof member === "string") {
        value[name] = member;
      } else {
        this.#last += 1;
        this.#documents.set(this.#last, new LocalPayload(member));
        stored[name] = { document: this.#last, sizeChars };
      }
    }
    return { value, stored };
  }

  /** @throws Error the document was closed. */
  call(document: number, method: PayloadMethod, args: readonly unknown[]): unknown {
    const payload = this.#documents.get(document);
    if (payload === undefined) {
      throw new Error("this value was let go; open the run again");
    }
    const own: (...args: never[]) => unknown = payload[method].bind(payload);
    return own(...(args as never[]));
  }

  close(document: number): void {
    this.#documents.delete(document);
  }
}
