import { Payload } from "../../../components/payload/payload.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import type { TraceRunDetails } from "../queries.ts";

/** Tags, metadata, and what else is known of where a run came from. */
export const MetadataTab = ({ details }: { readonly details: TraceRunDetails }) => {
  const { metadata, extra, serialized, tags } = details;
  const hasMetadata = Object.keys(metadata).length > 0;
  const rest = withoutMetadata(extra);
  return (
    <>
      {tags.length > 0 && (
        <p className="summary panel-tags">
          {tags.map((tag, index) => (
            // Tags may repeat, and they don't move.
            <span key={index} className="tag">
              <bdi>{toVisibleText(tag)}</bdi>
            </span>
          ))}
        </p>
      )}
      <Payload label="Metadata" value={hasMetadata ? metadata : undefined} mode="json" />
      {rest !== undefined && <Payload label="More" value={rest} mode="json" />}
      {serialized !== undefined && <Payload label="Serialized" value={serialized} mode="json" />}
    </>
  );
};

/** One that a worker holds is shown whole. */
function withoutMetadata(extra: unknown): unknown {
  if (typeof extra !== "object" || extra === null) {
    return extra;
  }
  if (Object.getPrototypeOf(extra) !== Object.prototype) {
    return extra;
  }
  const { metadata: _shown, ...rest } = extra as Readonly<Record<string, unknown>>;
  return Object.keys(rest).length === 0 ? undefined : rest;
}
