-- First UTC day that counts towards a key's limit.
create or replace function ledger_period_start(period text, today date)
returns date language sql immutable parallel safe as $$
  select case period
    when 'EPOCH' then today
    when 'MONTH' then date_trunc('month', today::timestamp)::date
    else '-infinity'::date
  end
$$;
