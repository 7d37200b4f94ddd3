/** API process with an additional route `POST /test/sold`, which costs 0.005 USD and has a short deadline. */
import { json } from '../../api/http/answer.ts';
import { defineRoute, type Route } from '../../api/http/route.ts';
import { purchaseAnswer } from '../../api/paid/purchase.ts';
import { ROUTES } from '../../api/routes.ts';

const PRICE = { usd: 5_000_000n, diem: 5_000_000n };

const sold = defineRoute({
  method: 'POST',
  path: '/test/sold',
  access: 'key',
  deadlineMs: 8_000,
  handler: (dependencies, request) => {
    const { requestId } = request;
    const snapshot = {
      sku: 'test-sold',
      modelId: 'test',
      provider: 'test',
      unit: 'file',
      units: '1',
      requestId,
    };
    const purchase = { price: PRICE, snapshot: { ...snapshot, pricePerUnitUsd: '5000000' }, ttlMs: 60_000 };
    return purchaseAnswer(dependencies, request, {
      purchase,
      settles: 'at its first byte',
      work: async () => json({}),
    });
  },
});

(ROUTES as Route[]).push(sold);
await import('../../api/main.ts');
