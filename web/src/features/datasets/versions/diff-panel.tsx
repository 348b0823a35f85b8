import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { TextDiff } from "../../../components/code/text-diff.tsx";
import { Failure, Loading } from "../../../components/page/states.tsx";
import { formatJson } from "../../../components/text/json-text.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createExampleQuery } from "../examples/queries.ts";
import type { ExampleDifference } from "../examples/queries.ts";
import { diffExamples } from "./diff-examples.ts";

/** A panel that shows how one example differs between two versions, field by field. */
export const DiffPanel = ({
  datasetId,
  change: { id, kind },
  from,
  to,
  onClose,
}: {
  readonly datasetId: string;
  readonly change: ExampleDifference;
  readonly from: string;
  readonly to: string;
  readonly onClose: () => void;
}) => {
  const before = useQuery({
    ...createExampleQuery(datasetId, id, from),
    enabled: kind !== "added",
  });
  const after = useQuery({ ...createExampleQuery(datasetId, id, to), enabled: kind !== "removed" });
  const error = before.error ?? after.error;
  const isLoaded =
    (kind === "added" || before.data !== undefined) &&
    (kind === "removed" || after.data !== undefined);
  return (
    <aside className="panel example-panel" aria-label="Changes to the example">
      <div className="example-panel-head">
        <h1>Example {id.slice(0, 8)}</h1>
        <ActionIcon variant="subtle" color="gray" aria-label="Close example" onClick={onClose}>
          ✕
        </ActionIcon>
      </div>
      {error !== null && (
        <Failure
          resourceName="the example"
          error={error}
          onRetry={async () => Promise.all([before.refetch(), after.refetch()])}
        />
      )}
      {!isLoaded && error === null && <Loading resourceName="the example" />}
      {isLoaded &&
        diffExamples(before.data, after.data).map((field) => (
          <section key={field.path} className="example-part">
            <h2>{toVisibleText(field.path)}</h2>
            <TextDiff
              label={`${toVisibleText(field.path)}, ${field.kind}`}
              language={typeof field.after === "string" ? "text" : "json"}
              before={toText(field.before)}
              after={toText(field.after)}
            />
          </section>
        ))}
    </aside>
  );
};

/** Formats a value for the diff: a string unchanged, any other value as JSON. */
function toText(value: unknown): string {
  if (value === undefined) {
    return "";
  }
  return typeof value === "string" ? value : formatJson(value);
}
