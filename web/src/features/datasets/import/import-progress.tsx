import { Button, Progress } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { FormError } from "../../../components/dialog/form.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import type { RejectedRow } from "./upload.ts";
import type { ImportStep } from "./use-import.ts";

const titles = {
  running: "Importing…",
  done: "Imported.",
  canceled: "Canceled. Imported examples are kept:",
  failed: "Import failed. Imported examples are kept:",
} as const;

/** Shows the progress of an import and, once it has ended, the result with the rejected rows. */
export const ImportProgress = ({
  step,
  tenantId,
  onCancel,
  onClose,
}: {
  readonly step: Exclude<ImportStep, { readonly kind: "idle" }>;
  readonly tenantId: string;
  readonly onCancel: () => void;
  readonly onClose: () => void;
}) => {
  const { kind, state, datasetId } = step;
  return (
    <div className="form">
      <output className="import-state">
        {titles[kind]} {pluralize(state.createdCount, "example")},{" "}
        {pluralize(state.rejectedCount, "row")} rejected
      </output>
      <Progress
        value={state.fractionRead * 100}
        aria-label="Import progress"
        animated={kind === "running"}
      />
      <FormError error={kind === "failed" ? step.reason : undefined} />
      {state.firstRejectedRows.length > 0 && (
        <RejectedRows rows={state.firstRejectedRows} total={state.rejectedCount} />
      )}
      <div className="dialog-end">
        {kind === "running" ? (
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        ) : (
          <>
            {datasetId !== undefined && (
              <Button
                variant="light"
                renderRoot={(props) => (
                  <Link
                    to="/o/$tenantId/datasets/$datasetId"
                    params={{ tenantId, datasetId }}
                    {...props}
                  />
                )}
                onClick={onClose}
              >
                Open dataset
              </Button>
            )}
            <Button onClick={onClose}>Close</Button>
          </>
        )}
      </div>
    </div>
  );
};

const RejectedRows = ({
  rows,
  total,
}: {
  readonly rows: readonly RejectedRow[];
  readonly total: number;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll the table
  <section className="import-preview" tabIndex={0} aria-label="Rejected rows">
    <table>
      <thead>
        <tr>
          <th scope="col">Line</th>
          <th scope="col">Reason</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ line, reason }) => (
          <tr key={line}>
            <td>{line}</td>
            <td>{toVisibleText(reason)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    {total > rows.length && <p>{pluralize(total - rows.length, "more rejected row")}</p>}
  </section>
);
