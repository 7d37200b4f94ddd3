-- Expires due holds of accounts that no transaction has locked at this moment. The others are due the next time.
create or replace function ledger_expire_unlocked(operation_ids text[])
returns table (operation_id text, outcome text, replayed boolean)
language plpgsql set enable_seqscan = off
as $$
declare
  free constant uuid[] := array(
    select a.id from accounts a
    where a.id in (select h.account_id from holds h where h.operation_id = any (operation_ids))
    order by a.id for no key update skip locked);
begin
  return query select e.operation_id, e.outcome, e.replayed from ledger_expire_each(array(
    select h.operation_id from holds h
    where h.operation_id = any (operation_ids)
      and (h.account_id = any (free) or not exists (select from accounts a where a.id = h.account_id))
  )) e;
end $$;
