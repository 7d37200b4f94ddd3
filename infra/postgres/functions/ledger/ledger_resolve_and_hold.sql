-- Ends holds (ledger_end_holds) and opens holds (ledger_hold) in one statement and one commit. All account rows are
-- locked first, in the order of their ids. Amounts that the ends free can be held at once. Returns the rows of the
-- ends, then those of the holds, each in the order of the requests.
create or replace function ledger_resolve_and_hold(
  resolve_ids text[], resolutions text[], settled_usd bigint[], settled_diem bigint[], details jsonb[],
  hold_ids text[], account_ids uuid[], key_ids uuid[], usd_prices bigint[], diem_prices bigint[], ttls_ms bigint[],
  snapshots jsonb[]
) returns table (
  outcome text, limited text, part_diem bigint, part_bundled bigint, part_usd bigint, state text, replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
  perform 1 from accounts where id = any (account_ids || array(
    select h.account_id from holds h where h.operation_id = any (resolve_ids)
  )) order by id for no key update;
  return query
    select r.outcome, null::text, r.part_diem, r.part_bundled, r.part_usd, null::text, r.replayed
    from ledger_end_holds(resolve_ids, resolutions, settled_usd, settled_diem, details) r;
  return query
    select h.outcome, h.limited, h.part_diem, h.part_bundled, h.part_usd, h.state, h.replayed
    from ledger_hold(hold_ids, account_ids, key_ids, usd_prices, diem_prices, ttls_ms, snapshots) h;
end $$;
