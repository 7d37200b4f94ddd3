-- Bound of a month, in the form of the key of its table.
create or replace function partition_bound(keyed_by text, month timestamptz) returns text language sql immutable as $$
  select case keyed_by
    when 'time' then month::text
    else regexp_replace(lpad(to_hex((extract(epoch from month) * 1000)::bigint), 12, '0') || repeat('0', 20),
      '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\1-\2-\3-\4-\5')
  end
$$;
