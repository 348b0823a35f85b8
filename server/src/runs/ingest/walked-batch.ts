import type { Operation } from "millrace/model";
import { facetsOfJson } from "../facets.ts";
import { readMeasures } from "../run-measures.ts";
import type { RunMeasures } from "../run-measures.ts";
import { PostPacker } from "../sqlite/post-rows.ts";
import { BatchBuilder } from "./batch-builder.ts";
import type { ParsedBatch } from "./batch-builder.ts";
import type { BatchWalk } from "./batch-walk.ts";
import { RunSource, SplitRun } from "./split-run.ts";
import { columnCodes, field, kind, memberField } from "./walk-layout.ts";

const rules = { place: "required" } as const;
const emptyBuffer = Buffer.alloc(0);

/**
 * Builds a batch from the results of a walk: ordinary posts become rows directly, and all other runs are validated
 * by `parse-run.ts`.
 */
export class WalkedBatch {
  readonly #walk: BatchWalk;
  readonly #builder: BatchBuilder;
  readonly #posts = new PostPacker();
  readonly #source: RunSource;
  /** Difference between an offset in the batch's payloads and the same offset in the body. */
  readonly #payloadShift: number;
  /** Facets by source entry; see `field.source`. */
  readonly #facets: (readonly string[] | undefined)[] = [];

  constructor(walk: BatchWalk) {
    this.#walk = walk;
    this.#source = new RunSource(walk.body);
    const { from, to, otherBytes } = this.#measurePayloads();
    this.#builder = new BatchBuilder(to - from + otherBytes);
    // Copies all payloads at once, together with the text between them.
    this.#builder.addText(walk.body.subarray(from, to));
    this.#payloadShift = -from;
  }

  build(): ParsedBatch {
    const { posts, patches } = this.#walk;
    for (let entry = posts.first; entry < posts.first + posts.count; entry += 1) {
      if (!this.#addRow(entry)) {
        this.#addRun(entry, "post");
      }
    }
    for (let entry = patches.first; entry < patches.first + patches.count; entry += 1) {
      this.#addRun(entry, "patch");
    }
    const { batch, rejected } = this.#builder.build();
    return { batch: { ...batch, ...this.#posts.build() }, rejected };
  }

  /**
   * Returns the range of the body that contains the payloads of ordinary posts, and the approximate payload bytes
   * of all other runs.
   */
  #measurePayloads() {
    const walk = this.#walk;
    let from = walk.body.length;
    let to = 0;
    let otherBytes = 0;
    const { posts, patches } = walk;
    const end = Math.max(posts.first + posts.count, patches.first + patches.count);
    for (let entry = 0; entry < end; entry += 1) {
      const keptFrom = walk.word(entry, field.keptFrom);
      const keptTo = walk.word(entry, field.keptTo);
      if (walk.word(entry, field.kind) !== kind.ordinary) {
        otherBytes += keptTo - keptFrom + 2;
      } else if (keptTo === 0) {
        const start = walk.word(entry, field.from);
        from = Math.min(from, start);
        to = Math.max(to, start + 2);
      } else {
        from = Math.min(from, keptFrom - 1);
        to = Math.max(to, keptTo + 1);
      }
    }
    return { from: Math.min(from, to), to, otherBytes };
  }

  /**
   * Adds an entry as a row. Returns false if it is not an ordinary post, or must be applied after an earlier record
   * of the same run.
   */
  #addRow(entry: number): boolean {
    const walk = this.#walk;
    if (walk.word(entry, field.kind) !== kind.ordinary) {
      return false;
    }
    const id = walk.text(entry, field.id) ?? "";
    if (!this.#posts.canBeRow(id)) {
      return false;
    }
    const keptTo = walk.word(entry, field.keptTo);
    // The bytes on both sides of a payload are not needed, so they are overwritten with its braces.
    const bodyStart =
      (keptTo === 0 ? walk.word(entry, field.from) : walk.word(entry, field.keptFrom) - 1) +
      this.#payloadShift;
    const bodyEnd = keptTo === 0 ? bodyStart + 2 : keptTo + 1 + this.#payloadShift;
    this.#builder.enclose(bodyStart, bodyEnd);
    this.#posts.addPost({
      id,
      traceId: walk.text(entry, field.traceId) ?? "",
      parentRunId: walk.text(entry, field.parent),
      dottedOrder: walk.dottedOrder(entry),
      projectName: walk.text(entry, field.project),
      name: walk.text(entry, field.name),
      runType: walk.text(entry, field.runType),
      startMicros: walk.micros(entry, field.startMicros),
      endMicros: walk.micros(entry, field.endMicros),
      hasError: walk.word(entry, field.hasError),
      facets: this.#facetsOf(walk.word(entry, field.source)),
      measures: walk.word(entry, field.hasMeasures) === 0 ? undefined : this.#readMeasures(entry),
      bodyStart,
      bodyEnd,
    });
    return true;
  }

  /** Returns the facets that all runs with the same tags and extra share. */
  #facetsOf(source: number): readonly string[] {
    return (this.#facets[source] ??= facetsOfJson(
      this.#slice(source, field.tagsFrom, field.tagsTo),
      this.#slice(source, field.extraFrom, field.extraTo),
    ));
  }

  #slice(entry: number, from: number, to: number): Buffer {
    const end = this.#walk.word(entry, to);
    return end === 0 ? emptyBuffer : this.#walk.body.subarray(this.#walk.word(entry, from), end);
  }

  #readMeasures(entry: number): RunMeasures | undefined {
    const walk = this.#walk;
    const members = new Map<string, Buffer>();
    const first = walk.word(entry, field.members);
    const end = first + walk.word(entry, field.memberCount);
    for (let index = first; index < end; index += 1) {
      const code = walk.memberWord(index, memberField.code);
      if (code >= columnCodes) {
        members.set(walk.memberName(index), walk.memberValue(index));
      }
    }
    return readMeasures(members, (json) => walk.membersOf(json));
  }

  #addRun(entry: number, operation: Operation): void {
    if (this.#walk.word(entry, field.kind) === kind.other) {
      this.#builder.reject({ id: null, operation, reason: "a run must be a JSON object" });
      return;
    }
    const { members, values, rawMembers } = this.#splitRun(entry);
    const record = this.#builder.addRun({ operation, members, values, rawMembers }, rules);
    if (record !== undefined) {
      this.#posts.add(record);
    }
  }

  #splitRun(entry: number): SplitRun {
    const walk = this.#walk;
    const run = new SplitRun(this.#source);
    const first = walk.word(entry, field.members);
    const end = first + walk.word(entry, field.memberCount);
    for (let index = first; index < end; index += 1) {
      const nameAt = walk.memberWord(index, memberField.nameAt);
      const from = walk.memberWord(index, memberField.from);
      const to = walk.memberWord(index, memberField.to);
      run.add(walk.memberName(index), { nameAt, from, to });
    }
    return run;
  }
}
