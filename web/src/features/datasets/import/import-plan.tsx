import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { toJsonText } from "../../../components/text/json-text.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createDatasetsQuery } from "../queries.ts";
import type { FilePreview, FileRow } from "./import-file.ts";
import { columnTargets, toCsvRow } from "./import-rows.ts";
import type { ColumnTarget, FileShape } from "./import-rows.ts";
import type { ImportRequest } from "./use-import.ts";

/** The value of the option that creates a new dataset. */
const newDatasetValue = "";

/**
 * Fields for the settings of an import: the target dataset and the column mapping. Shows a preview of the first rows.
 */
export const ImportPlan = ({
  file,
  preview,
  datasetId,
  onStart,
  onClose,
}: {
  readonly file: File;
  readonly preview: FilePreview;
  readonly datasetId: string | undefined;
  readonly onStart: (plan: ImportRequest) => void;
  readonly onClose: () => void;
}) => {
  const [shape, setShape] = useState<FileShape>(preview.shape);
  const [destination, setDestination] = useState(datasetId ?? newDatasetValue);
  const [newName, setNewName] = useState(file.name.replace(/\.\w+$/, ""));
  const loadedDatasets = useInfiniteQuery({
    ...createDatasetsQuery({ sort: "name", order: "asc" }),
    enabled: datasetId === undefined,
  });
  const datasets = loadedDatasets.data?.pages.flat() ?? [];
  const hasInputs = shape.kind === "jsonl" || shape.targets.includes("inputs");
  return (
    <>
      {datasetId === undefined && (
        <div className="import-into">
          <NativeSelect
            label="Dataset"
            value={destination}
            onChange={({ currentTarget }) => setDestination(currentTarget.value)}
            data={[
              { value: newDatasetValue, label: "New dataset" },
              ...datasets.map(({ id, name }) => ({ value: id, label: toVisibleText(name) })),
            ]}
          />
          {destination === newDatasetValue && (
            <TextInput
              label="Dataset name"
              value={newName}
              onChange={({ currentTarget }) => setNewName(currentTarget.value)}
            />
          )}
        </div>
      )}
      {shape.kind === "csv" && (
        <ColumnMapping
          shape={shape}
          onTarget={(index, target) =>
            setShape({ ...shape, targets: shape.targets.with(index, target) })
          }
        />
      )}
      {!hasInputs && <p className="form-fault">Map at least one column to inputs.</p>}
      <PreviewRows rows={preview.rows} shape={shape} />
      <div className="dialog-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={!hasInputs || (destination === newDatasetValue && newName.trim() === "")}
          onClick={() =>
            onStart({
              shape,
              destination: destination === newDatasetValue ? { newName } : { id: destination },
            })
          }
        >
          Import
        </Button>
      </div>
    </>
  );
};

const ColumnMapping = ({
  shape: { columns, targets },
  onTarget,
}: {
  readonly shape: Extract<FileShape, { readonly kind: "csv" }>;
  readonly onTarget: (index: number, target: ColumnTarget) => void;
}) => (
  <fieldset className="import-mapping">
    <legend>Column mapping</legend>
    {columns.map((column, index) => (
      <NativeSelect
        key={column}
        size="xs"
        label={toVisibleText(column)}
        data={columnTargets.map((target) => ({
          value: target,
          label: target === "none" ? "skip" : target,
        }))}
        value={targets[index] ?? "none"}
        onChange={({ currentTarget }) =>
          onTarget(index, columnTargets.find((target) => target === currentTarget.value) ?? "none")
        }
      />
    ))}
  </fieldset>
);

/** Previews the first rows of the file as examples. */
const PreviewRows = ({
  rows,
  shape,
}: {
  readonly rows: readonly FileRow[];
  readonly shape: FileShape;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll the table
  <section className="import-preview" tabIndex={0} aria-label="Preview of the first rows">
    <table>
      <thead>
        <tr>
          {["Line", "Inputs", "Outputs", "Metadata", "Split"].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <PreviewRow key={row.line} row={applyMapping(row, shape)} />
        ))}
      </tbody>
    </table>
  </section>
);

const PreviewRow = ({ row }: { readonly row: FileRow }) => (
  <tr>
    <td>{row.line}</td>
    {row.kind === "fault" ? (
      <td colSpan={4} className="bad">
        {row.reason}
      </td>
    ) : (
      [row.row.inputs, row.row.outputs, row.row.metadata, row.row.split].map((value, index) => (
        <td key={index}>{value === undefined ? "–" : toJsonText(value, 300).text}</td>
      ))
    )}
  </tr>
);

/** Converts a CSV row to an example again, with the column mapping that is now selected. */
const applyMapping = (row: FileRow, shape: FileShape): FileRow =>
  row.kind === "row" && row.cells !== undefined && shape.kind === "csv"
    ? { ...row, row: toCsvRow(row.cells, shape) }
    : row;
