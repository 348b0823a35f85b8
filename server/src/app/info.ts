import { version } from "millrace/model";
import { hasZstd } from "../bodies/read-body.ts";
import type { Store } from "../store/store.ts";
import { apiVersion, serverLimits } from "../model/options.ts";

/** `GET /info`: what this server accepts. It needs no key, so the reason for read-only mode is kept short. */
export const readInfo = ({ readOnlyReason }: Pick<Store, "readOnlyReason">) => ({
  version: apiVersion,
  // Ours alone, and only then.
  ...(readOnlyReason === undefined
    ? {}
    : { read_only: "the disk is full: only deletions are taken" }),
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
    // Ours alone: senders may say what they have counted.
    millrace_sender_stats: true,
    // Ours alone: payload fields may come in pieces.
    millrace_repeated_content: true,
    examples_check_enabled: true,
    examples_after_enabled: true,
  },
});

/** `GET /`: for a person who opens the address. */
export const readRoot = (baseUrl: string) => ({
  name: "millrace",
  version,
  endpoint: baseUrl,
  info: `${baseUrl}/info`,
});
