import { useQuery } from "@tanstack/react-query";
import { useState, useId } from "react";
import { Dialog } from "../../../components/dialog/dialog.tsx";
import { FormError } from "../../../components/dialog/form.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { datasetQuery } from "../queries.ts";
import { previewFile } from "./import-file.ts";
import type { FilePreview } from "./import-file.ts";
import { ImportPlan } from "./import-plan.tsx";
import { ImportProgress } from "./import-progress.tsx";
import { useImport } from "./use-import.ts";

/** Takes a file in: choose it, see how it is meant, watch it go, read what was refused. */
export const ImportDialog = ({
  datasetId,
  tenantId,
  onClose,
}: {
  /** Absent: the reader chooses, or makes a new dataset. */
  readonly datasetId?: string;
  readonly tenantId: string;
  readonly onClose: () => void;
}) => {
  const [chosen, setChosen] = useState<{ readonly file: File; readonly preview: FilePreview }>();
  const [fault, setFault] = useState<string>();
  const work = useImport();
  const into = useQuery({ ...datasetQuery(datasetId ?? ""), enabled: datasetId !== undefined });
  const choose = async (file: File): Promise<void> => {
    try {
      setChosen({ file, preview: await previewFile(file) });
      setFault(undefined);
    } catch (cause) {
      setChosen(undefined);
      setFault(`${file.name}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  };
  const leave = (): void => {
    work.cancel();
    onClose();
  };
  const title =
    into.data === undefined ? "Import a file" : `Import into ${toVisibleText(into.data.name)}`;
  return (
    <Dialog title={title} width={820} onClose={leave}>
      {work.step.kind === "idle" ? (
        <div className="form">
          <FileDrop fileName={chosen?.file.name} onFile={(file) => void choose(file)} />
          <FormError error={fault} />
          {chosen !== undefined && (
            <ImportPlan
              key={`${chosen.file.name} ${chosen.file.size} ${chosen.file.lastModified}`}
              file={chosen.file}
              preview={chosen.preview}
              datasetId={datasetId}
              onClose={leave}
              onStart={(plan) => void work.start({ ...plan, file: chosen.file })}
            />
          )}
        </div>
      ) : (
        <ImportProgress
          step={work.step}
          tenantId={tenantId}
          onCancel={work.cancel}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
};

/** The area to drop a file on, or to pick one without dragging. */
const FileDrop = ({
  fileName,
  onFile,
}: {
  readonly fileName: string | undefined;
  readonly onFile: (file: File) => void;
}) => {
  const id = useId();
  const [isOver, setIsOver] = useState(false);
  const take = (files: FileList | null): void => {
    const file = files?.[0];
    if (file !== undefined) {
      onFile(file);
    }
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the input is for the keyboard
    <label
      className="file-drop"
      htmlFor={id}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        take(event.dataTransfer.files);
      }}
    >
      <input
        id={id}
        type="file"
        className="unseen"
        accept=".csv,.jsonl,.ndjson,text/csv,application/x-ndjson"
        onChange={({ currentTarget }) => take(currentTarget.files)}
      />
      {fileName === undefined ? (
        <span>Drop a CSV or JSONL file here, or choose one</span>
      ) : (
        <span>
          <b>{toVisibleText(fileName)}</b> · choose another
        </span>
      )}
    </label>
  );
};
