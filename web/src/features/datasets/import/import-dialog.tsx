import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, useId } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createDatasetQuery } from "../queries.ts";
import { previewFile } from "./import-file.ts";
import type { FilePreview } from "./import-file.ts";
import { ImportPlan } from "./import-plan.tsx";
import { ImportProgress } from "./import-progress.tsx";
import { useImport } from "./use-import.ts";

/**
 * A dialog that imports a file into a dataset. The user selects the file and maps its columns; then the dialog shows
 * the progress and the rejected rows.
 */
export const ImportDialog = ({
  datasetId,
  tenantId,
  onClose,
}: {
  /** The dataset to import into; absent to let the user choose one or create a new one. */
  readonly datasetId?: string;
  readonly tenantId: string;
  readonly onClose: () => void;
}) => {
  const [selectedFile, setSelectedFile] = useState<{
    readonly file: File;
    readonly preview: FilePreview;
  }>();
  const [fileError, setFileError] = useState<string>();
  const fileImport = useImport();
  const targetDataset = useQuery({
    ...createDatasetQuery(datasetId ?? ""),
    enabled: datasetId !== undefined,
  });
  const selectFile = async (file: File): Promise<void> => {
    try {
      setSelectedFile({ file, preview: await previewFile(file) });
      setFileError(undefined);
    } catch (cause) {
      setSelectedFile(undefined);
      setFileError(`${file.name}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  };
  const cancelAndClose = (): void => {
    fileImport.cancel();
    onClose();
  };
  const title =
    targetDataset.data === undefined
      ? "Import file"
      : `Import into ${toVisibleText(targetDataset.data.name)}`;
  return (
    <Dialog title={title} width={820} onClose={cancelAndClose}>
      {fileImport.step.kind === "idle" ? (
        <div className="form">
          <FileDrop fileName={selectedFile?.file.name} onFile={(file) => void selectFile(file)} />
          <FormError error={fileError} />
          {selectedFile === undefined && (
            <div className="dialog-end">
              <Button variant="default" onClick={cancelAndClose}>
                Cancel
              </Button>
            </div>
          )}
          {selectedFile !== undefined && (
            <ImportPlan
              key={`${selectedFile.file.name} ${selectedFile.file.size} ${selectedFile.file.lastModified}`}
              file={selectedFile.file}
              preview={selectedFile.preview}
              datasetId={datasetId}
              onClose={cancelAndClose}
              onStart={(plan) => void fileImport.start({ ...plan, file: selectedFile.file })}
            />
          )}
        </div>
      ) : (
        <ImportProgress
          step={fileImport.step}
          tenantId={tenantId}
          onCancel={fileImport.cancel}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
};

/** An area on which the user can drop a file. A click on the area opens the file picker. */
const FileDrop = ({
  fileName,
  onFile,
}: {
  readonly fileName: string | undefined;
  readonly onFile: (file: File) => void;
}) => {
  const id = useId();
  const [isDragOver, setIsDragOver] = useState(false);
  const passFirstFile = (files: FileList | null): void => {
    const file = files?.[0];
    if (file !== undefined) {
      onFile(file);
    }
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keyboard users reach the file input inside
    <label
      className="file-drop"
      htmlFor={id}
      data-drag-over={isDragOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsDragOver(true);
      }}
      onDragLeave={() => setIsDragOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsDragOver(false);
        passFirstFile(event.dataTransfer.files);
      }}
    >
      <input
        id={id}
        type="file"
        className="unseen"
        accept=".csv,.jsonl,.ndjson,text/csv,application/x-ndjson"
        onChange={({ currentTarget }) => passFirstFile(currentTarget.files)}
      />
      {fileName === undefined ? (
        <span>Drop a CSV or JSONL file here, or click to choose one</span>
      ) : (
        <span>
          <b>{toVisibleText(fileName)}</b> · Choose another file
        </span>
      )}
    </label>
  );
};
