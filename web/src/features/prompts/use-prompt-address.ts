import { useParams } from "@tanstack/react-router";
import type { PromptPlace } from "./queries.ts";

/** What an address of a prompt's page names: `/prompts/…` one's own, `/hub/…` anyone's. */
export function usePromptPlace(): {
  readonly place: PromptPlace;
  readonly commit: string | undefined;
  readonly isHub: boolean;
} {
  const { owner, repo = "", commit } = useParams({ strict: false });
  return { place: { owner: owner ?? "-", repo }, commit, isHub: owner !== undefined };
}
