import { ActionIcon, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import { toJsonText } from "../../components/text/json-text.ts";
import { pluralize } from "../../components/text/quantity.ts";
import { SplitTags } from "../datasets/examples/example-columns.tsx";
import { ExampleView } from "../datasets/examples/example-view.tsx";
import type { Example } from "../datasets/examples/example.ts";
import { createSharedExampleCountQuery, createSharedExamplesQuery } from "./queries.ts";

const route = getRouteApi("/public/$token/d");

/** The list of a shared dataset's examples, with a panel for the open example. */
export const SharedExamples = ({ token }: { readonly token: string }) => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const pages = useInfiniteQuery(createSharedExamplesQuery(token, search));
  const count = useQuery(createSharedExampleCountQuery(token, search));
  const rows = pages.data?.pages.flat();
  const openExample = rows?.find(({ id }) => id === search.example);
  return (
    <div className="dataset-body">
      <div className="dataset-list">
        <search className="example-filters">
          <TextInput
            size="xs"
            type="search"
            aria-label="Search inputs and outputs"
            placeholder="Search inputs and outputs"
            value={search.q ?? ""}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                search: ({ q: _q, ...others }) => (value === "" ? others : { ...others, q: value }),
                replace: true,
              })
            }
          />
          <output className="quiet">
            {count.data === undefined ? "" : pluralize(count.data, "example")}
          </output>
        </search>
        <DataTable
          resourceName="examples"
          rows={rows}
          getRowId={({ id }) => id}
          columns={columns}
          renderLink={createLinkRenderer(token)}
          openId={search.example}
          hasMore={pages.hasNextPage}
          onLoadMore={() => void (pages.isFetching ? undefined : pages.fetchNextPage())}
          error={pages.error}
          onRetry={pages.refetch}
          emptyState={<Empty title="No examples" />}
        />
      </div>
      {openExample !== undefined && (
        <aside className="panel example-panel" aria-label="Example">
          <div className="example-panel-head">
            <h1>Example</h1>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label="Close example"
              onClick={() => void navigate({ search: ({ example: _closed, ...others }) => others })}
            >
              ✕
            </ActionIcon>
          </div>
          <ExampleView example={openExample} />
        </aside>
      )}
    </div>
  );
};

const createLinkRenderer =
  (token: string) =>
  ({ id }: Example, linkProps: RowLinkProps): ReactNode => (
    <Link
      from="/public/$token/d"
      to="/public/$token/d"
      params={{ token }}
      search={(current) => ({ ...current, example: id })}
      {...linkProps}
    />
  );

const PayloadCell = ({ value }: { readonly value: unknown }) =>
  value === undefined ? (
    "–"
  ) : (
    <span className="example-text">{toJsonText(value, 400).text.replaceAll(/\s+/g, " ")}</span>
  );

const columns: readonly Column<Example>[] = [
  {
    id: "inputs",
    title: "Inputs",
    width: 200,
    grow: 1,
    isShownWhenNarrow: true,
    renderCell: ({ inputs }) => <PayloadCell value={inputs} />,
  },
  {
    id: "outputs",
    title: "Reference outputs",
    width: 200,
    grow: 1,
    isShownWhenNarrow: true,
    renderCell: ({ outputs }) => <PayloadCell value={outputs} />,
  },
  {
    id: "splits",
    title: "Splits",
    width: 140,
    renderCell: ({ splits }) => <SplitTags names={splits} />,
  },
];
