import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { Empty } from "../../../components/page/states.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import type { Column } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import type { DatasetVersion } from "../dataset.ts";
import { createVersionChangesQuery } from "../examples/queries.ts";
import { createVersionsQuery } from "../queries.ts";
import { AuthorName } from "./author-name.tsx";
import { TagDialog } from "./tag-dialog.tsx";
import { VersionDiff } from "./version-diff.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

/** The list of a dataset's versions. If the URL names two versions, shows the differences between them instead. */
export const Versions = ({ datasetId }: { readonly datasetId: string }) => {
  const { from, to, kind } = route.useSearch();
  const params = route.useParams();
  const versions = useInfiniteQuery(createVersionsQuery(datasetId));
  const [versionToTag, setVersionToTag] = useState<DatasetVersion>();
  const rows = versions.data?.pages.flat();
  if (from !== undefined && to !== undefined) {
    return (
      // Without this key, the diff would show the old rows while the rows of other versions are loading.
      <VersionDiff key={`${from} ${to}`} datasetId={datasetId} from={from} to={to} kind={kind} />
    );
  }
  return (
    <div className="dataset-list">
      <DataTable
        resourceName="versions"
        rows={rows}
        getRowId={({ asOf }) => asOf}
        columns={toColumns({
          datasetId,
          hasMore: versions.hasNextPage,
          params,
          rows: rows ?? [],
          onTag: setVersionToTag,
        })}
        renderNarrowDetail={(version) => (
          <>
            <VersionAuthorName
              datasetId={datasetId}
              version={version}
              previous={findPrevious(rows ?? [], version)}
            />
            <VersionActions
              version={version}
              previous={findPrevious(rows ?? [], version)}
              params={params}
              onTag={setVersionToTag}
            />
          </>
        )}
        hasMore={versions.hasNextPage}
        onLoadMore={() => void (versions.isFetching ? undefined : versions.fetchNextPage())}
        error={versions.error}
        onRetry={versions.refetch}
        emptyState={
          <Empty title="No versions yet">
            <p>Each change to the examples creates a version.</p>
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

/** The numbers of examples that a version added, changed and removed. */
const VersionChanges = ({
  datasetId,
  version,
  previous,
}: {
  readonly datasetId: string;
  readonly version: DatasetVersion;
  /** The version before `version`; `undefined` if `version` is the first one. */
  readonly previous: DatasetVersion | undefined;
}) => {
  const { data } = useQuery(createVersionChangesQuery(datasetId, version.asOf, previous?.asOf));
  return data === undefined ? null : (
    <span className="version-changes">
      {(["added", "modified", "removed"] as const).map((kind) => (
        <span key={kind} className="diff-kind" data-kind={kind} title={kindTitles[kind]}>
          {kindSigns[kind]}
          {data.counts[kind].toLocaleString("en")}
        </span>
      ))}
    </span>
  );
};

const VersionNumber = ({ datasetId, version, previous }: Parameters<typeof VersionChanges>[0]) => {
  const { data } = useQuery(createVersionChangesQuery(datasetId, version.asOf, previous?.asOf));
  return <b>{data?.number === undefined ? "" : `#${data.number.toLocaleString("en")}`}</b>;
};

const VersionAuthorName = ({
  datasetId,
  version,
  previous,
}: Parameters<typeof VersionChanges>[0]) => {
  const { data } = useQuery(createVersionChangesQuery(datasetId, version.asOf, previous?.asOf));
  return data === undefined ? null : <AuthorName author={data.author} />;
};

const kindSigns = { added: "+", modified: "~", removed: "−" } as const;
const kindTitles = { added: "Added", modified: "Changed", removed: "Removed" } as const;

const toColumns = ({
  datasetId,
  hasMore,
  params,
  rows,
  onTag,
}: {
  readonly datasetId: string;
  /** Whether there are older versions than the loaded ones. */
  readonly hasMore: boolean;
  readonly params: { readonly tenantId: string; readonly datasetId: string };
  readonly rows: readonly DatasetVersion[];
  readonly onTag: (version: DatasetVersion) => void;
}): readonly Column<DatasetVersion>[] => {
  const toVersionProps = (version: DatasetVersion) => ({
    datasetId,
    version,
    previous: findPrevious(rows, version),
  });
  // The changes of the last loaded version are unknown until the version before it is also loaded.
  const hasKnownChanges = (version: DatasetVersion): boolean => !hasMore || rows.at(-1) !== version;
  return [
    {
      id: "at",
      title: "Version",
      width: 76,
      isFixed: true,
      isShownWhenNarrow: true,
      renderCell: (version) =>
        hasKnownChanges(version) && <VersionNumber {...toVersionProps(version)} />,
    },
    {
      id: "age",
      title: "Created",
      width: 110,
      isShownWhenNarrow: true,
      renderCell: ({ atMs }) => <Ago timeMs={atMs} />,
    },
    {
      id: "author",
      title: "Author",
      width: 120,
      tooltip: "The person, the API key or the program that wrote the version",
      renderCell: (version) =>
        hasKnownChanges(version) && <VersionAuthorName {...toVersionProps(version)} />,
    },
    {
      id: "changes",
      title: "Changes",
      width: 120,
      isShownWhenNarrow: true,
      tooltip: "Examples that the version added, changed and removed",
      renderCell: (version) =>
        hasKnownChanges(version) && <VersionChanges {...toVersionProps(version)} />,
    },
    {
      id: "tags",
      title: "Tags",
      width: 100,
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
      width: 400,
      renderCell: (version) => (
        <VersionActions
          version={version}
          previous={findPrevious(rows, version)}
          params={params}
          onTag={onTag}
        />
      ),
    },
  ];
};

/**
 * Returns the version before `version`; `undefined` if `version` is the first one, or the version before it is not
 * loaded.
 */
const findPrevious = (
  rows: readonly DatasetVersion[],
  version: DatasetVersion,
): DatasetVersion | undefined => rows[rows.indexOf(version) + 1];

const VersionActions = ({
  version,
  previous,
  params,
  onTag,
}: {
  readonly version: DatasetVersion;
  readonly previous: DatasetVersion | undefined;
  readonly params: { readonly tenantId: string; readonly datasetId: string };
  readonly onTag: (version: DatasetVersion) => void;
}) => (
  <span className="tools">
    <Link to="/o/$tenantId/datasets/$datasetId" params={params} search={{ asOf: version.asOf }}>
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
