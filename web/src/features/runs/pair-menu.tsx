import { Button, NativeSelect, Popover } from "@mantine/core";
import { useState, useId } from "react";
import type { ReactNode } from "react";
import type { WantedWords } from "../../components/filter/filter-completion.ts";
import { withFilterPart } from "../../components/filter/filter-parts.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { useRunWords } from "./queries.ts";
import { feedbackPart, metadataPart, toFilterText } from "./quick-filters.ts";

export interface QuickProps {
  readonly projectId: string;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

interface Pair {
  readonly title: string;
  readonly keys: WantedWords["kind"];
  readonly keyLabel: string;
  /** The label of the second field; absent without one. */
  readonly second?: { readonly label: string; readonly isNumber: boolean };
  readonly toPart: (key: string, value: string, comparator: string) => string;
}

export const pairs: Readonly<Record<"tag" | "metadata" | "feedback", Pair>> = {
  tag: {
    title: "Tag",
    keys: "tag",
    keyLabel: "Tag",
    toPart: (tag) => `has(tags, ${toFilterText(tag)})`,
  },
  metadata: {
    title: "Metadata",
    keys: "metadata_key",
    keyLabel: "Key",
    second: { label: "Value", isNumber: false },
    toPart: metadataPart,
  },
  feedback: {
    title: "Feedback",
    keys: "feedback_key",
    keyLabel: "Key",
    second: { label: "Score", isNumber: true },
    toPart: (key, value, comparator) =>
      feedbackPart(key, comparator, value === "" ? undefined : Number(value)),
  },
};

/** A condition of a key, and what is asked of it. */
export const PairMenu = ({ projectId, filter, onFilter, ...pair }: QuickProps & Pair) => {
  const [isOpen, setIsOpen] = useState(false);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const [comparator, setComparator] = useState("gte");
  const { data: keys = [] } = useRunWords(projectId, { kind: pair.keys }, isOpen);
  const { data: values = [] } = useRunWords(
    projectId,
    { kind: "metadata_value", key },
    isOpen && pair.keys === "metadata_key" && keys.includes(key),
  );
  const canAdd = key !== "" && (pair.second?.isNumber !== false || value !== "");
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
        <Button size="compact-sm" variant="default" onClick={() => setIsOpen(!isOpen)}>
          {pair.title}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className="quick-menu" aria-label={`Filter by ${pair.title.toLowerCase()}`}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (canAdd) {
              onFilter(withFilterPart(filter, pair.toPart(key, value, comparator)));
              setIsOpen(false);
            }
          }}
        >
          <WordInput label={pair.keyLabel} value={key} onValue={setKey} words={keys} />
          {pair.second?.isNumber === true && (
            <Labelled label="Compared">
              <NativeSelect
                value={comparator}
                onChange={({ target }) => setComparator(target.value)}
              >
                <option value="gte">at least</option>
                <option value="lte">at most</option>
                <option value="eq">exactly</option>
              </NativeSelect>
            </Labelled>
          )}
          {pair.second !== undefined && (
            <WordInput
              label={pair.second.label}
              value={value}
              onValue={setValue}
              words={values}
              isNumber={pair.second.isNumber}
            />
          )}
          <Button type="submit" size="compact-sm" disabled={!canAdd}>
            Add
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
};

/** A field of a menu under its name. */
const Labelled = ({
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

/** A word that is typed; those that runs have are proposed. */
const WordInput = ({
  label,
  value,
  onValue,
  words,
  isNumber = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly words: readonly string[];
  readonly isNumber?: boolean;
}) => {
  const id = useId();
  return (
    <Labelled label={label}>
      <input
        className="control"
        list={words.length > 0 ? id : undefined}
        type={isNumber ? "number" : "text"}
        step="any"
        value={value}
        onChange={({ target }) => onValue(target.value)}
      />
      <datalist id={id}>
        {words.map((word) => (
          <option key={word} value={word}>
            {toVisibleText(word)}
          </option>
        ))}
      </datalist>
    </Labelled>
  );
};
