import { Button, Menu } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { DatasetForm } from "./dataset-form.tsx";
import type { Dataset } from "./dataset.ts";
import { NewExample } from "./examples/example-editor.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { ImportDialog } from "./import/import-dialog.tsx";
import { deleteDatasets, shareQuery } from "./queries.ts";
import { ShareDialog } from "./share-dialog.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

type Open = "add" | "import" | "export" | "share" | "edit" | "delete";

/** What can be done with a dataset. */
export const DatasetMenu = ({
  dataset,
  tenantId,
}: {
  readonly dataset: Dataset;
  readonly tenantId: string;
}) => {
  const { asOf, split } = route.useSearch();
  const [open, setOpen] = useState<Open>();
  const share = useQuery(shareQuery(dataset.id));
  const close = (): void => setOpen(undefined);
  const button = (name: Open, label: string) => (
    <Button size="xs" variant="default" onClick={() => setOpen(name)}>
      {label}
    </Button>
  );
  return (
    <div className="tools">
      {button("import", "Import file")}
      {button("export", "Export")}
      {button("share", typeof share.data === "string" ? "Shared" : "Share")}
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <Button size="xs" variant="default" aria-label="More about this dataset">
            ⋯
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen("edit")}>Edit name, schemas, metadata</Menu.Item>
          <Menu.Item color="red" onClick={() => setOpen("delete")}>
            Delete dataset
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Button size="xs" onClick={() => setOpen("add")}>
        Add example
      </Button>
      {open === "add" && <NewExample datasetId={dataset.id} onClose={close} />}
      {open === "import" && (
        <ImportDialog datasetId={dataset.id} tenantId={tenantId} onClose={close} />
      )}
      {open === "export" && (
        <ExportDialog dataset={dataset} asOf={asOf} split={split} onClose={close} />
      )}
      {open === "share" && <ShareDialog datasetId={dataset.id} onClose={close} />}
      {open === "edit" && <DatasetForm dataset={dataset} tenantId={tenantId} onClose={close} />}
      {open === "delete" && <DeleteDataset dataset={dataset} tenantId={tenantId} onClose={close} />}
    </div>
  );
};

const DeleteDataset = ({
  dataset,
  tenantId,
  onClose,
}: {
  readonly dataset: Dataset;
  readonly tenantId: string;
  readonly onClose: () => void;
}) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <Confirm
      title="Delete this dataset?"
      action="Delete dataset"
      {...(dataset.exampleCount > 0 ? { typed: dataset.name } : {})}
      onClose={onClose}
      onConfirm={async () => {
        await deleteDatasets([dataset.id]);
        await navigate({ to: "/o/$tenantId/datasets", params: { tenantId } });
        await queryClient.invalidateQueries({ queryKey: ["datasets"], refetchType: "active" });
      }}
    >
      <p>
        Its {dataset.exampleCount.toLocaleString("en")} examples and all versions of them go too.
        Experiments on it stay as projects.
      </p>
    </Confirm>
  );
};
