import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import type { PairwiseComparison } from "./experiment.ts";
import { createPairwiseQuery } from "./queries.ts";
import "./experiments.css";

/** The pairwise comparisons of a dataset's experiments. */
export const Comparisons = ({
  datasetId,
  tenantId,
}: {
  readonly datasetId: string;
  readonly tenantId: string;
}) => {
  const pages = useInfiniteQuery(createPairwiseQuery(datasetId));
  return (
    <div className="dataset-list">
      <DataTable
        resourceName="pairwise comparisons"
        rows={pages.data?.pages.flat()}
        getRowId={({ id }) => id}
        columns={columns}
        renderLink={toLink({ tenantId, datasetId })}
        hasMore={pages.hasNextPage}
        onLoadMore={() => void (pages.isFetching ? undefined : pages.fetchNextPage())}
        error={pages.error}
        onRetry={pages.refetch}
        emptyState={
          <Empty title="No pairwise comparisons yet">
            <p>
              <code>evaluateComparative</code> judges the outputs of experiments side by side.
            </p>
            <Link
              to="/o/$tenantId/datasets/$datasetId"
              params={{ tenantId, datasetId }}
              search={{ tab: "experiments" }}
            >
              Select two experiments to compare
            </Link>
          </Empty>
        }
      />
    </div>
  );
};

const toLink =
  (params: { readonly tenantId: string; readonly datasetId: string }) =>
  ({ id, experiments }: PairwiseComparison, linkProps: RowLinkProps): ReactNode => (
    <Link
      to="/o/$tenantId/datasets/$datasetId/compare"
      params={params}
      search={{
        experiments: experiments.map((experiment) => experiment.id).join(","),
        comparative: id,
      }}
      {...linkProps}
    />
  );

const columns: readonly Column<PairwiseComparison>[] = [
  {
    id: "name",
    title: "Comparison",
    width: 180,
    grow: 1,
    isFixed: true,
    isShownWhenNarrow: true,
    renderCell: ({ name }) => <bdi>{toVisibleText(name)}</bdi>,
  },
  {
    id: "experiments",
    title: "Experiments",
    width: 240,
    grow: 2,
    isShownWhenNarrow: true,
    renderCell: ({ experiments }) => experiments.map(({ name }) => toVisibleText(name)).join(" · "),
  },
  {
    id: "keys",
    title: "Feedback keys",
    width: 160,
    grow: 1,
    renderCell: ({ keys }) => keys.map(toVisibleText).join(", ") || "–",
  },
  {
    id: "created",
    title: "Created",
    width: 110,
    renderCell: ({ createdMs }) => <Ago timeMs={createdMs} />,
  },
];
