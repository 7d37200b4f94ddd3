-- Makes a partition with the protection of its table.
create or replace function create_partition(t partitioned_tables, partition text, first text, last text) returns void
language plpgsql as $$
begin
  execute format('create table %I partition of %I for values from (%s) to (%s)', partition, t.name, first, last);
  -- Default privileges would let the services change rows of a partition that they name.
  execute format('revoke all on %I from farebox_app', partition);
  if t.guard is not null then
    execute format('create trigger %I before update or delete or truncate on %I for each statement
      execute function %I()', t.name || '_append_only', partition, t.guard);
  end if;
end $$;

revoke all on function create_partition from public;
