import { Button } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useState } from "react";
import type { KeyboardEvent, RefObject } from "react";
import type { PayloadSource } from "./payload-source.ts";

/** Search, fold and copy of a JSON value. */
export const JsonTools = ({
  source,
  current,
  searchRef,
  onChange,
  onFound,
  onQuery,
}: {
  readonly source: PayloadSource;
  /** The line that is copied. */
  readonly current: number;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  /** Called after lines were opened or closed. */
  readonly onChange: () => void;
  readonly onFound: (index: number) => void;
  readonly onQuery: (query: string) => void;
}) => {
  const { copy, copied } = useClipboard();
  const [found, setFound] = useState<{ query: string; count: number; at: number }>();
  const goTo = async (at: number): Promise<void> => {
    const index = await source.reveal(at);
    onChange();
    onFound(index);
  };
  const onSearch = async (query: string): Promise<void> => {
    onQuery(query);
    const count = await source.search(query);
    setFound(query === "" ? undefined : { query, count, at: 0 });
    if (count > 0) {
      await goTo(0);
    }
  };
  const step = (by: number): void => {
    if (found !== undefined && found.count > 0) {
      const at = (found.at + by + found.count) % found.count;
      setFound({ ...found, at });
      void goTo(at);
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    event.stopPropagation();
    if (event.key === "Enter") {
      const { value } = event.currentTarget;
      if (value === found?.query) {
        step(event.shiftKey ? -1 : 1);
      } else {
        void onSearch(value);
      }
    } else if (event.key === "Escape") {
      event.currentTarget.value = "";
      void onSearch("");
    }
  };
  const onFold = async (fold: "openAll" | "closeAll"): Promise<void> => {
    await source[fold]();
    onChange();
  };
  return (
    <div className="json-tools">
      <input
        ref={searchRef}
        type="search"
        className="control"
        placeholder="Search, Enter"
        aria-label="Search in the value"
        onKeyDown={onKeyDown}
      />
      {found !== undefined && (
        <output>
          {found.count === 0 ? "nothing" : `${found.at + 1} of ${found.count.toLocaleString()}`}
        </output>
      )}
      <span className="json-buttons">
        <Tool name="Open all" onClick={() => void onFold("openAll")} />
        <Tool name="Close all" onClick={() => void onFold("closeAll")} />
        <Tool
          name="Copy path"
          onClick={() => void Promise.resolve(source.path(current)).then(copy)}
        />
        <Tool
          name={copied ? "Copied" : "Copy value"}
          onClick={() => void Promise.resolve(source.text(current)).then(copy)}
        />
      </span>
    </div>
  );
};

const Tool = ({ name, onClick }: { readonly name: string; readonly onClick: () => void }) => (
  <Button size="compact-xs" variant="subtle" onClick={onClick}>
    {name}
  </Button>
);
