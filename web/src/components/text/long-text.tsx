import { Button } from "@mantine/core";
import { useState } from "react";
import { pluralize } from "./quantity.ts";
import { toVisibleText } from "./visible-text.ts";

const initialChars = 20_000;
const charsPerClick = 50_000;

/**
 * A plain text of any length. It shows the beginning and a button for more, because laying out the whole text could
 * freeze the UI.
 */
export const LongText = ({ text }: { readonly text: string }) => {
  const [shownChars, setShownChars] = useState(initialChars);
  const hiddenChars = text.length - shownChars;
  return (
    <div className="long-text">
      <pre>{toVisibleText(text.slice(0, shownChars))}</pre>
      {hiddenChars > 0 && (
        <p>
          {pluralize(hiddenChars, "more character")}{" "}
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => setShownChars(shownChars + charsPerClick)}
          >
            Show more
          </Button>
        </p>
      )}
    </div>
  );
};
