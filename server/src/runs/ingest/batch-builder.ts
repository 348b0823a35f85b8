import { payloadFields } from "millrace/model";
import { serverLimits } from "../../model/options.ts";
import { batchMemory } from "../batch-memory.ts";
import type { FeedbackDraft } from "../run-feedback.ts";
import type { AttachmentRecord, Rejection, RunBatch, RunRecord } from "../run-record.ts";
import { parseRun, InvalidRunError } from "./parse-run.ts";
import type { ParseRules, ReceivedRun } from "./parse-run.ts";
import { moveText } from "../shared-texts/shareable-text.ts";
import type { ShareableText } from "../shared-texts/shareable-text.ts";

/** The content of one request: the operations that can be stored, and those that were rejected, with the reasons. */
export interface ParsedBatch {
  readonly batch: RunBatch;
  readonly rejected: readonly Rejection[];
}

const initialCapacity = 65_536;

/** Collects the valid operations of one request. Their payloads are copied into one buffer. */
export class BatchBuilder {
  readonly #records: RunRecord[] = [];
  readonly #attachments: AttachmentRecord[] = [];
  readonly #feedback: FeedbackDraft[] = [];
  readonly #rejected: Rejection[] = [];
  #bodies: Buffer<ArrayBuffer>;
  #size = 0;

  /**
   * `expectedBytes` is an estimate of the total size of the payloads, so that the buffer need not grow. The buffer's
   * initial size is limited, because a client may announce more bytes than the server accepts.
   */
  constructor(expectedBytes = initialCapacity) {
    this.#bodies = batchMemory.acquire(Math.min(expectedBytes, serverLimits.bodyBytesMax));
  }

  /** Operations added so far, valid or not. */
  get operationCount(): number {
    return this.#records.length + this.#rejected.length;
  }

  /** Validates a run and adds it. Returns its record; `undefined` if the run was rejected. */
  addRun(run: ReceivedRun, rules: ParseRules): RunRecord | undefined {
    const bodyStart = this.#size;
    try {
      const { operation, rawMembers, span } = run;
      const parsedRun = parseRun(run, rules);
      let shareable: readonly ShareableText[] | undefined;
      if (rawMembers === undefined) {
        shareable = this.#writeObject(parsedRun.payload, run.shareable);
      } else {
        this.#writeRawMembers(rawMembers);
      }
      const bodyEnd = this.#size;
      const digest =
        operation === "post"
          ? ""
          : parsedRun.computeDigest(this.#bodies.subarray(bodyStart, bodyEnd));
      const record: RunRecord = {
        operation,
        id: parsedRun.id,
        traceId: parsedRun.traceId,
        dottedOrder: parsedRun.dottedOrder,
        digest,
        columns: parsedRun.columns,
        facets: parsedRun.facets,
        measures: parsedRun.measures,
        billing: parsedRun.billing,
        hasExtra: parsedRun.hasExtra,
        span,
        shareable,
        bodyStart,
        bodyEnd,
      };
      this.#records.push(record);
      return record;
    } catch (cause) {
      if (!(cause instanceof InvalidRunError)) {
        throw cause;
      }
      this.#size = bodyStart;
      this.reject({ id: cause.runId, operation: run.operation, reason: cause.message });
      return undefined;
    }
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

  /** Writes a JSON object. `rawMembers` is copied between the braces: adjacent members with the commas between them. */
  #writeRawMembers(rawMembers: Buffer): void {
    const { length } = rawMembers;
    this.#reserve(length + 2);
    this.#bodies[this.#size] = openBrace;
    this.#bodies.set(rawMembers, this.#size + 1);
    this.#bodies[this.#size + 1 + length] = closeBrace;
    this.#size += length + 2;
  }

  /**
   * Writes a JSON object from member names and JSON values. Returns the texts in it that other runs may contain, too,
   * so that the store can store them once; `undefined` if there are none.
   */
  #writeObject(
    members: ReadonlyMap<string, Buffer>,
    shareableByName: ReceivedRun["shareable"],
  ): readonly ShareableText[] | undefined {
    const objectStart = this.#size;
    const shareable: ShareableText[] = [];
    let isFirst = true;
    for (const [name, json] of members) {
      this.#write(
        (isFirst ? encodedFirstNames : encodedLaterNames).get(name) ?? encodeName(name, isFirst),
      );
      for (const text of shareableByName?.get(name) ?? []) {
        shareable.push(moveText(text, this.#size - objectStart));
      }
      this.#write(json);
      isFirst = false;
    }
    this.#write(members.size === 0 ? emptyObject : objectEnd);
    return shareable.length === 0 ? undefined : shareable;
  }

  #write(bytes: Buffer): void {
    this.#reserve(bytes.length);
    bytes.copy(this.#bodies, this.#size);
    this.#size += bytes.length;
  }

  #reserve(bytes: number): void {
    const neededBytes = this.#size + bytes;
    if (neededBytes > this.#bodies.length) {
      const largerBuffer = batchMemory.acquire(Math.max(neededBytes, this.#bodies.length * 2));
      this.#bodies.copy(largerBuffer, 0, 0, this.#size);
      batchMemory.release(this.#bodies.buffer);
      this.#bodies = largerBuffer;
    }
  }
}

/** Encodes everything that precedes the value of a member: a brace or a comma, the name of the member and a colon. */
const encodeName = (name: string, isFirst: boolean): Buffer =>
  Buffer.from(`${isFirst ? "{" : ","}${JSON.stringify(name)}:`);
/** Encodes the names of the members that most payloads have. */
const encodeCommonNames = (isFirst: boolean): ReadonlyMap<string, Buffer> =>
  new Map(payloadFields.map((name) => [name, encodeName(name, isFirst)]));
const encodedFirstNames = encodeCommonNames(true);
const encodedLaterNames = encodeCommonNames(false);
const openBrace = 0x7b;
const closeBrace = 0x7d;
const emptyObject = Buffer.from("{}");
const objectEnd = Buffer.from("}");
