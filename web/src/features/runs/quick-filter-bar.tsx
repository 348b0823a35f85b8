import { NativeSelect } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { PairMenu, pairs } from "./pair-menu.tsx";
import type { QuickProps } from "./pair-menu.tsx";
import { useRunWords } from "./queries.ts";
import { quickValue, withQuick } from "./quick-filters.ts";

/** Conditions that are asked for often, put into the filter. */
export const QuickFilterBar = (props: QuickProps) => (
  <>
    <Choice {...props} label="Status" field="status" comparator="eq" values={statuses} />
    <TypeChoice {...props} />
    <Choice {...props} label="Latency" field="latency" comparator="gte" values={latencies} />
    <PairMenu {...props} {...pairs.tag} />
    <PairMenu {...props} {...pairs.metadata} />
    <PairMenu {...props} {...pairs.feedback} />
  </>
);

type Values = readonly (readonly [value: string, title: string])[];

const statuses: Values = [
  ["success", "Success"],
  ["error", "Error"],
  ["pending", "Running"],
];

const latencies: Values = [
  ["500ms", "≥ 500 ms"],
  ["1s", "≥ 1 s"],
  ["5s", "≥ 5 s"],
  ["30s", "≥ 30 s"],
  ["2m", "≥ 2 min"],
];

const Choice = ({
  filter,
  onFilter,
  label,
  field,
  comparator,
  values,
}: QuickProps & {
  readonly label: string;
  readonly field: string;
  readonly comparator: string;
  readonly values: Values;
}) => {
  const value = quickValue(filter, field) ?? "";
  const isKnown = value === "" || values.some(([one]) => one === value);
  return (
    <NativeSelect
      className="quick-choice"
      aria-label={label}
      value={value}
      onChange={({ target }) =>
        onFilter(withQuick(filter, { field, comparator, value: target.value }))
      }
    >
      <option value="">{label}</option>
      {values.map(([one, title]) => (
        <option key={one} value={one}>
          {title}
        </option>
      ))}
      {!isKnown && <option value={value}>{toVisibleText(value)}</option>}
    </NativeSelect>
  );
};

const TypeChoice = (props: QuickProps) => {
  const { data = [] } = useRunWords(props.projectId, { kind: "run_type" });
  const values = data.map((type) => [type, toVisibleText(type)] as const);
  return <Choice {...props} label="Type" field="run_type" comparator="eq" values={values} />;
};
