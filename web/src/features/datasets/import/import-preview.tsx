import type { FileRow } from "./import-file.ts";
import { toCsvRow } from "./import-rows.ts";
import type { FileShape } from "./import-rows.ts";
import { toJsonText } from "../../../components/text/json-text.ts";

/** The first rows of a file, as they would be imported. */
export const PreviewRows = ({
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
      [row.row.inputs, row.row.outputs, row.row.metadata, row.row.split].map((value, place) => (
        <td key={place}>{value === undefined ? "–" : toJsonText(value, 300).text}</td>
      ))
    )}
  </tr>
);

/** A row as it would be under the mapping that is chosen now. */
const remap = (row: FileRow, shape: FileShape): FileRow =>
  row.kind === "row" && row.cells !== undefined && shape.kind === "csv"
    ? { ...row, row: toCsvRow(row.cells, shape) }
    : row;
