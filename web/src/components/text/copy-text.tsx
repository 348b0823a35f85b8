import { Button } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";

/** A text with a label and a copy button. If `text` is only an excerpt, `getFullText` returns the whole text to copy. */
export const CopyText = ({
  label,
  text,
  getFullText = () => text,
}: {
  readonly label: string;
  readonly text: string;
  readonly getFullText?: () => string;
}) => {
  const { copy, copied } = useClipboard();
  return (
    <figure className="copy-text">
      <figcaption>
        <span>{label}</span>
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={`Copy ${label}`}
          onClick={() => copy(getFullText())}
        >
          {copied ? "Copied" : "Copy"}
        </Button>
      </figcaption>
      <pre>{text}</pre>
    </figure>
  );
};
