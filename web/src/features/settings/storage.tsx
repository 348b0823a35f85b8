import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { FormSection } from "../../components/dialog/form.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { formatBytes } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatTime, parseTimeMs } from "../../components/time/time.ts";
import { storagePage, storageQuery } from "./queries.ts";
import type { StorageUse } from "./queries.ts";

/** What takes room on the server's disk. */
export const Storage = () => {
  const [offset, setOffset] = useState(0);
  const { data, error, refetch } = useQuery({
    ...storageQuery(offset),
    placeholderData: keepPreviousData,
  });
  return (
    <FormSection title="Storage">
      {data === undefined && error === null && <Loading what="what is stored" />}
      {data === undefined && error !== null && (
        <Failure what="what is stored" error={error} onRetry={refetch} />
      )}
      {data !== undefined && (
        <>
          <Totals use={data} />
          <Projects use={data} />
          {(offset > 0 || data.projects.length === storagePage) && (
            <div className="settings-row">
              <Button
                variant="default"
                disabled={offset === 0}
                onClick={() => setOffset(offset - storagePage)}
              >
                Before
              </Button>
              <Button
                variant="default"
                disabled={data.projects.length < storagePage}
                onClick={() => setOffset(offset + storagePage)}
              >
                Next
              </Button>
            </div>
          )}
        </>
      )}
    </FormSection>
  );
};

const Totals = ({
  use: { databaseBytes, freeBytes, attachments },
}: {
  readonly use: StorageUse;
}) => (
  <dl className="settings-facts">
    <dt>Database</dt>
    <dd>
      {formatBytes(databaseBytes)}
      {freeBytes > 0 && `, ${formatBytes(freeBytes)} of it free for what comes`}
    </dd>
    <dt>Attachments</dt>
    <dd>
      {attachments.isComplete ? "" : "more than "}
      {attachments.count.toLocaleString("en")}, {formatBytes(attachments.bytes)}
    </dd>
  </dl>
);

const Projects = ({ use: { projects } }: { readonly use: StorageUse }) => (
  <ScrollX label="Runs by project">
    <table className="projects">
      <thead>
        <tr>
          <th scope="col">Project</th>
          <th scope="col" className="number">
            Runs
          </th>
          <th scope="col">Oldest</th>
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
