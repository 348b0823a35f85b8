import { useMemo } from "react";
import { CopyText } from "../code/copy-text.tsx";
import { LongText } from "../text/long-text.tsx";
import { toVisibleText } from "../text/visible-text.ts";

/** The maximum number of characters of a message that are shown. The copy button copies the whole error. */
const maxMessageChars = 20_000;

/** An error and its causes, each with a collapsed stack. */
export const ErrorChain = ({ error }: { readonly error: string }) => {
  const chain = useMemo(() => toErrorChain(error), [error]);
  return (
    <div className="error-text">
      {chain.map(({ message, stack }, index) => (
        <div key={index} className="error-link">
          <CopyText
            label={index === 0 ? "Error" : "Caused by"}
            text={toVisibleText(message.slice(0, maxMessageChars))}
            getFullText={() => (index === 0 ? error : `${message}\n${stack}`)}
          />
          {stack !== "" && (
            <details className="error-stack">
              <summary>Stack trace</summary>
              <LongText text={stack} />
            </details>
          )}
        </div>
      ))}
    </div>
  );
};

/** One error of a chain: its message and its stack. */
interface ChainedError {
  readonly message: string;
  /** The stack trace as text; empty if the error has none. */
  readonly stack: string;
}

/** The maximum number of errors that are shown, because a recorded text may contain any number of causes. */
const maxErrors = 20;

/**
 * Splits a recorded error into its chain, the outermost error first. It recognizes JavaScript's errors with
 * `[cause]` or `Caused by`, and Python's tracebacks, which begin with the innermost cause.
 */
export function toErrorChain(text: string): readonly ChainedError[] {
  const pythonErrors = text.split(pythonSeparator);
  if (pythonErrors.length > 1) {
    return pythonErrors.toReversed().slice(0, maxErrors).map(parsePythonError);
  }
  if (text.startsWith(pythonHeader)) {
    return [parsePythonError(text)];
  }
  return text.split(causePattern).slice(0, maxErrors).map(parseJavaScriptError);
}

const pythonHeader = "Traceback (most recent call last):";
const pythonSeparator =
  /\n+(?:The above exception was the direct cause of the following exception|During handling of the above exception, another exception occurred):\n+/;
/** Matches only at the start of a line, so that a message may contain these words. */
const causePattern = /\n\s*(?:\[cause\]:|Caused by:|cause:)\s*/i;
const stackLinePattern = /^\s+at\s/;

function parseJavaScriptError(text: string): ChainedError {
  const lines = text.split("\n");
  const firstStackIndex = lines.findIndex((line) => stackLinePattern.test(line));
  return firstStackIndex < 0
    ? { message: text.trim(), stack: "" }
    : {
        message: lines.slice(0, firstStackIndex).join("\n").trim(),
        stack: lines.slice(firstStackIndex).join("\n").trimEnd(),
      };
}

/** Parses one Python traceback. Its stack ends with the last indented line, after which the message follows. */
function parsePythonError(text: string): ChainedError {
  const lines = text.trim().split("\n");
  const lastStackIndex = lines.findLastIndex((line) => line.startsWith("  "));
  return lastStackIndex < 0
    ? { message: text.trim(), stack: "" }
    : {
        message: lines.slice(lastStackIndex + 1).join("\n"),
        stack: lines.slice(0, lastStackIndex + 1).join("\n"),
      };
}
