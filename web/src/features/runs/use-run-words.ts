import { useQuery } from "@tanstack/react-query";
import { readRunWords } from "./queries.ts";
import type { WantedWords } from "../../components/filter/filter-completion.ts";

/** Words of one kind that a project's runs have. */
export const useRunWords = (
  projectId: string,
  wants: Pick<WantedWords, "kind" | "key">,
  isOn = true,
) =>
  useQuery({
    queryKey: ["words", projectId, wants.kind, wants.key ?? "", ""],
    queryFn: async ({ signal }) => readRunWords(projectId, { ...wants, prefix: "" }, signal),
    enabled: isOn,
    staleTime: 30_000,
  });
