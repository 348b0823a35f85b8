import { Payload } from "../../../components/payload/payload.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import type { TraceRunDetails } from "../queries.ts";

/** The tags, metadata, runtime environment and serialized component of a run. */
export const MetadataTab = ({ details }: { readonly details: TraceRunDetails }) => {
  const { metadata, extra, serialized, tags } = details;
  const hasMetadata = Object.keys(metadata).length > 0;
  const otherExtra = omitMetadata(extra);
  return (
    <>
      {tags.length > 0 && (
        <p className="summary panel-tags">
          {tags.map((tag, index) => (
            // The index is a stable React key: tags may repeat, but their order does not change.
            <span key={index} className="tag">
              <bdi>{toVisibleText(tag)}</bdi>
            </span>
          ))}
        </p>
      )}
      <Payload label="Metadata" value={hasMetadata ? metadata : undefined} mode="json" />
      {otherExtra !== undefined && <Payload label="Extra fields" value={otherExtra} mode="json" />}
      {serialized !== undefined && (
        <Payload label="Serialized component" value={serialized} mode="json" />
      )}
    </>
  );
};

/** Returns `extra` without its metadata. A large value in the memory of a worker is returned unchanged. */
function omitMetadata(extra: unknown): unknown {
  if (typeof extra !== "object" || extra === null) {
    return extra;
  }
  if (Object.getPrototypeOf(extra) !== Object.prototype) {
    return extra;
  }
  const { metadata: _metadata, ...others } = extra as Readonly<Record<string, unknown>>;
  return Object.keys(others).length === 0 ? undefined : others;
}
