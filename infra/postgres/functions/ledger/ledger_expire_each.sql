-- Expires holds by their ids. The caller chooses due ones. Returns the outcome of each; the first resolution stands.
create or replace function ledger_expire_each(operation_ids text[])
returns table (operation_id text, outcome text, replayed boolean)
language sql as $$
  select operation_ids[r.ord], r.outcome, r.replayed
  from ledger_resolve(operation_ids, array_fill('expired'::text, array[cardinality(operation_ids)]),
    array_fill(0::bigint, array[cardinality(operation_ids)]), array_fill(0::bigint, array[cardinality(operation_ids)]),
    array_fill(null::jsonb, array[cardinality(operation_ids)])) r
$$;
