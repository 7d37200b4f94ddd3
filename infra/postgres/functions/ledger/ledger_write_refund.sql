-- Writes one refund. The caller has the lock of the account, and has made sure that the charge has no refund.
create or replace function ledger_write_refund(
  refund_id text, c operations, reason text, diem bigint, bundled bigint, usd bigint, at timestamptz
) returns void language plpgsql as $$
#variable_conflict use_variable
begin
  update accounts set usd_posted = usd_posted + usd, bundled_posted = bundled_posted + bundled
    where id = c.account_id and (usd > 0 or bundled > 0);
  update diem_days d set posted = d.posted + diem where d.account_id = c.account_id and d.day = c.day and diem > 0;
  update key_days u set usd_used = u.usd_used - usd - bundled, diem_used = u.diem_used - diem
    where u.key_id in (c.key_id, c.parent_key_id) and u.day = c.day;
  update operations o set counterpart = refund_id where o.operation_id = c.operation_id and o.kind = 'charge';
  insert into operations (operation_id, kind, account_id, state, day, key_id, parent_key_id, diem, bundled, usd,
      counterpart, created_at)
    values (refund_id, 'refund', c.account_id, 'done', c.day, c.key_id, c.parent_key_id, diem, bundled, usd,
      c.operation_id, at);
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    select at, refund_id, 'refund', c.account_id, 'revenue', m.currency, m.amount, c.day, c.key_id,
      jsonb_build_object('charge', c.operation_id, 'reason', reason)
    from (values ('diem', diem), ('bundled', bundled), ('usd', usd)) m (currency, amount)
    where m.amount > 0;
end $$;
