import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { omitUndefined } from "../../../api/parse.ts";
import { Empty } from "../../../components/page/states.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { diffKinds } from "../dataset-search.ts";
import type { DiffKind } from "../dataset-search.ts";
import { PayloadText } from "../examples/example-columns.tsx";
import { createDiffQuery } from "../examples/queries.ts";
import type { DiffPage, ExampleDifference } from "../examples/queries.ts";
import { createVersionsQuery } from "../queries.ts";
import { AuthorName } from "./author-name.tsx";
import { findChangedFields } from "./changed-fields.ts";
import type { ChangedFields } from "./changed-fields.ts";
import { DiffPanel } from "./diff-panel.tsx";
import { findVersion, toVersionOptions } from "./version-options.ts";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

const maxValueChars = 240;

const kindLabels = { added: "+ added", removed: "− removed", modified: "~ changed" } as const;

interface VersionDiffProps {
  readonly datasetId: string;
  readonly from: string;
  readonly to: string;
  readonly kind: DiffKind | undefined;
}

/**
 * The differences between two versions: the number of changes by kind, the changed examples, and the changed fields of
 * the open example.
 */
export const VersionDiff = ({ datasetId, from, to, kind }: VersionDiffProps) => {
  const params = route.useParams();
  const { example } = route.useSearch();
  const navigate = route.useNavigate();
  const diff = useInfiniteQuery(
    createDiffQuery(datasetId, { from, to, ...omitUndefined({ kind }) }),
  );
  const counts = diff.data?.pages[0]?.counts;
  const rows = diff.data?.pages.flatMap(({ changes }) => changes);
  const openChange = rows?.find(({ id }) => id === example);
  return (
    <>
      <div className="dataset-list">
        <div className="example-filters">
          <VersionSelects
            datasetId={datasetId}
            from={from}
            to={to}
            laterNumber={diff.data?.pages[0]?.number}
          />
          {diff.data?.pages[0] !== undefined && <Authors page={diff.data.pages[0]} />}
          <div className="tools">
            {[undefined, ...diffKinds].map((kindFilter) => (
              <button
                key={kindFilter ?? "all"}
                type="button"
                className="diff-kind"
                data-kind={kindFilter}
                aria-pressed={kindFilter === kind}
                onClick={() =>
                  void navigate({
                    search: { tab: "versions", from, to, ...omitUndefined({ kind: kindFilter }) },
                    replace: true,
                  })
                }
              >
                {kindFilter === undefined ? "All" : kindLabels[kindFilter]}{" "}
                {formatCount(counts, kindFilter)}
              </button>
            ))}
          </div>
        </div>
        <DataTable
          resourceName="changes"
          rows={rows}
          getRowId={({ id }) => id}
          columns={columns}
          renderLink={toLink(params)}
          openId={example}
          hasMore={diff.hasNextPage}
          onLoadMore={() => void (diff.isFetching ? undefined : diff.fetchNextPage())}
          error={diff.error}
          onRetry={diff.refetch}
          emptyState={<Empty title="No differences between these versions" />}
        />
      </div>
      {openChange !== undefined && (
        <DiffPanel
          key={openChange.id}
          datasetId={datasetId}
          change={openChange}
          from={from}
          to={to}
          onClose={() => void navigate({ search: ({ example: _closed, ...others }) => others })}
        />
      )}
    </>
  );
};

/** The authors of the two versions. */
const Authors = ({
  page: { author, fromAuthor },
}: {
  readonly page: Pick<DiffPage, "author" | "fromAuthor">;
}) => (
  <span className="quiet version-authors">
    By <AuthorName author={fromAuthor} /> → <AuthorName author={author} />
  </span>
);

function formatCount(
  counts: Readonly<Record<DiffKind, number>> | undefined,
  kind: DiffKind | undefined,
): string {
  if (counts === undefined) {
    return "";
  }
  const count =
    kind === undefined
      ? diffKinds.reduce((sum, diffKind) => sum + counts[diffKind], 0)
      : counts[kind];
  return count.toLocaleString("en");
}

const toLink =
  (params: { readonly tenantId: string; readonly datasetId: string }) =>
  ({ id }: ExampleDifference, linkProps: RowLinkProps) => (
    <Link
      from="/o/$tenantId/datasets/$datasetId"
      to="/o/$tenantId/datasets/$datasetId"
      params={params}
      search={(current) => ({ ...current, example: id })}
      {...linkProps}
    />
  );

const columns: readonly Column<ExampleDifference>[] = [
  {
    id: "kind",
    title: "Change",
    width: 104,
    isFixed: true,
    isShownWhenNarrow: true,
    renderCell: ({ kind }) => (
      <span className="diff-kind" data-kind={kind}>
        {kindLabels[kind]}
      </span>
    ),
  },
  {
    id: "inputs",
    title: "Inputs",
    width: 160,
    grow: 2,
    isShownWhenNarrow: true,
    renderCell: ({ before, after }) => <PayloadText preview={(after ?? before)?.inputs} />,
  },
  {
    id: "fields",
    title: "Changed",
    width: 140,
    grow: 1,
    isShownWhenNarrow: true,
    renderCell: ({ kind, before, after }) =>
      kind === "modified" ? <ChangedPaths {...findChangedFields(before, after)} /> : "",
  },
  {
    id: "before",
    title: "Before",
    width: 140,
    grow: 2,
    renderCell: (change) => <FieldValue change={change} side="before" />,
  },
  {
    id: "after",
    title: "After",
    width: 140,
    grow: 2,
    renderCell: (change) => <FieldValue change={change} side="after" />,
  },
];

/** The paths of the fields that changed, such as `outputs.answer`. */
const ChangedPaths = ({ fields, isPartial }: ChangedFields) => {
  const paths = fields.map(({ path }) => toVisibleText(path)).join(", ");
  return (
    <span title={paths === "" ? undefined : paths}>
      {paths === "" && isPartial ? "Not in the preview" : paths}
    </span>
  );
};

/** The value that the first changed field has in one of the two versions. */
const FieldValue = ({
  change: { kind, before, after },
  side,
}: {
  readonly change: ExampleDifference;
  readonly side: "before" | "after";
}) => {
  const [field] = kind === "modified" ? findChangedFields(before, after).fields : [];
  const value = field?.[side];
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return <span className="example-text">{toVisibleText(text.slice(0, maxValueChars))}</span>;
};

/** Two select boxes for the versions to compare. */
const VersionSelects = ({
  datasetId,
  from,
  to,
  laterNumber,
}: {
  readonly datasetId: string;
  readonly from: string;
  readonly to: string;
  /** The number of the version `to`; `undefined` while it is loading. */
  readonly laterNumber: number | undefined;
}) => {
  const navigate = route.useNavigate();
  const versions = useInfiniteQuery(createVersionsQuery(datasetId));
  const loadedVersions = versions.data?.pages.flat() ?? [];
  const options = toVersionOptions(loadedVersions, { asOf: to, number: laterNumber });
  const renderSelect = (
    label: string,
    version: string,
    onChange: (newVersion: string) => void,
  ): ReactNode => {
    // The URL may name a version by one of its tags.
    const value = findVersion(loadedVersions, version)?.asOf ?? version;
    return (
      <NativeSelect
        size="xs"
        aria-label={label}
        value={value}
        data={[
          ...(options.some((option) => option.value === value)
            ? []
            : [{ value, label: toVisibleText(value) }]),
          ...options,
        ]}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  };
  const setVersions = (changes: { readonly from?: string; readonly to?: string }): void =>
    void navigate({
      search: ({ example: _closed, ...others }) => ({ ...others, ...changes }),
      replace: true,
    });
  return (
    <>
      {renderSelect("From version", from, (newVersion) => setVersions({ from: newVersion }))}
      <span aria-hidden="true">→</span>
      {renderSelect("To version", to, (newVersion) => setVersions({ to: newVersion }))}
    </>
  );
};
