-- Up Migration

-- A wallet's transactions show the refunds of one request as one: found by the request, not by reading all that there is.
create index transfers_refunds_by_request on transfers (account_id, (coalesce(sold, details) ->> 'requestId'))
  where kind = 'refund';

-- Down Migration

drop index transfers_refunds_by_request;
