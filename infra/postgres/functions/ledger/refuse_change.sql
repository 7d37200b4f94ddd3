create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: correct it with a new transfer', tg_table_name using errcode = 'restrict_violation';
end $$;
