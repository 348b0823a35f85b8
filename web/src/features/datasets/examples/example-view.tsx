import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Code } from "../../../components/code/code.tsx";
import { formatJson } from "../../../components/text/json-text.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatTime } from "../../../components/time/time.ts";
import { SplitTags } from "./example-columns.tsx";
import type { Example } from "./example.ts";
import { createRunAddressQuery } from "./queries.ts";

/** Shows an example, read-only. */
export const ExampleView = ({
  example,
  tenantId,
}: {
  readonly example: Example;
  /** Absent on a shared page, whose readers can't open the source run. */
  readonly tenantId?: string;
}) => {
  const { inputs, outputs, metadata, splits, files, sourceRunId } = example;
  return (
    <>
      <PayloadSection label="Inputs" value={inputs} />
      {outputs === undefined ? (
        <p className="absent">
          <span>Reference outputs</span>: none
        </p>
      ) : (
        <PayloadSection label="Reference outputs" value={outputs} />
      )}
      {Object.keys(metadata).length > 0 && <PayloadSection label="Metadata" value={metadata} />}
      {files.length > 0 && (
        <ul className="example-files" aria-label="Files">
          {files.map(({ name, url, mimeType }) => (
            <li key={name}>
              <a href={url} download rel="noreferrer">
                {toVisibleText(name)}
              </a>{" "}
              <span className="quiet">{toVisibleText(mimeType)}</span>
            </li>
          ))}
        </ul>
      )}
      <dl className="times">
        <dt>Splits</dt>
        <dd>
          <SplitTags names={splits} />
        </dd>
        {sourceRunId !== undefined && tenantId !== undefined && (
          <>
            <dt>Source run</dt>
            <dd>
              <RunLink runId={sourceRunId} tenantId={tenantId} />
            </dd>
          </>
        )}
        <dt>Created</dt>
        <dd>{formatTime(example.createdMs)}</dd>
        <dt>Modified</dt>
        <dd>{formatTime(example.modifiedMs)}</dd>
        <dt>ID</dt>
        <dd>{example.id}</dd>
      </dl>
    </>
  );
};

const PayloadSection = ({ label, value }: { readonly label: string; readonly value: unknown }) => (
  <section className="example-part">
    <h2>{label}</h2>
    <Code label={label} language="json" readOnly value={formatJson(value)} />
  </section>
);

/**
 * The id of a run. It becomes a link to the run's trace when the server has returned the project and the trace of the
 * run.
 */
const RunLink = ({ runId, tenantId }: { readonly runId: string; readonly tenantId: string }) => {
  const { data: address, isError } = useQuery(createRunAddressQuery(runId));
  if (address === undefined) {
    return <span className="quiet">{isError ? `${runId} (not found)` : runId}</span>;
  }
  return (
    <Link
      to="/o/$tenantId/projects/p/$projectId"
      params={{ tenantId, projectId: address.projectId }}
      search={{ trace: address.traceId, run: runId }}
    >
      {runId}
    </Link>
  );
};
