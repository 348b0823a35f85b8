import { useMemo } from "react";
import { CopyText } from "../../../components/text/copy-text.tsx";
import { LongText } from "../../../components/text/long-text.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";

/** The most characters of a message that are shown. The copy button copies the whole error. */
const messageChars = 20_000;

/** An error and its causes, each with a collapsed stack. */
export const ErrorChain = ({ error }: { readonly error: string }) => {
  const chain = useMemo(() => toErrorChain(error), [error]);
  return (
    <div className="error-text">
      {chain.map(({ message, stack }, index) => (
        <div key={index} className="error-link">
          <CopyText
            label={index === 0 ? "Error" : "Caused by"}
            text={toVisibleText(message.slice(0, messageChars))}
            whole={() => (index === 0 ? error : `${message}\n${stack}`)}
          />
          {stack !== "" && (
            <details className="error-stack">
              <summary>Stack</summary>
              <LongText text={stack} />
            </details>
          )}
        </div>
      ))}
    </div>
  );
};

/** One error of a chain: its message and its stack. */
interface ErrorLink {
  readonly message: string;
  /** The lines of its stack; empty without a stack. */
  readonly stack: string;
}

/** The most errors of a chain that are shown. A text from an untrusted program may contain any number of them. */
const linkLimit = 20;

/**
 * Splits a recorded error into its chain, the outermost error first. It recognizes JavaScript's errors with
 * `[cause]` or `Caused by`, and Python's tracebacks, which begin with the innermost cause.
 */
export function toErrorChain(text: string): readonly ErrorLink[] {
  const python = text.split(pythonSeparator);
  if (python.length > 1) {
    return python.toReversed().slice(0, linkLimit).map(fromPython);
  }
  if (text.startsWith(pythonHead)) {
    return [fromPython(text)];
  }
  return text.split(causeMark).slice(0, linkLimit).map(fromJavaScript);
}

const pythonHead = "Traceback (most recent call last):";
const pythonSeparator =
  /\n+(?:The above exception was the direct cause of the following exception|During handling of the above exception, another exception occurred):\n+/;
/** Matches only at the start of a line, so that a message may contain these words. */
const causeMark = /\n\s*(?:\[cause\]:|Caused by:|cause:)\s*/i;
const stackLine = /^\s+at\s/;

function fromJavaScript(text: string): ErrorLink {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => stackLine.test(line));
  return first < 0
    ? { message: text.trim(), stack: "" }
    : {
        message: lines.slice(0, first).join("\n").trim(),
        stack: lines.slice(first).join("\n").trimEnd(),
      };
}

/** The stack ends with the last indented line; the message is everything after it. */
function fromPython(text: string): ErrorLink {
  const lines = text.trim().split("\n");
  const last = lines.findLastIndex((line) => line.startsWith("  "));
  return last < 0
    ? { message: text.trim(), stack: "" }
    : { message: lines.slice(last + 1).join("\n"), stack: lines.slice(0, last + 1).join("\n") };
}
