import { SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { FormSection } from "../../components/dialog/form.tsx";

const schemes = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "auto", label: "System" },
];

/** The colours, kept for this browser. */
export const Appearance = () => {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <FormSection title="Appearance">
      <SegmentedControl
        aria-label="Colours"
        data={schemes}
        value={colorScheme}
        onChange={(value) => {
          if (value === "light" || value === "dark" || value === "auto") {
            setColorScheme(value);
          }
        }}
      />
    </FormSection>
  );
};
