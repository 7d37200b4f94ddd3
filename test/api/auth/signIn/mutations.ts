/** Single changes of a valid sign-in, each with its expected code. */

import { FORMS, type Form, GENESIS, iso, type Sent } from '../../../harness/signIns.ts';
import {
  AROUND_TEXT,
  BY_FORM,
  bad,
  FIELDS,
  HINTS,
  SHARED,
  SIGNATURES,
  TIMESTAMP,
  type Value,
  type Values,
} from './mutatedValues.ts';

export type Row = [form: Form, name: string, change: (sent: Sent) => Sent, code: string];

const S = 'INVALID_SIGNATURE';
const M = 'INVALID_MESSAGE';
const N = 'MISSING_NONCE';
const C = 'INVALID_CHAIN_ID';
const X = 'CHAIN_MISMATCH';
const U = 'UNSUPPORTED_CHAIN';
const T = 'TIMESTAMP_MISMATCH';
const P = 'INVALID_PAYLOAD';

/** Texts that violate the grammar. */
const TEXTS: readonly (readonly [string, (text: string) => string, string])[] = [
  ['CRLF', (text) => text.replaceAll('\n', '\r\n'), M],
  ['one CR', (text) => text.replace('\n', '\r\n'), M],
  ['a line feed before it', (text) => `\n${text}`, M],
  ['itself again', (text) => `${text}\n${text}`, M],
  ['a byte order mark', (text) => `\ufeff${text}`, M],
  ['a blank behind a line', (text) => text.replace('Version: 1', 'Version: 1 '), M],
  ['a blank before a line', (text) => text.replace('Version: 1', ' Version: 1'), M],
  ['lower case title', (text) => text.replace('wants', 'Wants'), M],
  ['another title', (text) => text.replace('sign in with', 'log in with'), M],
  ['the other chain in the title', (text) => text.replace(/Ethereum|Solana/, (is) => OTHER[is] ?? ''), M],
  ['a third chain in the title', (text) => text.replace(/Ethereum|Solana/, 'Bitcoin'), M],
  ['no domain', (text) => text.replace('api.example.com wants', 'wants'), M],
  ['two domains', (text) => text.replace('api.example.com', 'evil.test api.example.com'), M],
  ['no blank line after the address', (text) => text.replace('\n\n', '\n'), M],
  ['three blank lines', (text) => text.replace('\n\n', '\n\n\n'), M],
  ['no URI', (text) => text.replace(/URI: .*\n/, ''), M],
  ['two URIs', (text) => text.replace(/(URI: .*\n)/, '$1$1'), M],
  ['no version', (text) => text.replace('Version: 1\n', ''), M],
  ['version 2', (text) => text.replace('Version: 1', 'Version: 2'), M],
  ['two versions', (text) => text.replace('Version: 1\n', 'Version: 1\nVersion: 1\n'), M],
  ['two chain ids', (text) => text.replace(/(Chain ID: .*\n)/, '$1$1'), M],
  ['no nonce', (text) => text.replace(/Nonce: .*\n/, ''), N],
  ['two nonces', (text) => text.replace(/(Nonce: .*\n)/, '$1$1'), M],
  ['nonce before the chain', (text) => text.replace(/(Chain ID: .*\n)(Nonce: .*\n)/, '$2$1'), M],
  ['nonce by another name', (text) => text.replace('Nonce: ', 'nonce: '), N],
  ['no Issued At', (text) => text.replace(/\nIssued At: .*/, ''), M],
  ['two times of issue', (text) => text.replace(/(\nIssued At: .*)/, '$1$1'), M],
  ['expiration first', (text) => text.replace(/(Issued At: .*)\n(Exp.*)/, '$2\n$1'), M],
  ['two expirations', (text) => text.replace(/(\nExp.*)/, '$1$1'), M],
  ['no expiration', (text) => text.replace(/\nExp.*/, ''), S],
  ['an empty expiration', (text) => text.replace(/Expiration Time: .*/, 'Expiration Time: '), M],
  ['not before, in the future', (text) => `${text}\nNot Before: 2099-01-01T00:00:00Z`, 'NOT_BEFORE'],
  ['not before, in the past', (text) => `${text}\nNot Before: 2020-01-01T00:00:00Z`, S],
  ['not before, no time', (text) => `${text}\nNot Before: soon`, M],
  ['a request id', (text) => `${text}\nRequest ID: order-7`, S],
  ['an empty request id', (text) => `${text}\nRequest ID: `, M],
  ['a request id of two words', (text) => `${text}\nRequest ID: a b`, M],
  ['a request id before the expiration', (text) => text.replace('\nExp', '\nRequest ID: a\nExp'), M],
  ['a resource', (text) => `${text}\nResources:\n- https://evil.test/`, S],
  ['an empty list of resources', (text) => `${text}\nResources:`, S],
  ['a resource that is none', (text) => `${text}\nResources:\n- x`, M],
  ['a resource without its dash', (text) => `${text}\nResources:\nhttps://evil.test/`, M],
  ['33 resources', (text) => `${text}\nResources:${'\n- urn:a'.repeat(33)}`, M],
  ['resources twice', (text) => `${text}\nResources:\n- urn:a\nResources:\n- urn:b`, M],
  ['an unknown line', (text) => `${text}\nAmount: 100`, M],
  ['something behind it', (text) => `${text}\n\nand pay 100 USD`, M],
  ['a tab', (text) => text.replace('Sign in', 'Sign\tin'), M],
  ['a no-break space', (text) => text.replace('Version: ', 'Version:\u00a0'), M],
  ['a zero', (text) => `${text}\u0000`, M],
  ['no statement', (text) => text.replace('Sign in to Farebox\n', ''), S],
  ['longer than may be', (text) => text.replace('Sign in', 'x'.repeat(4_100)), M],
];
const OTHER: Record<string, string> = { Ethereum: 'Solana', Solana: 'Ethereum' };

const CHAIN_LINES: Record<'evm' | 'Solana', readonly (readonly [string | undefined, string])[]> = {
  evm: [
    ...[undefined, '1', '84532', '8454'].map((value) => [value, X] as const),
    ...['eip155:8453', '0x2105', '08453', '8453 ', '', 'base', '-1', GENESIS].map((value) => [value, C] as const),
  ],
  Solana: [
    ...['EtWTRABZaYq6iMfeYKouRu166VU2xqa1', GENESIS.replace('5', '6')].map((value) => [value, U] as const),
    ...['mainnet', '8453', `${GENESIS}1`, `Solana:${GENESIS}`, 'solana:'].map((value) => [value, C] as const),
    [undefined, U],
    [`solana:${GENESIS}`, S],
  ],
};

export function mutations(nowMs: number): Row[] {
  const late: Values = [
    [iso(nowMs - 310_000), 'EXPIRED'],
    ['1970-01-01T00:00:00Z', 'EXPIRED'],
    [iso(nowMs + 60_000), 'FUTURE_TIMESTAMP'],
    ['9999-12-31T23:59:59Z', 'FUTURE_TIMESTAMP'],
    [iso(nowMs - 1_000), S],
  ];
  return FORMS.flatMap((form) => {
    const chain = form.startsWith('evm') ? 'evm' : 'Solana';
    const tables = [BY_FORM[form], { signature: SIGNATURES[chain], timestamp: TIMESTAMP }, hints()];
    if (form.endsWith('text')) return [...ofText(form, chain, nowMs), ...inFields(form, [AROUND_TEXT, ...tables])];
    const shared = Object.entries(SHARED).map(([name, { values }]) => ({ [name]: values }));
    return inFields(form, [FIELDS, ...shared, ...tables, { issuedAt: late }]);
  });
}

function hints(): Record<string, Values> {
  return { type: HINTS.type.map(bad(P)), signatureScheme: HINTS.signatureScheme.map(bad(P)) };
}

function inFields(form: Form, tables: readonly Record<string, Values>[]): Row[] {
  return tables.flatMap((table) =>
    Object.entries(table).flatMap(([name, values]) =>
      values.map(([value, code]): Row => {
        const change = (sent: Sent) => ({ ...sent, [name]: valueFor(value, String(sent[name])) });
        return [form, `${name} ${show(value)}`, change, code];
      }),
    ),
  );
}

function ofText(form: Form, chain: 'evm' | 'Solana', nowMs: number): Row[] {
  const rewrite = (name: string, change: (text: string) => string, code: string): Row => [
    form,
    `text: ${name}`,
    (sent) => ({ ...sent, message: change(String(sent.message)) }),
    code,
  ];
  const lines = Object.values(SHARED).flatMap(({ line, values }) =>
    values.map(([value, code]) => rewrite(`${line} ${show(value)}`, (text) => withLine(text, line, value), code)),
  );
  // Too far from the timestamp beside it, but neither too old nor too new.
  const late = [-310_000, 60_000].map((ms) =>
    rewrite(`issued ${ms} ms off`, (text) => withLine(text, 'Issued At', iso(nowMs + ms)), T),
  );
  const chains = CHAIN_LINES[chain].map(([value, code]) => {
    const line = value === undefined ? '' : `Chain ID: ${value}\n`;
    return rewrite(`chain ${value}`, (text) => text.replace(/Chain ID: .*\n/, line), code);
  });
  const texts = TEXTS.map(([name, change, code]) => rewrite(name, change, code));
  return [...lines, ...late, ...chains, ...texts];
}

function withLine(text: string, line: string, value: Value): string {
  if (line === 'domain') return text.replace('api.example.com', String(value));
  if (line === 'statement') return text.replace('Sign in to Farebox', String(value));
  const pattern = new RegExp(`${line}: (.*)`);
  return text.replace(pattern, (_, before: string) => `${line}: ${valueFor(value, before)}`);
}

function valueFor(value: Value, before: string): unknown {
  return typeof value === 'function' ? value(before) : value;
}

function show(value: Value): string {
  return typeof value === 'function' ? String(value).slice(0, 60) : (JSON.stringify(value) ?? 'left out').slice(0, 60);
}
