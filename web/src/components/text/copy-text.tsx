import { Button } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";

/** A text to read and to copy, under a label. `whole` is copied where only a part is shown. */
export const CopyText = ({
  label,
  text,
  whole = () => text,
}: {
  readonly label: string;
  readonly text: string;
  readonly whole?: () => string;
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
          onClick={() => copy(whole())}
        >
          {copied ? "Copied" : "Copy"}
        </Button>
      </figcaption>
      <pre>{text}</pre>
    </figure>
  );
};
