/**
 * SQL that creates the price tables of tenants, and adds to runs the column that says how their cost was determined.
 * Texts that identify a row are empty instead of NULL, because NULL is not equal to itself in a key.
 */
export const priceTables = `
  CREATE TABLE model_prices (
    tenant_id TEXT NOT NULL, model TEXT NOT NULL, provider TEXT NOT NULL, tier TEXT NOT NULL, from_us INTEGER NOT NULL,
    prices_json TEXT NOT NULL, PRIMARY KEY (tenant_id, model, provider, tier, from_us)
  ) WITHOUT ROWID;
  ALTER TABLE runs ADD COLUMN cost_json TEXT;
`;
