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
  cancelled: "Cancelled. What was imported before stays.",
  failed: "Stopped. What was imported before stays.",
} as const;

/** How far an import is, and what became of it. */
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
        {titles[kind]} {pluralize(state.count, "example")}, {pluralize(state.rejectedCount, "row")}{" "}
        rejected
      </output>
      <Progress
        value={state.share * 100}
        aria-label="Share of the file"
        animated={kind === "running"}
      />
      <FormError error={kind === "failed" ? step.reason : undefined} />
      {state.rejected.length > 0 && <Rejected rows={state.rejected} total={state.rejectedCount} />}
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
                Open the dataset
              </Button>
            )}
            <Button onClick={onClose}>Close</Button>
          </>
        )}
      </div>
    </div>
  );
};

const Rejected = ({
  rows,
  total,
}: {
  readonly rows: readonly RejectedRow[];
  readonly total: number;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is in reach of the keyboard
  <section className="import-preview" tabIndex={0} aria-label="Rejected rows">
    <table>
      <thead>
        <tr>
          <th scope="col">Line</th>
          <th scope="col">Why it was not taken</th>
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
    {total > rows.length && <p>And {(total - rows.length).toLocaleString("en")} more.</p>}
  </section>
);
