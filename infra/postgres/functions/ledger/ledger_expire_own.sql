-- Expires due holds of these accounts, each account by itself: damage in one keeps no other from its funds. Accounts
-- that another transaction has locked are left out, so nobody waits here. Damaged holds stay, for the sweep to report.
-- Returns the number of expired holds.
create or replace function ledger_expire_own(account_ids uuid[]) returns bigint language plpgsql
set enable_seqscan = off
as $$
declare
  account uuid;
  due text[];
  done bigint := 0;
begin
  for account in select distinct a from unnest(account_ids) a order by a loop
    due := array(
      select h.operation_id from holds h where h.expires_at <= ledger_now() and h.account_id = account
      order by h.expires_at limit 200);
    continue when due = '{}';
    begin
      done := done + (
        select count(*) from ledger_expire_unlocked(due) e where e.outcome = 'expired' and not e.replayed);
    exception when others then
      null;
    end;
  end loop;
  return done;
end $$;
