import { useLocalStorage } from "@mantine/hooks";
import { personNameKey } from "../../api/person-name.ts";

/** The maximum length of a name, in characters. */
const maxNameChars = 64;

/** Returns an error message for an invalid name, else `undefined`. The server applies the same rules. */
export function validatePersonName(text: string): string | undefined {
  const name = text.trim();
  if (name === "") {
    return "Enter a name, so that others see who you are.";
  }
  if (name.length > maxNameChars) {
    return `Use at most ${maxNameChars} characters.`;
  }
  return /[\p{Cc}\p{Cs}]/u.test(name) ? "Remove the control characters from the name." : undefined;
}

/** The name that the person at this browser has chosen; empty until then. */
export const usePersonName = (): readonly [string, (name: string) => void] => {
  const [name, setName] = useLocalStorage({
    key: personNameKey,
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  return [typeof name === "string" ? name : "", setName];
};
