import { useMutation, useQueryClient } from "@tanstack/react-query";
import { pluralize } from "../../components/text/quantity.ts";
import type { Prompt } from "./prompt.ts";
import { setPromptLike } from "./queries.ts";

/** Shows the number of likes of a prompt. A click adds or removes the like of the current tenant. */
export const LikeButton = ({ prompt }: { readonly prompt: Prompt }) => {
  const client = useQueryClient();
  const { owner = "-", repo, isLiked, likes } = prompt;
  const like = useMutation({
    mutationFn: async () => setPromptLike({ owner, repo }, !isLiked),
    onSuccess: async () => client.invalidateQueries({ queryKey: ["prompts"] }),
  });
  return (
    <button
      type="button"
      className="hub-like"
      aria-pressed={isLiked}
      aria-label={`Like ${repo}, ${pluralize(likes, "like")}`}
      disabled={like.isPending}
      title={like.error?.message}
      onClick={() => like.mutate()}
    >
      <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 13.5S2 10 2 6a3 3 0 0 1 6-1 3 3 0 0 1 6 1c0 4-6 7.5-6 7.5Z" />
      </svg>
      {likes.toLocaleString("en")}
    </button>
  );
};
