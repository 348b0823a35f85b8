import { useLocalStorage } from "@mantine/hooks";
import { isOverviewRange } from "./overview-range.ts";
import type { OverviewRange } from "./overview-range.ts";

const defaultRange: OverviewRange = "1d";

/** The time range of the overview, which the browser stores. */
export const useOverviewRange = () =>
  useLocalStorage<OverviewRange>({
    key: "millrace.projects.range",
    defaultValue: defaultRange,
    getInitialValueInEffect: false,
    deserialize: (text) => {
      const storedRange = text?.replaceAll('"', "");
      return isOverviewRange(storedRange) ? storedRange : defaultRange;
    },
  });
