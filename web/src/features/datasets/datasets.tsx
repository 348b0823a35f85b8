import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactNode } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { RowLinkProps } from "../../components/table/data-table.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { datasetColumns } from "./dataset-columns.tsx";
import { DatasetForm } from "./dataset-form.tsx";
import type { DatasetSortColumn } from "./dataset-search.ts";
import type { Dataset } from "./dataset.ts";
import { ImportDialog } from "./import/import-dialog.tsx";
import { createDatasetsQuery, deleteDatasets } from "./queries.ts";
import "./datasets.css";

const route = getRouteApi("/o/$tenantId/datasets");
const noSelection: ReadonlySet<string> = new Set();

/** The page `/o/{tenantId}/datasets`, which lists the datasets of a tenant. */
export const Datasets = () => {
  const { tenantId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const datasets = useInfiniteQuery(createDatasetsQuery(search));
  const [selection, setSelection] = useState(noSelection);
  const [openDialog, setOpenDialog] = useState<"create" | "import" | "delete">();
  const close = (): void => setOpenDialog(undefined);
  const rows = datasets.data?.pages.flat();
  const searchField = useSearchShortcut("Search datasets by name");
  return (
    <div className="fill">
      <title>Datasets · Millrace</title>
      <div className="heading">
        <h1>Datasets</h1>
        <div className="tools">
          {selection.size > 0 && (
            <ActionMenu
              label={`Selected (${selection.size}): actions`}
              text={`Selected (${selection.size})`}
              actions={[
                {
                  label: `Delete ${pluralize(selection.size, "dataset")}`,
                  onClick: () => setOpenDialog("delete"),
                  isDestructive: true,
                },
              ]}
            />
          )}
          <TextInput
            ref={searchField}
            size="xs"
            type="search"
            aria-label="Search datasets by name"
            placeholder="Search names"
            value={search.q ?? ""}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                search: ({ q: _q, ...others }) => (value === "" ? others : { ...others, q: value }),
                replace: true,
              })
            }
          />
          <Button size="xs" variant="default" onClick={() => setOpenDialog("import")}>
            Import file
          </Button>
          <Button size="xs" onClick={() => setOpenDialog("create")}>
            New dataset
          </Button>
        </div>
      </div>
      <DataTable
        resourceName="datasets"
        rows={rows}
        getRowId={({ id }) => id}
        columns={datasetColumns}
        renderLink={toLink(tenantId)}
        sort={{ column: search.sort ?? "modified_at", order: search.order ?? "desc" }}
        onSort={({ column, order }) =>
          void navigate({
            search: (current) => ({ ...current, sort: column as DatasetSortColumn, order }),
            replace: true,
          })
        }
        selection={selection}
        onSelection={setSelection}
        hasMore={datasets.hasNextPage}
        onLoadMore={() => void (datasets.isFetching ? undefined : datasets.fetchNextPage())}
        error={datasets.error}
        onRetry={datasets.refetch}
        emptyState={
          <NoDatasets
            isSearched={search.q !== undefined}
            onCreate={() => setOpenDialog("create")}
          />
        }
      />
      {openDialog === "create" && <DatasetForm onClose={close} tenantId={tenantId} />}
      {openDialog === "import" && <ImportDialog onClose={close} tenantId={tenantId} />}
      {openDialog === "delete" && (
        <DeleteDatasets
          ids={[...selection]}
          onClose={close}
          onDeleted={() => setSelection(noSelection)}
        />
      )}
    </div>
  );
};

const toLink =
  (tenantId: string) =>
  ({ id: datasetId }: Dataset, linkProps: RowLinkProps): ReactNode => (
    <Link to="/o/$tenantId/datasets/$datasetId" params={{ tenantId, datasetId }} {...linkProps} />
  );

const NoDatasets = ({
  isSearched,
  onCreate,
}: {
  readonly isSearched: boolean;
  readonly onCreate: () => void;
}) =>
  isSearched ? (
    <Empty title="No matching datasets" />
  ) : (
    <Empty title="No datasets yet">
      <p>
        A dataset holds examples for testing an application. Create one, import a file, or add runs
        from a project.
      </p>
      <Button size="xs" onClick={onCreate}>
        New dataset
      </Button>
    </Empty>
  );

const DeleteDatasets = ({
  ids,
  onClose,
  onDeleted,
}: {
  readonly ids: readonly string[];
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}) => {
  const queryClient = useQueryClient();
  const datasetCount = pluralize(ids.length, "dataset");
  return (
    <Confirm
      title={`Delete ${datasetCount}?`}
      action={`Delete ${datasetCount}`}
      onClose={onClose}
      onConfirm={async () => {
        await deleteDatasets(ids);
        onDeleted();
        await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      }}
    >
      <p>
        All examples and versions of the selected datasets are also deleted. Experiments are kept as
        projects.
      </p>
    </Confirm>
  );
};
