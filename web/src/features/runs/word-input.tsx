import { useId } from "react";
import type { ReactNode } from "react";
import { toVisibleText } from "../../components/text/visible-text.ts";

/** A field of a menu under its name. */
export const Labelled = ({
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
export const WordInput = ({
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
