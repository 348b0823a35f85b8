import { useMemo } from "react";
import { Code } from "../../../components/code/code.tsx";
import { findFaults } from "./example-faults.ts";
import type { TextFault } from "./example-faults.ts";

const noFaults: readonly TextFault[] = [];

/** A field to edit a JSON object. Errors are underlined in the text, and listed below the field. */
export const JsonField = ({
  label,
  value,
  onChange,
  isOptional = false,
  faults = noFaults,
  minHeight = 64,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Whether the field may be left empty. @defaultValue false */
  readonly isOptional?: boolean;
  /** Errors that the server found. They are shown if the text has no JSON syntax errors. */
  readonly faults?: readonly TextFault[];
  readonly minHeight?: number;
}) => {
  const syntaxFaults = useMemo(() => findFaults(value, isOptional), [value, isOptional]);
  const shownFaults = syntaxFaults.length > 0 ? syntaxFaults : faults;
  return (
    <fieldset className="json-field">
      <legend className="json-field-label">
        {label}
        {isOptional && <span className="quiet"> (optional)</span>}
      </legend>
      <Code
        language="json"
        label={label}
        value={value}
        onChange={onChange}
        faults={shownFaults}
        minHeight={minHeight}
        maxHeight={320}
      />
      {shownFaults.length > 0 && (
        <ul className="json-field-faults" role="alert">
          {shownFaults.map(({ from, message }) => (
            <li key={`${from} ${message}`}>
              {message} <span className="quiet">{formatPosition(value, from)}</span>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
};

function formatPosition(text: string, offset: number): string {
  const lines = text.slice(0, offset).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
