import type { TraceRunDetails } from "../queries.ts";
import { toReplayCode } from "./replay-code.ts";
import { CopyText } from "../../../components/text/copy-text.tsx";

/** A program that does again what a run did. */
export const CodeTab = ({ details }: { readonly details: TraceRunDetails }) => (
  <CopyText label="Replay this run (TypeScript)" text={toReplayCode(details, location.origin)} />
);
