import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { FormSection } from "../../components/dialog/form.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { formatBytes } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatTime, parseTimeMs } from "../../components/time/time.ts";
import { storagePageSize, createStorageQuery } from "./queries.ts";
import type { LimitUsage, StorageUsage } from "./queries.ts";

/** The disk usage of the server, and the number of runs by project. */
export const Storage = () => {
  const [offset, setOffset] = useState(0);
  const { data, error, refetch } = useQuery({
    ...createStorageQuery(offset),
    placeholderData: keepPreviousData,
  });
  return (
    <FormSection title="Storage">
      {data === undefined && error === null && <Loading resourceName="the storage usage" />}
      {data === undefined && error !== null && (
        <Failure resourceName="the storage usage" error={error} onRetry={refetch} />
      )}
      {data !== undefined && (
        <>
          <StorageTotals usage={data} />
          <ProjectRunCounts usage={data} />
          {(offset > 0 || data.hasMoreProjects) && (
            <div className="settings-row">
              <Button
                variant="default"
                disabled={offset === 0}
                onClick={() => setOffset(offset - storagePageSize)}
              >
                Previous projects
              </Button>
              <Button
                variant="default"
                disabled={!data.hasMoreProjects}
                onClick={() => setOffset(offset + storagePageSize)}
              >
                Next projects
              </Button>
            </div>
          )}
        </>
      )}
    </FormSection>
  );
};

const limitNames: ReadonlyMap<string, string> = new Map([
  ["stored_bytes", "Size of stored runs"],
  ["stored_runs", "Number of runs"],
  ["ingest_bytes", "Received today (UTC)"],
]);

/** Describes the usage of a limit, such as `1.2 MB of 5 MB`, and what happens if the limit is reached. */
function describeUsage({ limit, max, used }: LimitUsage): string {
  const format = (value: number): string =>
    limit.endsWith("bytes") ? formatBytes(value) : value.toLocaleString("en");
  if (used === undefined) {
    return `not measured yet, limit ${format(max)}`;
  }
  const isReached = used >= max;
  return `${format(used)} of ${format(max)}${isReached ? ": new runs are rejected" : ""}`;
}

const StorageTotals = ({
  usage: { limits, databaseBytes, freeBytes, attachments },
}: {
  readonly usage: StorageUsage;
}) => (
  <dl className="settings-facts">
    <dt>Database</dt>
    <dd>
      {formatBytes(databaseBytes)}
      {freeBytes > 0 && `, ${formatBytes(freeBytes)} of it free for new data`}
    </dd>
    <dt>Attachments</dt>
    <dd>
      {attachments.isComplete ? "" : "more than "}
      {attachments.count.toLocaleString("en")}, {formatBytes(attachments.bytes)}
    </dd>
    {limits.map((limitUsage) => (
      <Fragment key={limitUsage.limit}>
        <dt>{limitNames.get(limitUsage.limit) ?? limitUsage.limit}</dt>
        <dd
          className={
            limitUsage.used !== undefined && limitUsage.used >= limitUsage.max ? "bad" : ""
          }
        >
          {describeUsage(limitUsage)}
        </dd>
      </Fragment>
    ))}
  </dl>
);

const ProjectRunCounts = ({ usage: { projects } }: { readonly usage: StorageUsage }) => (
  <ScrollX label="Runs by project">
    <table className="projects">
      <thead>
        <tr>
          <th scope="col">Project</th>
          <th scope="col" className="number">
            Runs
          </th>
          <th scope="col">Oldest run</th>
        </tr>
      </thead>
      <tbody>
        {projects.map(({ projectId, name, count, isComplete, oldest }) => (
          <tr key={projectId}>
            <td className="cell-project">{toVisibleText(name)}</td>
            <td className="number">
              {count.toLocaleString("en")}
              {isComplete ? "" : "+"}
            </td>
            <td className="nowrap">
              {oldest === undefined ? "" : formatTime(parseTimeMs(oldest) ?? 0).slice(0, 16)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollX>
);
