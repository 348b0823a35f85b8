import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { FormSection } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { LibraryPrices } from "./library-prices.tsx";
import { OwnPrices } from "./own-prices.tsx";
import type { Price } from "./price.ts";
import { PriceForm } from "./price-form.tsx";
import { pricesQuery } from "./queries.ts";
import { Recompute } from "./recompute.tsx";
import { UsedModelList } from "./used-model-list.tsx";
import "./prices.css";

const route = getRouteApi("/o/$tenantId/settings/prices");

/** The open form. It contains a new price, which may begin as a copy of a public price, or an existing price. */
type OpenForm =
  | { readonly kind: "new"; readonly draft: Partial<Price> }
  | { readonly kind: "edit"; readonly price: Price };

/** The page `/o/{tenantId}/settings/prices`: what models cost, and which models of the runs have no price. */
export const Prices = () => {
  const { tenantId } = route.useParams();
  const { add, q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: prices } = useQuery(pricesQuery);
  const [openForm, setOpenForm] = useState<OpenForm>();
  const [savedModel, setSavedModel] = useState<string>();
  const form: OpenForm | undefined =
    openForm ?? (add === undefined ? undefined : { kind: "new", draft: { model: add } });
  const close = (): void => {
    setOpenForm(undefined);
    if (add !== undefined) {
      const { add: _, ...others } = { q, add };
      void navigate({ search: others.q === "" ? {} : others, replace: true });
    }
  };
  return (
    <div className="page settings">
      <title>Prices · Millrace</title>
      <div className="page-head">
        <div>
          <p className="crumbs">
            <Link to="/o/$tenantId/settings" params={{ tenantId }}>
              Settings
            </Link>
          </p>
          <h1>Prices</h1>
        </div>
        <Button onClick={() => setOpenForm({ kind: "new", draft: {} })}>Add price</Button>
      </div>
      {savedModel !== undefined && (
        <output className="prices-saved">
          Saved the price of <bdi>{toVisibleText(savedModel)}</bdi>. It applies to new runs. To
          apply it to stored runs, recompute the costs.
        </output>
      )}
      <UsedModelList onAdd={(model) => setOpenForm({ kind: "new", draft: { model } })} />
      <OwnPrices
        onEdit={(price) => setOpenForm({ kind: "edit", price })}
        onDeleted={() => setSavedModel(undefined)}
      />
      <Recompute tenantId={tenantId} />
      <FormSection
        title="Public prices"
        description="Built-in prices, in US dollars per million tokens. Your own prices take precedence."
      >
        <LibraryPrices
          text={q}
          onText={(text) =>
            void navigate({ search: text === "" ? {} : { q: text }, replace: true })
          }
          onOverride={({ model, provider, prices: rates }) =>
            setOpenForm({ kind: "new", draft: { model, provider, prices: rates } })
          }
        />
      </FormSection>
      {form !== undefined && (
        <PriceForm
          prices={prices ?? []}
          {...(form.kind === "edit" ? { edited: form.price } : { draft: form.draft })}
          onSaved={({ model }) => setSavedModel(model)}
          onClose={close}
        />
      )}
    </div>
  );
};
