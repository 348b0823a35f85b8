import { NativeSelect } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { PairMenu, pairFilters } from "./pair-menu.tsx";
import type { QuickFilterProps } from "./pair-menu.tsx";
import { useRunValues } from "./queries.ts";
import { findQuickValue, setQuickFilter } from "./quick-filters.ts";

/** Menus that set frequently used conditions in the filter. */
export const QuickFilterBar = (props: QuickFilterProps) => (
  <>
    <ValueMenu {...props} label="Status" field="status" comparator="eq" values={statuses} />
    <TypeMenu {...props} />
    <ValueMenu {...props} label="Latency" field="latency" comparator="gte" values={latencies} />
    <PairMenu {...props} {...pairFilters.tag} />
    <PairMenu {...props} {...pairFilters.metadata} />
    <PairMenu {...props} {...pairFilters.feedback} />
  </>
);

/** The values of a menu with their labels. */
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

const ValueMenu = ({
  filter,
  onFilter,
  label,
  field,
  comparator,
  values,
}: QuickFilterProps & {
  readonly label: string;
  readonly field: string;
  readonly comparator: string;
  readonly values: Values;
}) => {
  const value = findQuickValue(filter, field) ?? "";
  const isListed = value === "" || values.some(([listedValue]) => listedValue === value);
  return (
    <NativeSelect
      className="quick-choice"
      aria-label={label}
      value={value}
      onChange={({ target }) =>
        onFilter(setQuickFilter(filter, { field, comparator, value: target.value }))
      }
    >
      <option value="">{label}</option>
      {values.map(([listedValue, title]) => (
        <option key={listedValue} value={listedValue}>
          {title}
        </option>
      ))}
      {!isListed && <option value={value}>{toVisibleText(value)}</option>}
    </NativeSelect>
  );
};

const TypeMenu = (props: QuickFilterProps) => {
  const { data = [] } = useRunValues(props.projectId, { kind: "run_type" });
  const values = data.map((type) => [type, toVisibleText(type)] as const);
  return <ValueMenu {...props} label="Run type" field="run_type" comparator="eq" values={values} />;
};
