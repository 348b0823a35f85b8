import { Button } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { ColoredCode } from "./colored-code.tsx";

/**
 * A text with a label and a copy button. If `text` is only an excerpt, `getFullText` returns the whole text to copy.
 */
export const CopyText = ({
  label,
  text,
  language,
  getFullText = () => text,
}: {
  readonly label: string;
  readonly text: string;
  /** The language of code, such as `ts`. @defaultValue the text is not code */
  readonly language?: string;
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
      <pre>{language === undefined ? text : <ColoredCode code={text} language={language} />}</pre>
    </figure>
  );
};
