import { createTheme, defaultVariantColorsResolver, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createQueryClient } from "../api/query-client.ts";
import { repairNavigatorLanguage } from "./navigator-language.ts";
import { router } from "./router.tsx";

// Colors, spacing and type sizes are in theme.css, because the Content-Security-Policy forbids style elements.
const theme = createTheme({
  cursorType: "pointer",
  respectReducedMotion: true,
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    // The accent is light in the dark scheme, so text on it must be dark.
    return input.variant === "filled" && input.color === input.theme.primaryColor
      ? { ...colors, color: "var(--on-accent)" }
      : colors;
  },
});

const queryClient = createQueryClient();

repairNavigatorLanguage(globalThis.navigator);

const root = document.querySelector("#root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        defaultColorScheme="auto"
        withCssVariables={false}
        withGlobalClasses={false}
      >
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
