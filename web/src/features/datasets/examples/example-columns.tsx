import type { Column } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import { toPreviewText } from "../../runs/run-preview.ts";
import type { ExamplePreview, TextPreview } from "./example.ts";

/** The maximum number of characters of a payload in a cell. The example panel shows the whole payload. */
const maxCellChars = 240;

export const PayloadText = ({ preview }: { readonly preview: TextPreview | undefined }) =>
  preview === undefined ? (
    <span className="quiet">–</span>
  ) : (
    <span className="example-text">
      {toVisibleText(toPreviewText(preview.text).slice(0, maxCellChars))}
    </span>
  );

export const SplitTags = ({ names }: { readonly names: readonly string[] }) => (
  <>
    {names.map((name) => (
      <span key={name} className="tag">
        {toVisibleText(name)}
      </span>
    ))}
  </>
);

/** The columns of the example list. `commentCounts` contains the number of comments by example id. */
export const createExampleColumns = (
  commentCounts: ReadonlyMap<string, number>,
): readonly Column<ExamplePreview>[] => [
  {
    id: "inputs",
    title: "Inputs",
    width: 200,
    grow: 4,
    isFixed: true,
    isShownWhenNarrow: true,
    renderCell: ({ inputs }) => <PayloadText preview={inputs} />,
  },
  {
    id: "outputs",
    title: "Reference outputs",
    width: 180,
    grow: 4,
    isShownWhenNarrow: true,
    renderCell: ({ outputs }) => <PayloadText preview={outputs} />,
  },
  {
    id: "splits",
    title: "Splits",
    width: 130,
    renderCell: ({ splits }) => <SplitTags names={splits} />,
  },
  {
    id: "comments",
    title: "Comments",
    width: 92,
    align: "end",
    renderCell: ({ id }) => commentCounts.get(id)?.toLocaleString("en") ?? "",
  },
  {
    id: "metadata",
    title: "Metadata",
    width: 140,
    grow: 2,
    isShown: false,
    renderCell: ({ metadata }) => <PayloadText preview={metadata} />,
  },
  {
    id: "files",
    title: "Files",
    width: 60,
    align: "end",
    isShown: false,
    renderCell: ({ attachmentCount }) => (attachmentCount === 0 ? "–" : attachmentCount),
  },
  {
    id: "size",
    title: "Size",
    width: 80,
    align: "end",
    tooltip: "Characters in inputs and outputs",
    isShown: false,
    renderCell: ({ inputs, outputs }) =>
      (inputs.chars + (outputs?.chars ?? 0)).toLocaleString("en"),
  },
  {
    id: "created",
    title: "Created",
    width: 108,
    sort: "desc",
    isShown: false,
    renderCell: ({ createdMs }) => <Ago timeMs={createdMs} />,
  },
  {
    id: "modified",
    title: "Modified",
    width: 108,
    sort: "desc",
    renderCell: ({ modifiedMs }) => <Ago timeMs={modifiedMs} />,
  },
];
