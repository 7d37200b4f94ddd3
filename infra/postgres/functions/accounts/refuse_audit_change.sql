-- The audit trail is append-only, except for erase_audit.
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('farebox.erasing', true) = 'on' then return null; end if;
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
