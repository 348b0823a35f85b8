import { payloadFields } from "millrace/model";
import { serverLimits } from "../../model/options.ts";
import { batchMemory } from "../batch-memory.ts";
import type { FeedbackDraft } from "../run-feedback.ts";
import type { AttachmentRecord, Rejection, RunBatch, RunRecord } from "../run-record.ts";
import { parseRun, RunFault } from "./parse-run.ts";
import type { ParseRules, ReceivedRun } from "./parse-run.ts";

/** What one request brought: what can be stored, and what can't with the reason. */
export interface ParsedBatch {
  readonly batch: RunBatch;
  readonly rejected: readonly Rejection[];
}

const firstCapacity = 65_536;

/** Gathers the valid operations of one request; their payloads go into one piece of memory. */
export class BatchBuilder {
  readonly #records: RunRecord[] = [];
  readonly #attachments: AttachmentRecord[] = [];
  readonly #feedback: FeedbackDraft[] = [];
  readonly #rejected: Rejection[] = [];
  #bodies: Buffer<ArrayBuffer>;
  #size = 0;

  /** `expectedBytes`: about how much will come; it saves growing. A sender may announce more than is ever taken. */
  constructor(expectedBytes = firstCapacity) {
    this.#bodies = batchMemory.take(Math.min(expectedBytes, serverLimits.bodyBytesMax));
  }

  /** Operations seen so far, valid or not. */
  get operationCount(): number {
    return this.#records.length + this.#rejected.length;
  }

  /** The record that it became; `undefined` where it was rejected. */
  addRun(run: ReceivedRun, rules: ParseRules): RunRecord | undefined {
    const bodyStart = this.#size;
    try {
      const { operation, kept, span } = run;
      const { id, traceId, dottedOrder, columns, facets, measures, ...parsed } = parseRun(
        run,
        rules,
      );
      if (kept === undefined) {
        this.#writeObject(parsed.payload);
      } else {
        this.#writeKept(kept);
      }
      const bodyEnd = this.#size;
      const digest =
        operation === "post" ? "" : parsed.digestOf(this.#bodies.subarray(bodyStart, bodyEnd));
      const record: RunRecord = {
        operation,
        id,
        traceId,
        dottedOrder,
        digest,
        columns,
        facets,
        measures,
        span,
        bodyStart,
        bodyEnd,
      };
      this.#records.push(record);
      return record;
    } catch (cause) {
      if (!(cause instanceof RunFault)) {
        throw cause;
      }
      this.#size = bodyStart;
      this.reject({ id: cause.runId, operation: run.operation, reason: cause.message });
      return undefined;
    }
  }

  /** Text of which payloads are parts: see {@link enclose}. It comes before all else. */
  addText(text: Buffer): void {
    this.#write(text);
  }

  /** Has braces stand at both ends of a part of the text. */
  enclose(from: number, to: number): void {
    this.#bodies[from] = openBrace;
    this.#bodies[to - 1] = closeBrace;
  }

  addAttachment(attachment: Omit<AttachmentRecord, "bodyStart" | "bodyEnd">, bytes: Buffer): void {
    const bodyStart = this.#size;
    this.#write(bytes);
    this.#attachments.push({ ...attachment, bodyStart, bodyEnd: this.#size });
  }

  addFeedback(feedback: FeedbackDraft): void {
    this.#feedback.push(feedback);
  }

  reject(rejection: Rejection): void {
    this.#rejected.push(rejection);
  }

  build(): ParsedBatch {
    const bodies = new Uint8Array(this.#bodies.buffer, 0, this.#size);
    return {
      batch: {
        records: this.#records,
        attachments: this.#attachments,
        feedback: this.#feedback,
        bodies,
      },
      rejected: this.#rejected,
    };
  }

  /** A JSON object of members that stand side by side. */
  #writeKept(kept: Buffer): void {
    this.#write(objectStart);
    this.#write(kept);
    this.#write(objectEnd);
  }

  /** A JSON object of values that are JSON texts already. */
  #writeObject(members: ReadonlyMap<string, Buffer>): void {
    let isFirst = true;
    for (const [name, json] of members) {
      this.#write((isFirst ? firstNames : laterNames).get(name) ?? nameBytes(name, isFirst));
      this.#write(json);
      isFirst = false;
    }
    this.#write(members.size === 0 ? emptyObject : objectEnd);
  }

  #write(bytes: Buffer): void {
    this.#reserve(bytes.length);
    bytes.copy(this.#bodies, this.#size);
    this.#size += bytes.length;
  }

  #reserve(bytes: number): void {
    const needed = this.#size + bytes;
    if (needed > this.#bodies.length) {
      const grown = batchMemory.take(Math.max(needed, this.#bodies.length * 2));
      this.#bodies.copy(grown, 0, 0, this.#size);
      batchMemory.give(this.#bodies.buffer);
      this.#bodies = grown;
    }
  }
}

/** A member's name as it stands before its value, behind what comes before it. */
const nameBytes = (name: string, isFirst: boolean): Buffer =>
  Buffer.from(`${isFirst ? "{" : ","}${JSON.stringify(name)}:`);
/** The same for the names that most payloads have. */
const namesAt = (isFirst: boolean): ReadonlyMap<string, Buffer> =>
  new Map(payloadFields.map((name) => [name, nameBytes(name, isFirst)]));
const firstNames = namesAt(true);
const laterNames = namesAt(false);
const openBrace = 0x7b;
const closeBrace = 0x7d;
const objectStart = Buffer.from("{");
const emptyObject = Buffer.from("{}");
const objectEnd = Buffer.from("}");
