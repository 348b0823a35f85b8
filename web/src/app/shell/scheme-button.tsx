import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";

/** Changes between the light and the dark colours; the settings can also follow the system. */
export const SchemeButton = () => {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme("light") === "light" ? "dark" : "light";
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={`Use the ${other} colours`}
      title={`Use the ${other} colours`}
      onClick={() => setColorScheme(other)}
    >
      <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={other === "dark" ? moon : sun} />
      </svg>
    </ActionIcon>
  );
};

const moon = "M13.5 9.6A6 6 0 1 1 6.4 2.5a5 5 0 0 0 7.1 7.1Z";
const sun =
  "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1";
