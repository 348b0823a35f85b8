import type { AuditEntry } from "../model/audit-entry.ts";
import type { Activity } from "../runs/activity.ts";
import type { PackedBatch } from "../runs/run-record.ts";
import type { GroupedBatch } from "../runs/sqlite/post-rows.ts";
import type { VersionAuthor } from "../datasets/version-author.ts";
import type { SchemaCheckResult } from "../datasets/examples/schemas/schema-checks.ts";
import type { MetricWrites } from "../metrics/metrics.ts";
import type { TextIndexWriter } from "../runs/sqlite/text-index/text-index-writer.ts";
import type { ResourceCall, ThreadReply } from "../storage/thread-reply.ts";
import type { Writers } from "./repositories.ts";

/** The resources whose methods the writer thread can call: those of the API, the text index, and the metrics. */
export type WriterResources = Writers & {
  readonly textIndex: TextIndexWriter;
  readonly metrics: MetricWrites;
};

export type WriterRequest =
  | {
      readonly kind: "ingest";
      readonly tenantId: string;
      readonly batch: GroupedBatch | PackedBatch;
    }
  | (ResourceCall<WriterResources> & {
      readonly kind: "write";
      /** Results of the schema checks that were already done for the write; see `SchemaChecks`. */
      readonly checkResults: readonly SchemaCheckResult[];
      /** Who makes the write, for the versions that it adds to datasets; absent if that is not known. */
      readonly author?: VersionAuthor;
      /** The entry of the audit log that is stored with the write. */
      readonly audit?: AuditEntry | undefined;
    })
  | { readonly kind: "close" };

/** A request, with the sequence number that its reply repeats. */
export interface WriterCall {
  readonly sequence: number;
  readonly request: WriterRequest;
}

export type WriterMessage =
  | { readonly kind: "ready"; readonly readOnlyReason: string | undefined }
  /** Posted when the server begins to accept only deletions, and when it accepts all writes again. */
  | { readonly kind: "diskSpace"; readonly readOnlyReason: string | undefined }
  | { readonly kind: "failedToStart"; readonly reason: string }
  /** The results of requests that shared a transaction. */
  | {
      readonly kind: "done";
      /** Counts of the runs that these requests stored. */
      readonly activity: readonly Activity[];
      readonly replies: readonly ThreadReply[];
      /** The buffers that contained the payloads of these requests; the main thread can use them again. */
      readonly buffers: readonly ArrayBuffer[];
    };
