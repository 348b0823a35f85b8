import { useMemo } from "react";
import { toErrorChain } from "./error-chain.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { CopyText } from "../../../components/text/copy-text.tsx";
import { LongText } from "../../../components/text/long-text.tsx";

/** Characters of a message that are shown; Copy takes the whole error. */
const messageChars = 20_000;

/** An error and its causes, each with its stack folded. */
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
