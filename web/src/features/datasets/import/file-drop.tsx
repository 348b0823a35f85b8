import { useId, useState } from "react";
import { toVisibleText } from "../../../components/text/visible-text.ts";

/** Where a file is dropped, or picked by whoever does not drag. */
export const FileDrop = ({
  fileName,
  onFile,
}: {
  readonly fileName: string | undefined;
  readonly onFile: (file: File) => void;
}) => {
  const id = useId();
  const [isOver, setIsOver] = useState(false);
  const take = (files: FileList | null): void => {
    const file = files?.[0];
    if (file !== undefined) {
      onFile(file);
    }
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the input is for the keyboard
    <label
      className="file-drop"
      htmlFor={id}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        take(event.dataTransfer.files);
      }}
    >
      <input
        id={id}
        type="file"
        className="unseen"
        accept=".csv,.jsonl,.ndjson,text/csv,application/x-ndjson"
        onChange={({ currentTarget }) => take(currentTarget.files)}
      />
      {fileName === undefined ? (
        <span>Drop a CSV or JSONL file here, or choose one</span>
      ) : (
        <span>
          <b>{toVisibleText(fileName)}</b> · choose another
        </span>
      )}
    </label>
  );
};
