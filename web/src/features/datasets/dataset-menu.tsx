import { Button, Menu } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Confirm } from "../../components/dialog/confirm.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { DatasetForm } from "./dataset-form.tsx";
import type { Dataset } from "./dataset.ts";
import { NewExample } from "./examples/example-editor.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { ImportDialog } from "./import/import-dialog.tsx";
import { deleteDatasets, createShareQuery } from "./queries.ts";
import { ShareDialog } from "./share-dialog.tsx";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

type DialogName = "add" | "import" | "export" | "share" | "edit" | "delete";

/** The actions in the heading of a dataset's page, and the dialogs that they open. */
export const DatasetMenu = ({
  dataset,
  tenantId,
}: {
  readonly dataset: Dataset;
  readonly tenantId: string;
}) => {
  const { asOf, split, example, tab = "examples" } = route.useSearch();
  const [openDialog, setOpenDialog] = useState<DialogName>();
  const shareQuery = useQuery(createShareQuery(dataset.id));
  const close = (): void => setOpenDialog(undefined);
  const renderButton = (name: DialogName, label: string) => (
    <Button size="xs" variant="default" onClick={() => setOpenDialog(name)}>
      {label}
    </Button>
  );
  return (
    <div className="tools">
      {renderButton("import", "Import file")}
      {renderButton("export", "Export")}
      {renderButton("share", typeof shareQuery.data === "string" ? "Shared" : "Share")}
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <Button size="xs" variant="default" aria-label="More dataset actions">
            ⋯
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpenDialog("edit")}>
            Edit name, schemas and metadata
          </Menu.Item>
          <Menu.Item color="red" onClick={() => setOpenDialog("delete")}>
            Delete dataset
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {/* Emphasize this button only where it is the primary action: other tabs and an open example have their own. */}
      <Button
        size="xs"
        variant={tab === "examples" && example === undefined ? "filled" : "default"}
        onClick={() => setOpenDialog("add")}
      >
        Add example
      </Button>
      {openDialog === "add" && <NewExample datasetId={dataset.id} onClose={close} />}
      {openDialog === "import" && (
        <ImportDialog datasetId={dataset.id} tenantId={tenantId} onClose={close} />
      )}
      {openDialog === "export" && (
        <ExportDialog dataset={dataset} asOf={asOf} split={split} onClose={close} />
      )}
      {openDialog === "share" && <ShareDialog datasetId={dataset.id} onClose={close} />}
      {openDialog === "edit" && (
        <DatasetForm dataset={dataset} tenantId={tenantId} onClose={close} />
      )}
      {openDialog === "delete" && (
        <DeleteDataset dataset={dataset} tenantId={tenantId} onClose={close} />
      )}
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
      {...(dataset.exampleCount > 0 ? { confirmationText: dataset.name } : {})}
      onClose={onClose}
      onConfirm={async () => {
        await deleteDatasets([dataset.id]);
        await navigate({ to: "/o/$tenantId/datasets", params: { tenantId } });
        await queryClient.invalidateQueries({ queryKey: ["datasets"], refetchType: "active" });
      }}
    >
      <p>
        This deletes {pluralize(dataset.exampleCount, "example")} and all versions. Experiments on
        this dataset are kept as projects.
      </p>
    </Confirm>
  );
};
