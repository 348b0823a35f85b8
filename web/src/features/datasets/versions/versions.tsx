import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { Empty } from "../../../components/page/states.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import type { Column } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import { formatTime } from "../../../components/time/time.ts";
import type { DatasetVersion } from "../dataset.ts";
import { createVersionsQuery } from "../queries.ts";
import { TagDialog } from "./tag-dialog.tsx";
import { VersionDiff } from "./version-diff.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

/** The list of a dataset's versions, or the differences between two of them if the URL names two. */
export const Versions = ({ datasetId }: { readonly datasetId: string }) => {
  const { from, to, kind } = route.useSearch();
  const params = route.useParams();
  const versions = useInfiniteQuery(createVersionsQuery(datasetId));
  const [versionToTag, setVersionToTag] = useState<DatasetVersion>();
  const rows = versions.data?.pages.flat();
  if (from !== undefined && to !== undefined) {
    return (
      // The key remounts the diff for other versions; otherwise it would show the old rows while the new ones load.
      <VersionDiff key={`${from} ${to}`} datasetId={datasetId} from={from} to={to} kind={kind} />
    );
  }
  return (
    <div className="dataset-list">
      <DataTable
        resourceName="versions"
        rows={rows}
        getRowId={({ asOf }) => asOf}
        columns={toColumns({ params, rows: rows ?? [], onTag: setVersionToTag })}
        hasMore={versions.hasNextPage}
        onLoadMore={() => void (versions.isFetching ? undefined : versions.fetchNextPage())}
        error={versions.error}
        onRetry={versions.refetch}
        emptyState={
          <Empty title="No versions yet">
            <p>Each write to the examples creates a version.</p>
          </Empty>
        }
      />
      {versionToTag !== undefined && (
        <TagDialog
          datasetId={datasetId}
          version={versionToTag}
          onClose={() => setVersionToTag(undefined)}
        />
      )}
    </div>
  );
};

const toColumns = ({
  params,
  rows,
  onTag,
}: {
  readonly params: { readonly tenantId: string; readonly datasetId: string };
  readonly rows: readonly DatasetVersion[];
  readonly onTag: (version: DatasetVersion) => void;
}): readonly Column<DatasetVersion>[] => [
  {
    id: "at",
    title: "Version",
    width: 190,
    isFixed: true,
    isShownWhenNarrow: true,
    renderCell: ({ atMs }) => formatTime(atMs),
  },
  { id: "age", title: "Age", width: 100, renderCell: ({ atMs }) => <Ago timeMs={atMs} /> },
  {
    id: "tags",
    title: "Tags",
    width: 120,
    grow: 1,
    renderCell: ({ tags }) =>
      tags.map((tag) => (
        <span key={tag} className="tag">
          {toVisibleText(tag)}
        </span>
      )),
  },
  {
    id: "actions",
    title: "Actions",
    width: 320,
    isShownWhenNarrow: true,
    renderCell: (version) => {
      const previous = rows[rows.indexOf(version) + 1];
      return (
        <span className="tools">
          <Link
            to="/o/$tenantId/datasets/$datasetId"
            params={params}
            search={{ asOf: version.asOf }}
          >
            View examples
          </Link>
          {previous !== undefined && (
            <Link
              to="/o/$tenantId/datasets/$datasetId"
              params={params}
              search={{ tab: "versions", from: previous.asOf, to: version.asOf }}
            >
              View changes
            </Link>
          )}
          <Link
            to="/o/$tenantId/datasets/$datasetId"
            params={params}
            search={{ tab: "versions", from: version.asOf, to: "latest" }}
          >
            Compare with latest
          </Link>
          <Button size="compact-xs" variant="subtle" onClick={() => onTag(version)}>
            Add tag
          </Button>
        </span>
      );
    },
  },
];
