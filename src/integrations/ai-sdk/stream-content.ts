import type { KeyValues } from "../../main/index.ts";
import { isObject, readText } from "./values.ts";

/**
 * Maximum total length of the text of one stream, in UTF-16 code units, so that an endless stream can't exhaust memory.
 */
const textLimit = 16_777_216;
/** Maximum number of parts of one stream that are kept. */
const partLimit = 10_000;

/**
 * The content of a model's stream so far, as parts in the format of the AI SDK. The AI SDK reports the content only at
 * the end of the stream, which is not reached if the program stops reading.
 */
export class StreamContent {
  readonly #parts: (KeyValues | TextPart)[] = [];
  /** The text parts so far, by their type and the id that the model assigned. */
  readonly #texts = new Map<string, TextPart>();
  #length = 0;
  #hasOutput = false;
  #finish: KeyValues | undefined;
  #isOmitting = false;
  readonly #recordsContent: boolean;

  /** If `recordsContent` is false, only the last chunk of the stream is kept, without any content. */
  constructor({ recordsContent }: { readonly recordsContent: boolean }) {
    this.#recordsContent = recordsContent;
  }

  /** Adds a chunk of the stream. Returns whether it is the first chunk with output of the model. */
  add(chunk: unknown): boolean {
    if (!isObject(chunk)) {
      return false;
    }
    const { type } = chunk;
    switch (type) {
      case "text-delta":
        this.#addText("text", chunk);
        break;
      case "reasoning-delta":
        this.#addText("reasoning", chunk);
        break;
      case "tool-call":
      case "file":
      case "source":
        this.#addPart(chunk);
        break;
      case "finish":
        this.#finish = chunk;
        return false;
      case "tool-input-start":
        break;
      default:
        return false;
    }
    const isFirst = !this.#hasOutput;
    this.#hasOutput = true;
    return isFirst;
  }

  /** The parts of the content, in the order in which they began. */
  get parts(): readonly KeyValues[] {
    return this.#parts.map((part) => (part instanceof TextPart ? part.toPart() : part));
  }

  /** Whether content was left out, because the stream exceeded a limit. */
  get isIncomplete(): boolean {
    return this.#isOmitting;
  }

  /** The last chunk, with the reason for the end and the token counts; `undefined` if the stream has not ended. */
  get finish(): KeyValues | undefined {
    return this.#finish;
  }

  #addText(type: "text" | "reasoning", chunk: KeyValues): void {
    if (!this.#recordsContent) {
      return;
    }
    const delta = readText(chunk["delta"] ?? chunk["textDelta"] ?? chunk["text"]) ?? "";
    const key = `${type} ${String(chunk["id"])}`;
    let part = this.#texts.get(key);
    if (part === undefined) {
      part = new TextPart(type);
      this.#texts.set(key, part);
      this.#addPart(part);
    }
    this.#length += delta.length;
    if (this.#length <= textLimit) {
      part.text += delta;
    } else {
      this.#isOmitting = true;
    }
  }

  #addPart(part: KeyValues | TextPart): void {
    if (!this.#recordsContent) {
      return;
    }
    if (this.#parts.length < partLimit) {
      this.#parts.push(part);
    } else {
      this.#isOmitting = true;
    }
  }
}

/** A text part to which further pieces are appended. */
class TextPart {
  readonly type: "text" | "reasoning";
  text = "";

  constructor(type: "text" | "reasoning") {
    this.type = type;
  }

  toPart(): KeyValues {
    return { type: this.type, text: this.text };
  }
}
