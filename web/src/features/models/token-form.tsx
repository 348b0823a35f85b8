import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { storeModelToken } from "../../api/model-session.ts";
import { FormError } from "../../components/dialog/form.tsx";
import { modelEndpointsQuery } from "./model-endpoints.ts";

/** A form for the token that the server printed when it started. */
export const TokenForm = ({ className }: { readonly className: string }) => {
  const { fields, check } = useToken("submit");
  return (
    <form
      className={`form ${className}`}
      aria-label="Token"
      onSubmit={(event) => {
        event.preventDefault();
        check();
      }}
    >
      {fields}
    </form>
  );
};

/** The fields of {@link TokenForm}, for use in another form. */
export const TokenFields = () => (
  <section className="form" aria-label="Token">
    {useToken("button").fields}
  </section>
);

function useToken(type: "submit" | "button") {
  const { refetch } = useQuery(modelEndpointsQuery);
  const [token, setToken] = useState("");
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      storeModelToken(token.trim());
      const { data } = await refetch();
      if (data?.needsToken === true) {
        throw new Error(
          "The server did not accept the token. The server prints a new token each time it starts.",
        );
      }
    },
  });
  const check = (): void => mutate();
  const fields = (
    <>
      <PasswordInput
        label="Token"
        description="Model calls can cost money, so they require the token that the server printed when it started."
        autoComplete="off"
        value={token}
        onChange={({ currentTarget }) => setToken(currentTarget.value)}
      />
      <FormError error={error?.message} />
      <Button
        type={type}
        className="token-submit"
        disabled={token.trim() === ""}
        loading={isPending}
        {...(type === "button" && { onClick: check })}
      >
        Unlock
      </Button>
    </>
  );
  return { fields, check };
}
