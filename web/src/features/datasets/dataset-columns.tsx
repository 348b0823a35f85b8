import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { describeDataType } from "./dataset.ts";
import type { Dataset } from "./dataset.ts";

export const datasetColumns: readonly Column<Dataset>[] = [
  {
    id: "name",
    title: "Name",
    width: 200,
    grow: 3,
    sort: "asc",
    isFixed: true,
    isShownWhenNarrow: true,
    renderCell: ({ name }) => <bdi>{toVisibleText(name)}</bdi>,
  },
  {
    id: "description",
    title: "Description",
    width: 160,
    grow: 4,
    renderCell: ({ description }) => (
      <span className="quiet">{toVisibleText(description ?? "")}</span>
    ),
  },
  {
    id: "data_type",
    title: "Type",
    width: 96,
    renderCell: ({ dataType }) => toVisibleText(describeDataType(dataType)),
  },
  {
    id: "example_count",
    title: "Examples",
    width: 100,
    align: "end",
    sort: "desc",
    isShownWhenNarrow: true,
    renderCell: ({ exampleCount }) => exampleCount.toLocaleString("en"),
  },
  {
    id: "session_count",
    title: "Experiments",
    width: 112,
    align: "end",
    sort: "desc",
    renderCell: ({ experimentCount }) => experimentCount.toLocaleString("en"),
  },
  {
    id: "last_session_start_time",
    title: "Last experiment",
    width: 132,
    sort: "desc",
    renderCell: ({ lastExperimentMs }) =>
      lastExperimentMs === undefined ? "–" : <Ago timeMs={lastExperimentMs} />,
  },
  {
    id: "modified_at",
    title: "Modified",
    width: 112,
    sort: "desc",
    renderCell: ({ modifiedMs }) => <Ago timeMs={modifiedMs} />,
  },
];
