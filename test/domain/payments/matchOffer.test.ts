import { describe, expect, it } from 'vitest';
import { type OfferTerms, refuseAccepted } from '../../../domain/payments/matchOffer.ts';

const TERMS: OfferTerms = {
  scheme: 'exact',
  networks: ['eip155:8453', 'base'],
  asset: '0xAsset',
  payTo: '0xShop',
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
  extraToo: { feePayer: 'payer' },
  amount: '5000000',
  isSameAddress: (one, other) => one.toLowerCase() === other.toLowerCase(),
};

const ACCEPTED = {
  ...{ scheme: 'exact', network: 'base', asset: '0xASSET', payTo: '0xshop', amount: '5000000' },
  ...{ maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
};

const codeOf = (change: object) => refuseAccepted({ ...ACCEPTED, ...change }, TERMS)?.code;

describe('an accepted payment requirement', () => {
  it.each([
    ['as we offer it', {}],
    ['under another name of its network', { network: 'eip155:8453' }],
    ['without the extra', { extra: undefined }],
    ['with what the extra may carry besides', { extra: { ...TERMS.extra, feePayer: 'payer' } }],
    ['with members that we do not know', { description: 'a top-up', outputSchema: null }],
  ])('matches our offer %s', (_how, change) => {
    expect(codeOf(change)).toBeUndefined();
  });

  it.each([
    ['another scheme', { scheme: 'upto' }, 'UNSUPPORTED_SCHEME'],
    ['no scheme', { scheme: undefined }, 'UNSUPPORTED_SCHEME'],
    ['another network', { network: 'eip155:1' }, 'UNSUPPORTED_NETWORK'],
    ['a network in other letters', { network: 'Base' }, 'UNSUPPORTED_NETWORK'],
    ['a list of networks', { network: ['base'] }, 'UNSUPPORTED_NETWORK'],
    ['another token', { asset: '0xOther' }, 'UNSUPPORTED_TOKEN'],
    ['no token', { asset: undefined }, 'UNSUPPORTED_TOKEN'],
    ['another recipient', { payTo: '0xMallory' }, 'INVALID_PAYMENT_RECIPIENT'],
    ['a recipient that is no text', { payTo: { address: '0xShop' } }, 'INVALID_PAYMENT_RECIPIENT'],
    ['another amount', { amount: '5000001' }, 'INVALID_AMOUNT'],
    ['its amount as a number', { amount: 5_000_000 }, 'INVALID_AMOUNT'],
    ['its amount in another spelling', { amount: '05000000' }, 'INVALID_AMOUNT'],
    ['another time', { maxTimeoutSeconds: 600 }, 'INVALID_PAYMENT'],
    ['no time', { maxTimeoutSeconds: undefined }, 'INVALID_PAYMENT'],
    ['another name of the token', { extra: { ...TERMS.extra, name: 'Coin' } }, 'INVALID_PAYMENT'],
    ['half of the extra', { extra: { name: 'USD Coin' } }, 'INVALID_PAYMENT'],
    ['another fee payer', { extra: { ...TERMS.extra, feePayer: 'mallory' } }, 'INVALID_PAYMENT'],
    ['something else in the extra', { extra: { ...TERMS.extra, salt: '1' } }, 'INVALID_PAYMENT'],
    ['a property of objects in the extra', { extra: { ...TERMS.extra, toString: '1' } }, 'INVALID_PAYMENT'],
    ['an extra that is a list', { extra: ['USD Coin', '2'] }, 'INVALID_PAYMENT'],
    ['an extra that is null', { extra: null }, 'INVALID_PAYMENT'],
  ])('is refused with %s', (_what, change, code) => {
    expect(codeOf(change)).toBe(code);
  });

  it('is refused with our token and recipient, not with what the client sent', () => {
    expect(refuseAccepted({ ...ACCEPTED, asset: '<script>' }, TERMS)?.message).toBe(
      'the token of this network is 0xAsset',
    );
    expect(refuseAccepted({ ...ACCEPTED, payTo: '<script>' }, TERMS)?.message).toBe(
      'the recipient on this network is 0xShop',
    );
  });
});
