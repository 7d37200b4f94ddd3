-- Expires due holds, and tells the outcome of each. The first resolution of a hold stands.
create or replace function ledger_expire_each(operation_ids text[])
returns table (operation_id text, outcome text, replayed boolean)
language sql as $$
  select operation_ids[r.ord], r.outcome, r.replayed
  from ledger_resolve(operation_ids, array_fill('expired'::text, array[cardinality(operation_ids)]),
    array_fill(0::bigint, array[cardinality(operation_ids)]), array_fill(0::bigint, array[cardinality(operation_ids)]),
    array_fill(null::jsonb, array[cardinality(operation_ids)])) r
$$;
