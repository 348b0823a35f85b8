import { Menu } from "@mantine/core";
import { useState } from "react";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { PairMenu, pairFilters } from "./pair-menu.tsx";
import type { QuickFilterProps } from "./pair-menu.tsx";
import { useRunValues } from "../queries.ts";
import { QuickFilterButton } from "./quick-filter-button.tsx";
import { findQuickValue, hasConditionOn, setQuickFilter } from "./quick-filters.ts";

/**
 * Menus that set frequently used conditions in the filter. The button of a menu shows only whether the filter has a
 * condition on the menu's field. The condition itself is a chip in the filter bar.
 */
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

/** The value of the item that removes the conditions on a field. */
const anyValue = "";

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
  onOpen,
}: QuickFilterProps & {
  readonly label: string;
  readonly field: string;
  readonly comparator: string;
  readonly values: Values;
  readonly onOpen?: () => void;
}) => {
  const isActive = hasConditionOn(filter, (name) => name === field);
  const value = isActive ? findQuickValue(filter, { field, comparator }) : anyValue;
  return (
    // Focus the first item. By default, Mantine focuses a placeholder element, which a menu must not contain.
    <Menu
      position="bottom-start"
      transitionProps={{ duration: 0 }}
      withInitialFocusPlaceholder={false}
      menuItemTabIndex={0}
      {...(onOpen === undefined ? {} : { onOpen })}
    >
      <Menu.Target>
        <QuickFilterButton label={label} isActive={isActive} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup
          value={value ?? null}
          onChange={(newValue) =>
            onFilter(setQuickFilter(filter, { field, comparator, value: newValue }))
          }
        >
          {[[anyValue, "Any"] as const, ...values].map(([listedValue, title]) => (
            <Menu.RadioItem key={listedValue} value={listedValue} closeMenuOnClick>
              {title}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
};

const TypeMenu = (props: QuickFilterProps) => {
  const [wasOpened, setWasOpened] = useState(false);
  const { data = [] } = useRunValues(props.projectId, { kind: "run_type" }, wasOpened);
  return (
    <ValueMenu
      {...props}
      label="Run type"
      field="run_type"
      comparator="eq"
      values={data.map((type) => [type, toVisibleText(type)] as const)}
      onOpen={() => setWasOpened(true)}
    />
  );
};
