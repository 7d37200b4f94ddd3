-- Credit from outside: top_up, grant (never diem, which has exactly one grant a day) and adjustment (either sign, but
-- never below the held amount). Outcomes: posted, insufficient, no_account, conflict.
create or replace function ledger_post(
  post_id text, post_kind text, account uuid, post_currency text, post_amount bigint, post_details jsonb
) returns table (outcome text, replayed boolean) language plpgsql as $$
#variable_conflict use_column
declare
  at timestamptz;
  today date;
  known operations;
  free bigint;
begin
  perform 1 from accounts where id = account for no key update;
  if not found then
    return query select 'no_account', false;
    return;
  end if;
  select * into known from operations o where o.operation_id = post_id and o.kind = post_kind;
  if found then
    return query select case when known.account_id = account then 'posted' else 'conflict' end, true;
    return;
  end if;
  at := ledger_now();
  today := (at at time zone 'UTC')::date;
  if post_currency = 'diem' then
    perform ledger_open_diem(array[account], today, at);
  end if;
  select case post_currency
    when 'usd' then a.usd_posted - a.usd_held
    when 'bundled' then a.bundled_posted - a.bundled_held
    when 'vcu' then a.vcu_posted
    else (select d.posted - d.held from diem_days d where d.account_id = account and d.day = today)
  end into free from accounts a where a.id = account;
  if free + post_amount < 0 then
    return query select 'insufficient', false;
    return;
  end if;

  update accounts set
    usd_posted = usd_posted + case post_currency when 'usd' then post_amount else 0 end,
    bundled_posted = bundled_posted + case post_currency when 'bundled' then post_amount else 0 end,
    vcu_posted = vcu_posted + case post_currency when 'vcu' then post_amount else 0 end
  where id = account and post_currency <> 'diem';
  update diem_days set posted = posted + post_amount
    where account_id = account and day = today and post_currency = 'diem';
  insert into operations (operation_id, kind, account_id, state, day, diem, bundled, usd, created_at)
    values (post_id, post_kind, account, 'done', today,
      case post_currency when 'diem' then post_amount else 0 end,
      case post_currency when 'bundled' then post_amount else 0 end,
      case post_currency when 'usd' then post_amount else 0 end, at);
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
    values (at, post_id, post_kind, account,
      case post_kind when 'top_up' then 'payments' when 'grant' then 'issuance' else 'adjustments' end,
      post_currency, post_amount, today, post_details);
  return query select 'posted', false;
end $$;
