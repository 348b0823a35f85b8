import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { toJsonText } from "../../../components/text/json-text.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { datasetsQuery } from "../queries.ts";
import type { FilePreview, FileRow } from "./import-file.ts";
import { columnTargets, toCsvRow } from "./import-rows.ts";
import type { ColumnTarget, FileShape } from "./import-rows.ts";
import type { ImportPlanned } from "./use-import.ts";

const newDataset = "";

/** How a file is meant: which dataset, which column is what, and the first rows as they would be. */
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
  readonly onStart: (plan: ImportPlanned) => void;
  readonly onClose: () => void;
}) => {
  const [shape, setShape] = useState<FileShape>(preview.shape);
  const [into, setInto] = useState(datasetId ?? newDataset);
  const [newName, setNewName] = useState(file.name.replace(/\.\w+$/, ""));
  const known = useInfiniteQuery({
    ...datasetsQuery({ sort: "name", order: "asc" }),
    enabled: datasetId === undefined,
  });
  const datasets = known.data?.pages.flat() ?? [];
  const hasInputs = shape.kind === "jsonl" || shape.targets.includes("inputs");
  return (
    <>
      {datasetId === undefined && (
        <div className="import-into">
          <NativeSelect
            label="Into"
            value={into}
            onChange={({ currentTarget }) => setInto(currentTarget.value)}
            data={[
              { value: newDataset, label: "a new dataset" },
              ...datasets.map(({ id, name }) => ({ value: id, label: toVisibleText(name) })),
            ]}
          />
          {into === newDataset && (
            <TextInput
              label="Name"
              value={newName}
              onChange={({ currentTarget }) => setNewName(currentTarget.value)}
            />
          )}
        </div>
      )}
      {shape.kind === "csv" && (
        <Mapping
          shape={shape}
          onTarget={(index, target) =>
            setShape({ ...shape, targets: shape.targets.with(index, target) })
          }
        />
      )}
      {!hasInputs && <p className="form-fault">At least one column has to go to inputs.</p>}
      <PreviewRows rows={preview.rows} shape={shape} />
      <div className="dialog-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={!hasInputs || (into === newDataset && newName.trim() === "")}
          onClick={() => onStart({ shape, into: into === newDataset ? { newName } : { id: into } })}
        >
          Import
        </Button>
      </div>
    </>
  );
};

const Mapping = ({
  shape: { columns, targets },
  onTarget,
}: {
  readonly shape: Extract<FileShape, { readonly kind: "csv" }>;
  readonly onTarget: (index: number, target: ColumnTarget) => void;
}) => (
  <fieldset className="import-mapping">
    <legend>Columns</legend>
    {columns.map((column, index) => (
      <NativeSelect
        key={column}
        size="xs"
        label={toVisibleText(column)}
        data={columnTargets.map((target) => ({
          value: target,
          label: target === "none" ? "left out" : target,
        }))}
        value={targets[index] ?? "none"}
        onChange={({ currentTarget }) =>
          onTarget(index, columnTargets.find((one) => one === currentTarget.value) ?? "none")
        }
      />
    ))}
  </fieldset>
);

/** The first rows of a file, as they would be imported. */
const PreviewRows = ({
  rows,
  shape,
}: {
  readonly rows: readonly FileRow[];
  readonly shape: FileShape;
}) => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is in reach of the keyboard
  <section className="import-preview" tabIndex={0} aria-label="First rows">
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
          <PreviewRow key={row.line} row={remap(row, shape)} />
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

/** A row as it would be under the mapping that is chosen now. */
const remap = (row: FileRow, shape: FileShape): FileRow =>
  row.kind === "row" && row.cells !== undefined && shape.kind === "csv"
    ? { ...row, row: toCsvRow(row.cells, shape) }
    : row;
