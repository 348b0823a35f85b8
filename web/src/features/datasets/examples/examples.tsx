import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { omitUndefined } from "../../../api/parse.ts";
import { ActionMenu } from "../../../components/page/action-menu.tsx";
import { Empty } from "../../../components/page/states.tsx";
import { useColumnLayout } from "../../../components/table/column-layout.ts";
import { ColumnMenu } from "../../../components/table/column-menu.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import type { RowLinkProps } from "../../../components/table/data-table.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import { createExampleCountsQuery } from "../../comments/queries.ts";
import type { ExampleFilter } from "../dataset-search.ts";
import type { Dataset } from "../dataset.ts";
import { DeleteExamples } from "./delete-examples.tsx";
import { createExampleColumns } from "./example-columns.tsx";
import { ExampleFilters } from "./example-filters.tsx";
import type { ExamplePreview } from "./example.ts";
import { createCountQuery, createPreviewsQuery } from "./queries.ts";
import { SplitDialog } from "./split-dialog.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");
const noCounts: ReadonlyMap<string, number> = new Map();
const noSelection: ReadonlySet<string> = new Set();

/** The examples of a dataset, in the newest version or in the version that the URL names. */
export const Examples = ({ dataset: { id: datasetId } }: { readonly dataset: Dataset }) => {
  const params = route.useParams();
  const { q, split, metadata, asOf, by, order, example } = route.useSearch();
  const navigate = route.useNavigate();
  const filter: ExampleFilter = omitUndefined({ q, split, metadata, asOf });
  const pages = useInfiniteQuery(
    createPreviewsQuery(datasetId, omitUndefined({ ...filter, by, order })),
  );
  const count = useQuery(createCountQuery(datasetId, filter));
  const { data: commentCounts = noCounts } = useQuery(createExampleCountsQuery(datasetId));
  const exampleColumns = useMemo(() => createExampleColumns(commentCounts), [commentCounts]);
  const [layout, setLayout] = useColumnLayout("examples");
  const [selection, setSelection] = useState(noSelection);
  const [openDialog, setOpenDialog] = useState<"split" | "delete">();
  const selectedIds = [...selection];
  const isFiltered = q !== undefined || split !== undefined || metadata !== undefined;
  const isNewestVersion = asOf === undefined;
  return (
    <div className="dataset-list">
      <ExampleFilters datasetId={datasetId}>
        <output className="quiet nowrap">
          {count.data === undefined ? "" : pluralize(count.data, "example")}
        </output>
        {selection.size > 0 && isNewestVersion && (
          <ActionMenu
            label={`Selected (${selection.size}): actions`}
            text={`Selected (${selection.size})`}
            actions={[
              { label: "Edit splits", onClick: () => setOpenDialog("split") },
              {
                label: `Delete ${pluralize(selection.size, "example")}`,
                onClick: () => setOpenDialog("delete"),
                isDestructive: true,
              },
            ]}
          />
        )}
        <ColumnMenu columns={exampleColumns} layout={layout} onLayout={setLayout} />
      </ExampleFilters>
      <DataTable
        resourceName="examples"
        rows={pages.data?.pages.flat()}
        getRowId={({ id }) => id}
        columns={exampleColumns}
        layout={layout}
        onLayout={setLayout}
        renderLink={toLink(params)}
        openId={example}
        sort={{
          column: by === "recently_created" ? "created" : "modified",
          order: order ?? "desc",
        }}
        onSort={(sort) =>
          void navigate({
            search: (current) => ({
              ...current,
              by: sort.column === "created" ? "recently_created" : "recent",
              order: sort.order,
            }),
            replace: true,
          })
        }
        {...(isNewestVersion ? { selection, onSelection: setSelection } : {})}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetching ? undefined : pages.fetchNextPage())}
        error={pages.error}
        onRetry={pages.refetch}
        emptyState={
          isFiltered ? (
            <Empty title="No matching examples" />
          ) : (
            <Empty title={isNewestVersion ? "No examples yet" : "This version has no examples"}>
              {isNewestVersion && <p>Add an example, import a file, or add runs from a project.</p>}
            </Empty>
          )
        }
      />
      {openDialog === "split" && (
        <SplitDialog
          datasetId={datasetId}
          exampleIds={selectedIds}
          onClose={() => setOpenDialog(undefined)}
        />
      )}
      {openDialog === "delete" && (
        <DeleteExamples
          ids={selectedIds}
          datasetId={datasetId}
          onClose={() => setOpenDialog(undefined)}
          onDeleted={() => setSelection(noSelection)}
        />
      )}
    </div>
  );
};

const toLink =
  (params: { readonly tenantId: string; readonly datasetId: string }) =>
  ({ id }: ExamplePreview, linkProps: RowLinkProps): ReactNode => (
    <Link
      from="/o/$tenantId/datasets/$datasetId"
      to="/o/$tenantId/datasets/$datasetId"
      params={params}
      search={(current) => ({ ...current, example: id })}
      {...linkProps}
    />
  );
