-- Writes today's diem row with the day's allocation, and its grant: once per account and day.
create or replace function ledger_open_diem(account_ids uuid[], today date, at timestamptz)
returns void language sql as $$
  with fresh as (
    insert into diem_days (account_id, day, allocation, posted)
    select a.id, today, a.diem_daily_allocation, a.diem_daily_allocation from accounts a where a.id = any (account_ids)
    on conflict do nothing
    returning account_id, posted
  ), named as (
    select 'diem:' || account_id || ':' || today as operation_id, account_id, posted from fresh where posted > 0
  ), noted as (
    insert into operations (operation_id, kind, account_id, state, day, diem, bundled, usd, created_at)
    select operation_id, 'grant', account_id, 'done', today, posted, 0, 0, at from named
  )
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
  select at, operation_id, 'grant', account_id, 'issuance', 'diem', posted, today, '{"notes": "daily allocation"}'
  from named
$$;
