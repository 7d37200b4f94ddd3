-- Digits only, else null. A snapshot is JSON, and one odd value must not cost its owner the whole page.
create or replace function usage_digits(value text) returns text language sql immutable parallel safe as $$
  select case when translate(value, '0123456789', '') = '' and length(value) between 1 and 18 then value end
$$;
