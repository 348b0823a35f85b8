import { Button, NativeSelect, Popover } from "@mantine/core";
import { useState, useId } from "react";
import type { ReactNode } from "react";
import type { ValueRequest } from "../../../components/filter/filter-completion.ts";
import { addCondition } from "../../../components/filter/filter-conditions.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { useRunValues } from "../queries.ts";
import { QuickFilterButton } from "./quick-filter-button.tsx";
import {
  createFeedbackCondition,
  createMetadataCondition,
  hasConditionOn,
  toFilterText,
} from "./quick-filters.ts";

/** Props of a quick filter: a control that adds a condition to the filter of the run list. */
export interface QuickFilterProps {
  readonly projectId: string;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

/** A quick filter for which the user enters a key and a value. A tag has no value. */
interface PairFilter {
  readonly title: string;
  /** Matches the fields of the conditions that this filter can add. */
  readonly fieldPattern: RegExp;
  /** The kind of values that the key field suggests. */
  readonly keyKind: ValueRequest["kind"];
  readonly keyLabel: string;
  /** The field for the value; absent for a filter that has only a key. */
  readonly valueField?: { readonly label: string; readonly isNumber: boolean };
  readonly toCondition: (key: string, value: string, comparator: string) => string;
}

export const pairFilters: Readonly<Record<"tag" | "metadata" | "feedback", PairFilter>> = {
  tag: {
    title: "Tag",
    fieldPattern: /^tags$/,
    keyKind: "tag",
    keyLabel: "Tag",
    toCondition: (tag) => `has(tags, ${toFilterText(tag)})`,
  },
  metadata: {
    title: "Metadata",
    fieldPattern: /^metadata[._]/,
    keyKind: "metadata_key",
    keyLabel: "Key",
    valueField: { label: "Value", isNumber: false },
    toCondition: createMetadataCondition,
  },
  feedback: {
    title: "Feedback",
    fieldPattern: /^feedback_/,
    keyKind: "feedback_key",
    keyLabel: "Key",
    valueField: { label: "Score", isNumber: true },
    toCondition: (key, value, comparator) =>
      createFeedbackCondition(key, comparator, value === "" ? undefined : Number(value)),
  },
};

/** A menu that adds a condition on a key and its value to the filter. */
export const PairMenu = ({
  projectId,
  filter,
  onFilter,
  ...pair
}: QuickFilterProps & PairFilter) => {
  const [isOpen, setIsOpen] = useState(false);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const [comparator, setComparator] = useState("gte");
  const { data: keys = [] } = useRunValues(projectId, { kind: pair.keyKind }, isOpen);
  const { data: values = [] } = useRunValues(
    projectId,
    { kind: "metadata_value", key },
    isOpen && pair.keyKind === "metadata_key" && keys.includes(key),
  );
  const canAdd = key !== "" && (pair.valueField?.isNumber !== false || value !== "");
  return (
    <Popover
      opened={isOpen}
      onChange={setIsOpen}
      position="bottom-start"
      withinPortal={false}
      trapFocus
      returnFocus
      transitionProps={{ duration: 0 }}
    >
      <Popover.Target>
        <QuickFilterButton
          label={pair.title}
          isActive={hasConditionOn(filter, (field) => pair.fieldPattern.test(field))}
          onClick={() => setIsOpen(!isOpen)}
        />
      </Popover.Target>
      <Popover.Dropdown className="quick-menu" aria-label={`Filter by ${pair.title.toLowerCase()}`}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (canAdd) {
              onFilter(addCondition(filter, pair.toCondition(key, value, comparator)));
              setIsOpen(false);
            }
          }}
        >
          <ValueInput label={pair.keyLabel} value={key} onValue={setKey} suggestions={keys} />
          {pair.valueField?.isNumber === true && (
            <LabelledField label="Comparison operator">
              <NativeSelect
                value={comparator}
                onChange={({ target }) => setComparator(target.value)}
              >
                <option value="gte">at least</option>
                <option value="lte">at most</option>
                <option value="eq">exactly</option>
              </NativeSelect>
            </LabelledField>
          )}
          {pair.valueField !== undefined && (
            <ValueInput
              label={pair.valueField.label}
              value={value}
              onValue={setValue}
              suggestions={values}
              isNumber={pair.valueField.isNumber}
            />
          )}
          <Button type="submit" size="compact-sm" disabled={!canAdd}>
            Add condition
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
};

/** A field of the menu with its label above it. */
const LabelledField = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) => (
  <label className="quick-field">
    <span>{label}</span>
    {children}
  </label>
);

/** A text field that suggests the values that occur in runs. */
const ValueInput = ({
  label,
  value,
  onValue,
  suggestions,
  isNumber = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly suggestions: readonly string[];
  readonly isNumber?: boolean;
}) => {
  const id = useId();
  return (
    <LabelledField label={label}>
      <input
        className="control"
        list={suggestions.length > 0 ? id : undefined}
        type={isNumber ? "number" : "text"}
        step="any"
        value={value}
        onChange={({ target }) => onValue(target.value)}
      />
      <datalist id={id}>
        {suggestions.map((suggestion) => (
          <option key={suggestion} value={suggestion}>
            {toVisibleText(suggestion)}
          </option>
        ))}
      </datalist>
    </LabelledField>
  );
};
