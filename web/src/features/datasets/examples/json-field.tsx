import { useMemo } from "react";
import { Code } from "../../../components/code/code.tsx";
import { findFaults } from "./example-faults.ts";
import type { TextFault } from "./example-faults.ts";

const noFaults: readonly TextFault[] = [];

/** A JSON object to edit, with what is wrong with it, underlined and said below. */
export const JsonField = ({
  label,
  value,
  onChange,
  mayBeEmpty = false,
  faults = noFaults,
  minHeight = 64,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Whether there may be none. @defaultValue false */
  readonly mayBeEmpty?: boolean;
  /** What the server found, beside what is no JSON. */
  readonly faults?: readonly TextFault[];
  readonly minHeight?: number;
}) => {
  const own = useMemo(() => findFaults(value, mayBeEmpty), [value, mayBeEmpty]);
  const all = own.length > 0 ? own : faults;
  return (
    <fieldset className="json-field">
      <legend className="json-field-label">
        {label}
        {mayBeEmpty && <span className="quiet"> (may be empty)</span>}
      </legend>
      <Code
        language="json"
        label={label}
        value={value}
        onChange={onChange}
        faults={all}
        minHeight={minHeight}
        maxHeight={320}
      />
      {all.length > 0 && (
        <ul className="json-field-faults" role="alert">
          {all.map(({ from, message }) => (
            <li key={`${from} ${message}`}>
              {message} <span className="quiet">{placeOf(value, from)}</span>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
};

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
