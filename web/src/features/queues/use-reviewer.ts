import { useLocalStorage } from "@mantine/hooks";

/** The name that this browser's user reviews under; empty until they said. There are no accounts. */
export const useReviewer = (): readonly [string, (name: string) => void] => {
  const [name, setName] = useLocalStorage({
    key: "millrace-reviewer",
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  return [typeof name === "string" ? name : "", setName];
};

/** Why a text can't be a reviewer's name; `undefined`: it can. The rule is the server's. */
export function faultOfName(text: string): string | undefined {
  const name = text.trim();
  if (name === "") {
    return "A name is needed, so that others see who has a run.";
  }
  if (name.length > 64) {
    return "A name has at most 64 characters.";
  }
  return /[\p{Cc}\p{Cs}]/u.test(name) ? "A name has no control characters." : undefined;
}
