import { Button } from "@mantine/core";
import { useState } from "react";
import { toVisibleText } from "./visible-text.ts";

const firstChars = 20_000;
const moreChars = 50_000;

/** A text as it is, as much of it at a time as a page lays out without a pause. */
export const LongText = ({ text }: { readonly text: string }) => {
  const [shown, setShown] = useState(firstChars);
  const rest = text.length - shown;
  return (
    <div className="long-text">
      <pre>{toVisibleText(text.slice(0, shown))}</pre>
      {rest > 0 && (
        <p>
          {rest.toLocaleString()} more characters{" "}
          <Button size="compact-xs" variant="default" onClick={() => setShown(shown + moreChars)}>
            Show more
          </Button>
        </p>
      )}
    </div>
  );
};
