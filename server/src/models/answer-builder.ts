import type { FinishReason, ModelDelta, ModelUsage } from "./model-answer.ts";
import type { ModelToolCall } from "./model-request.ts";
import { MaskedText } from "./secret-mask.ts";
import type { SecretMask } from "./secret-mask.ts";

/** Maximum number of tool calls in one answer. */
const maxToolCalls = 256;

/** Thrown for an answer that exceeds a limit. */
export class AnswerLimitError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AnswerLimitError";
  }
}

/** A call of a tool whose arguments are still arriving. */
interface OpenToolCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly masked: MaskedText;
  arguments: string;
}

interface BuilderOptions {
  readonly mask: SecretMask;
  /** Maximum number of characters of the whole answer. */
  readonly maxChars: number;
  /** Called for each part of the answer. */
  readonly onDelta: (delta: ModelDelta) => void;
}

/** Joins the parts of an answer, and passes them on with the endpoint's key masked. */
export class AnswerBuilder {
  readonly #options: BuilderOptions;
  readonly #textMask: MaskedText;
  readonly #thinkingMask: MaskedText;
  /** The tool calls, each by the key with which the protocol identifies it. */
  readonly #toolCalls = new Map<string, OpenToolCall>();
  #chars = 0;
  text = "";
  thinking = "";
  finishReason: FinishReason | undefined;
  model: string | undefined;
  usage: ModelUsage | undefined;
  /** An error that the endpoint reports within the stream. */
  error: string | undefined;
  /** Whether the endpoint has reported that the answer is complete. */
  isFinished = false;

  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#textMask = new MaskedText(options.mask);
    this.#thinkingMask = new MaskedText(options.mask);
  }

  get toolCalls(): readonly ModelToolCall[] {
    return [...this.#toolCalls.values()].map(({ id, name, arguments: text }) => ({
      id,
      name,
      arguments: text,
    }));
  }

  addText(part: string): void {
    this.#count(part);
    this.#passText("text", this.#textMask.push(part));
  }

  addThinking(part: string): void {
    this.#count(part);
    this.#passText("thinking", this.#thinkingMask.push(part));
  }

  /** Begins a call unless it has begun. `key` identifies the call in the protocol. */
  startToolCall(key: string, { id, name }: { readonly id: string; readonly name: string }): void {
    if (this.#toolCalls.has(key)) {
      return;
    }
    const index = this.#toolCalls.size;
    if (index >= maxToolCalls) {
      throw new AnswerLimitError(`the answer calls more than ${maxToolCalls} tools`);
    }
    const { mask, onDelta } = this.#options;
    this.#count(id + name);
    const head = { id: mask.mask(id), name: mask.mask(name) };
    this.#toolCalls.set(key, { ...head, index, masked: new MaskedText(mask), arguments: "" });
    onDelta({ kind: "toolCall", index, ...head });
  }

  addArguments(key: string, part: string): void {
    const call = this.#toolCalls.get(key);
    if (call !== undefined) {
      this.#count(part);
      this.#passArguments(call, call.masked.push(part));
    }
  }

  hasToolCall(key: string): boolean {
    return this.#toolCalls.has(key);
  }

  /** Whether a call has arguments already. */
  hasArguments(key: string): boolean {
    return (this.#toolCalls.get(key)?.arguments ?? "") !== "";
  }

  /** Passes on the text that was held back because it could have been the beginning of the key. */
  end(): void {
    this.#passText("text", this.#textMask.end());
    this.#passText("thinking", this.#thinkingMask.end());
    for (const call of this.#toolCalls.values()) {
      this.#passArguments(call, call.masked.end());
    }
  }

  #passText(kind: "text" | "thinking", text: string): void {
    if (text !== "") {
      this[kind] += text;
      this.#options.onDelta({ kind, text });
    }
  }

  #passArguments(call: OpenToolCall, text: string): void {
    if (text !== "") {
      call.arguments += text;
      this.#options.onDelta({ kind: "arguments", index: call.index, text });
    }
  }

  #count(part: string): void {
    this.#chars += part.length;
    const { maxChars } = this.#options;
    if (this.#chars > maxChars) {
      throw new AnswerLimitError(
        `the answer has more than ${maxChars.toLocaleString("en")} characters`,
      );
    }
  }
}
