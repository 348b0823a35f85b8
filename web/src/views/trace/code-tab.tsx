import type { TraceRunDetails } from "../../api/traces.ts";
import { toReplayCode } from "../../lib/replay-code.ts";
import { CopyText } from "../../parts/copy-text.tsx";

/** A program that does again what a run did. */
export const CodeTab = ({ details }: { readonly details: TraceRunDetails }) => (
  <CopyText label="Replay this run (TypeScript)" text={toReplayCode(details, location.origin)} />
);
