import { version } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { Text, Count, Flag } from "../http/schema-parts.ts";
import { hasZstd } from "../bodies/read-body.ts";
import type { Store } from "../store/store.ts";
import { apiVersion, serverLimits } from "../model/options.ts";

/** The response body of `GET /info`. */
export const infoSchema = Type.Object(
  {
    version: Text,
    read_only: Type.Optional(Text),
    batch_ingest_config: Type.Object({
      use_multipart_endpoint: Flag,
      scale_up_qsize_trigger: Count,
      scale_up_nthreads_limit: Count,
      scale_down_nempty_trigger: Count,
      size_limit: Count,
      size_limit_bytes: Count,
    }),
    instance_flags: Type.Object({
      gzip_body_enabled: Flag,
      zstd_compression_enabled: Flag,
      dataset_examples_multipart_enabled: Flag,
      millrace_sender_stats: Flag,
      millrace_repeated_content: Flag,
      examples_check_enabled: Flag,
      examples_after_enabled: Flag,
      feedback_parts_enabled: Flag,
    }),
  },
  { title: "ServerInfo" },
);

/**
 * `GET /info`: the capabilities of this server. It is public, so the reason for read-only mode contains no paths or
 * sizes.
 */
export const readInfo = ({
  readOnlyReason,
}: Pick<Store, "readOnlyReason">): Static<typeof infoSchema> => ({
  version: apiVersion,
  // Only Millrace servers have this member. It is present while the server is read-only.
  ...(readOnlyReason === undefined
    ? {}
    : { read_only: "the disk is full: only deletions are accepted" }),
  batch_ingest_config: {
    use_multipart_endpoint: true,
    scale_up_qsize_trigger: 1_000,
    scale_up_nthreads_limit: 16,
    scale_down_nempty_trigger: 4,
    size_limit: serverLimits.operations,
    size_limit_bytes: serverLimits.bodyBytes,
  },
  instance_flags: {
    gzip_body_enabled: true,
    zstd_compression_enabled: hasZstd,
    dataset_examples_multipart_enabled: true,
    // Only Millrace servers have this flag: SDK clients can report how many of their records were delivered, dropped
    // and so on.
    millrace_sender_stats: true,
    // Only Millrace servers have this flag: a client may replace content that the server already has from the same
    // trace by the content's digest.
    millrace_repeated_content: true,
    examples_check_enabled: true,
    examples_after_enabled: true,
    feedback_parts_enabled: true,
  },
});

/** `GET /`: describes the server to a person who opens its URL in a browser. */
export const readRoot = (baseUrl: string) => ({
  name: "millrace",
  version,
  endpoint: baseUrl,
  info: `${baseUrl}/info`,
});
