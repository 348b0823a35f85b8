import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactNode } from "react";
import { omitUndefined } from "../../../api/parse.ts";
import { Empty } from "../../../components/page/states.tsx";
import { useColumnLayout } from "../../../components/table/column-layout.ts";
import { ColumnMenu } from "../../../components/table/column-menu.tsx";
import { DataTable } from "../../../components/table/data-table.tsx";
import type { RowLink } from "../../../components/table/data-table.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import type { ExampleFilter } from "../dataset-search.ts";
import type { Dataset } from "../dataset.ts";
import { DeleteExamples } from "./delete-examples.tsx";
import { exampleColumns } from "./example-columns.tsx";
import { ExampleFilters } from "./example-filters.tsx";
import type { ExamplePreview } from "./example.ts";
import { countQuery, previewsQuery } from "./queries.ts";
import { SplitDialog } from "./split-dialog.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");
const none: ReadonlySet<string> = new Set();

/** The examples of a dataset, as they are or as they were in a version. */
export const Examples = ({ dataset: { id: datasetId } }: { readonly dataset: Dataset }) => {
  const params = route.useParams();
  const { q, split, metadata, asOf, by, order, example } = route.useSearch();
  const navigate = route.useNavigate();
  const filter: ExampleFilter = omitUndefined({ q, split, metadata, asOf });
  const pages = useInfiniteQuery(previewsQuery(datasetId, omitUndefined({ ...filter, by, order })));
  const count = useQuery(countQuery(datasetId, filter));
  const [layout, setLayout] = useColumnLayout("examples");
  const [selection, setSelection] = useState(none);
  const [open, setOpen] = useState<"split" | "delete">();
  const ids = [...selection];
  const isFiltered = q !== undefined || split !== undefined || metadata !== undefined;
  const isNow = asOf === undefined;
  return (
    <div className="dataset-list">
      <ExampleFilters datasetId={datasetId}>
        <output className="quiet nowrap">
          {count.data === undefined ? "" : pluralize(count.data, "example")}
        </output>
        {selection.size > 0 && isNow && (
          <>
            <Button size="xs" variant="default" onClick={() => setOpen("split")}>
              Splits of {selection.size}
            </Button>
            <Button size="xs" variant="light" color="red" onClick={() => setOpen("delete")}>
              Delete {selection.size}
            </Button>
          </>
        )}
        <ColumnMenu columns={exampleColumns} layout={layout} onLayout={setLayout} />
      </ExampleFilters>
      <DataTable
        what="examples"
        rows={pages.data?.pages.flat()}
        rowId={({ id }) => id}
        columns={exampleColumns}
        layout={layout}
        onLayout={setLayout}
        link={toLink(params)}
        openId={example}
        sort={{
          column: by === "recently_created" ? "created" : "modified",
          order: order ?? "desc",
        }}
        onSort={(sort) =>
          void navigate({
            search: (now) => ({
              ...now,
              by: sort.column === "created" ? "recently_created" : "recent",
              order: sort.order,
            }),
            replace: true,
          })
        }
        {...(isNow ? { selection, onSelection: setSelection } : {})}
        hasMore={pages.hasNextPage}
        onMore={() => void (pages.isFetching ? undefined : pages.fetchNextPage())}
        error={pages.error}
        onRetry={pages.refetch}
        empty={
          isFiltered ? (
            <Empty title="No example is like that." />
          ) : (
            <Empty title={isNow ? "No examples yet." : "This version has no examples."}>
              {isNow && <p>Add one, import a file, or add runs of a project.</p>}
            </Empty>
          )
        }
      />
      {open === "split" && (
        <SplitDialog datasetId={datasetId} ids={ids} onClose={() => setOpen(undefined)} />
      )}
      {open === "delete" && (
        <DeleteExamples
          ids={ids}
          datasetId={datasetId}
          onClose={() => setOpen(undefined)}
          onDeleted={() => setSelection(none)}
        />
      )}
    </div>
  );
};

const toLink =
  (params: { readonly tenantId: string; readonly datasetId: string }) =>
  ({ id }: ExamplePreview, part: RowLink): ReactNode => (
    <Link
      from="/o/$tenantId/datasets/$datasetId"
      to="/o/$tenantId/datasets/$datasetId"
      params={params}
      search={(now) => ({ ...now, example: id })}
      {...part}
    />
  );
