import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactNode } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { useFindKey } from "../../components/keyboard/list-keys.ts";
import { Empty } from "../../components/page/states.tsx";
import { DataTable } from "../../components/table/data-table.tsx";
import type { RowLink } from "../../components/table/data-table.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { datasetColumns } from "./dataset-columns.tsx";
import { DatasetForm } from "./dataset-form.tsx";
import type { DatasetColumn } from "./dataset-search.ts";
import type { Dataset } from "./dataset.ts";
import { ImportDialog } from "./import/import-dialog.tsx";
import { datasetsQuery, deleteDatasets } from "./queries.ts";
import "./datasets.css";

const route = getRouteApi("/o/$tenantId/datasets");
const none: ReadonlySet<string> = new Set();

/** `/o/{tenantId}/datasets`: the tenant's datasets. */
export const Datasets = () => {
  const { tenantId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const datasets = useInfiniteQuery(datasetsQuery(search));
  const [selection, setSelection] = useState(none);
  const [open, setOpen] = useState<"create" | "import" | "delete">();
  const close = (): void => setOpen(undefined);
  const rows = datasets.data?.pages.flat();
  const field = useFindKey("Find datasets by name");
  return (
    <div className="fill">
      <title>Datasets · Millrace</title>
      <div className="heading">
        <h1>Datasets</h1>
        <div className="tools">
          {selection.size > 0 && (
            <Button size="xs" color="red" variant="light" onClick={() => setOpen("delete")}>
              Delete {selection.size}
            </Button>
          )}
          <TextInput
            ref={field}
            size="xs"
            type="search"
            aria-label="Part of a name"
            placeholder="Search names"
            value={search.q ?? ""}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                search: ({ q: _q, ...rest }) => (value === "" ? rest : { ...rest, q: value }),
                replace: true,
              })
            }
          />
          <Button size="xs" variant="default" onClick={() => setOpen("import")}>
            Import file
          </Button>
          <Button size="xs" onClick={() => setOpen("create")}>
            New dataset
          </Button>
        </div>
      </div>
      <DataTable
        what="datasets"
        rows={rows}
        rowId={({ id }) => id}
        columns={datasetColumns}
        link={toLink(tenantId)}
        sort={{ column: search.sort ?? "modified_at", order: search.order ?? "desc" }}
        onSort={({ column, order }) =>
          void navigate({
            search: (now) => ({ ...now, sort: column as DatasetColumn, order }),
            replace: true,
          })
        }
        selection={selection}
        onSelection={setSelection}
        hasMore={datasets.hasNextPage}
        onMore={() => void (datasets.isFetching ? undefined : datasets.fetchNextPage())}
        error={datasets.error}
        onRetry={datasets.refetch}
        empty={
          <NoDatasets isSearched={search.q !== undefined} onCreate={() => setOpen("create")} />
        }
      />
      {open === "create" && <DatasetForm onClose={close} tenantId={tenantId} />}
      {open === "import" && <ImportDialog onClose={close} tenantId={tenantId} />}
      {open === "delete" && (
        <DeleteDatasets ids={[...selection]} onClose={close} onDeleted={() => setSelection(none)} />
      )}
    </div>
  );
};

const toLink =
  (tenantId: string) =>
  ({ id: datasetId }: Dataset, part: RowLink): ReactNode => (
    <Link to="/o/$tenantId/datasets/$datasetId" params={{ tenantId, datasetId }} {...part} />
  );

const NoDatasets = ({
  isSearched,
  onCreate,
}: {
  readonly isSearched: boolean;
  readonly onCreate: () => void;
}) =>
  isSearched ? (
    <Empty title="No dataset has that in its name." />
  ) : (
    <Empty title="No datasets yet.">
      <p>Examples to test an application on. Make one here, import a file, or add runs to one.</p>
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
  const what = pluralize(ids.length, "dataset");
  return (
    <Confirm
      title={`Delete ${what}?`}
      action={`Delete ${what}`}
      onClose={onClose}
      onConfirm={async () => {
        await deleteDatasets(ids);
        onDeleted();
        await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      }}
    >
      <p>Their examples and all versions of them go too. Experiments on them stay as projects.</p>
    </Confirm>
  );
};
