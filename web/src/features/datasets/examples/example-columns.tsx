import type { Column } from "../../../components/table/data-table.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import type { ExamplePreview, TextPreview } from "./example.ts";

/** What a row shows of a payload; the rest is in the panel. */
const shownChars = 240;

export const PayloadText = ({ of }: { readonly of: TextPreview | undefined }) =>
  of === undefined ? (
    <span className="quiet">–</span>
  ) : (
    <span className="example-text">
      {toVisibleText(of.text.slice(0, shownChars).replaceAll(/\s+/g, " "))}
    </span>
  );

export const SplitMarks = ({ names }: { readonly names: readonly string[] }) => (
  <>
    {names.map((name) => (
      <span key={name} className="tag">
        {toVisibleText(name)}
      </span>
    ))}
  </>
);

/** The columns of a list of examples. */
export const exampleColumns: readonly Column<ExamplePreview>[] = [
  {
    id: "inputs",
    title: "Inputs",
    width: 200,
    grow: 4,
    isFixed: true,
    isNarrow: true,
    cell: ({ inputs }) => <PayloadText of={inputs} />,
  },
  {
    id: "outputs",
    title: "Reference outputs",
    width: 180,
    grow: 4,
    isNarrow: true,
    cell: ({ outputs }) => <PayloadText of={outputs} />,
  },
  {
    id: "splits",
    title: "Splits",
    width: 130,
    cell: ({ splits }) => <SplitMarks names={splits} />,
  },
  {
    id: "metadata",
    title: "Metadata",
    width: 140,
    grow: 2,
    isShown: false,
    cell: ({ metadata }) => <PayloadText of={metadata} />,
  },
  {
    id: "files",
    title: "Files",
    width: 60,
    align: "end",
    isShown: false,
    cell: ({ attachmentCount }) => (attachmentCount === 0 ? "–" : attachmentCount),
  },
  {
    id: "size",
    title: "Size",
    width: 80,
    align: "end",
    note: "Characters of inputs and outputs",
    isShown: false,
    cell: ({ inputs, outputs }) => (inputs.chars + (outputs?.chars ?? 0)).toLocaleString("en"),
  },
  {
    id: "created",
    title: "Created",
    width: 108,
    sort: "desc",
    isShown: false,
    cell: ({ createdMs }) => <Ago at={createdMs} />,
  },
  {
    id: "modified",
    title: "Modified",
    width: 108,
    sort: "desc",
    cell: ({ modifiedMs }) => <Ago at={modifiedMs} />,
  },
];
