/**
 * The ledger as plain maps, with which the database must agree, command by command. It knows the rule of the split
 * (domain/ledger.ts), but no SQL, locks or batches.
 */
import {
  type LedgerPrice,
  type LimitPeriod,
  periodStart,
  restInUsd,
  splitPrice,
  unpaidPart,
} from '../../../domain/ledger.ts';
import type { KeyLimits } from './ledgerWorld.ts';

interface Parts {
  diem: bigint;
  bundled: bigint;
  usd: bigint;
}

interface ChargeRecord {
  account: number;
  key: number | null;
  day: string;
  state: 'held' | 'settled' | 'released' | 'expired';
  held: Parts | undefined;
  taken: Parts;
  expiresAtMs: number;
  refund: { id: string; parts: Parts } | undefined;
}

export interface Ask {
  id: string;
  account: number;
  key: number | null;
  price: LedgerPrice;
  ttlMs: number;
}

export interface Way {
  id: string;
  resolution: 'settled' | 'released';
  price: LedgerPrice;
}

interface Purse {
  usd: bigint;
  bundled: bigint;
  vcu: bigint;
  allocation: bigint;
  /** Key: day; only days in use. */
  days: Map<string, { allocation: bigint; posted: bigint }>;
}

interface ModelKey {
  account: number;
  /** Index of the parent key. */
  parent?: number;
  limits: KeyLimits;
}

const NONE: Parts = { diem: 0n, bundled: 0n, usd: 0n };

export class LedgerModel {
  nowMs: number;
  readonly purses: Purse[];
  readonly keys: ModelKey[];
  readonly charges = new Map<string, ChargeRecord>();
  readonly refunds = new Map<string, string>();
  readonly posts = new Map<string, number>();

  constructor(startMs: number, allocations: bigint[], keys: Omit<ModelKey, 'limits'>[]) {
    this.nowMs = startMs;
    this.purses = allocations.map((allocation) => ({
      usd: 0n,
      bundled: 0n,
      vcu: 0n,
      allocation,
      days: new Map(),
    }));
    this.keys = keys.map((key) => ({ ...key, limits: {} }));
  }

  get day(): string {
    return new Date(this.nowMs).toISOString().slice(0, 10);
  }

  /** Admits a batch of holds or one charge. Expires the due holds of an account first if it would be refused. */
  admit(asks: Ask[], asHold: boolean): string[] {
    const trial = Object.assign(new LedgerModel(this.nowMs, [], []), structuredClone({ ...this }));
    const refused = trial
      .#decide(asks, asHold)
      .map((answer, index) => (/^(insufficient|key_limit)/.test(answer) ? asks[index]?.account : undefined));
    for (const account of new Set(refused)) {
      if (account === undefined) continue;
      const { diem, bundled, usd } = this.held(account);
      if (diem + bundled + usd > 0n) this.expire(account);
    }
    return this.#decide(asks, asHold);
  }

  /** Decides in order; repeats within the batch return the first outcome. */
  #decide(asks: Ask[], asHold: boolean): string[] {
    const firsts = new Map<string, number>();
    const answers: string[] = [];
    const fresh: boolean[] = [];
    asks.forEach((ask, index) => {
      const known = this.charges.get(ask.id);
      const first = firsts.get(ask.id);
      if (first !== undefined && known === undefined) {
        answers.push(asks[first]?.account === ask.account ? (answers[first] ?? '') : 'conflict');
        fresh.push(false);
      } else if (known !== undefined) {
        const mine = first !== undefined && fresh[first];
        answers.push(this.#echo(known, ask, asHold, mine === true));
        fresh.push(false);
      } else {
        answers.push(this.#admitOne(ask, asHold));
        fresh.push(this.charges.has(ask.id));
      }
      if (first === undefined) firsts.set(ask.id, index);
    });
    return answers;
  }

  #echo(known: ChargeRecord, ask: Ask, asHold: boolean, sameBatch: boolean): string {
    if (known.account !== ask.account) return 'conflict';
    if (!sameBatch && (known.held !== undefined) !== asHold) return 'conflict';
    return asHold
      ? `held ${show(known.held ?? NONE)} ${known.state} replayed`
      : `charged ${show(known.taken)} replayed`;
  }

  #admitOne(ask: Ask, asHold: boolean): string {
    const key = ask.key === null ? undefined : this.keys[ask.key];
    if (key !== undefined && key.account !== ask.account) return 'internal';
    const free = this.free(ask.account);
    const rooms = [ask.key, key?.parent].map((each) => this.room(each ?? undefined));
    const split = splitPrice(ask.price, {
      ...free,
      keyUsd: least(rooms.map(({ usd }) => usd)),
      keyDiem: least(rooms.map(({ diem }) => diem)),
    });
    if (split.outcome === 'insufficient') return 'insufficient';
    if (split.outcome === 'key_limit') return `key_limit ${split.currency}`;
    const parts = { diem: split.diem, bundled: split.bundled, usd: split.usd };
    if (parts.diem > 0n) this.#openDay(ask.account);
    this.charges.set(ask.id, {
      account: ask.account,
      key: ask.key,
      day: this.day,
      state: asHold ? 'held' : 'settled',
      held: asHold ? parts : undefined,
      taken: asHold ? NONE : parts,
      expiresAtMs: this.nowMs + ask.ttlMs,
      refund: undefined,
    });
    if (!asHold) this.#move(ask.account, this.day, parts, -1n);
    return asHold ? `held ${show(parts)} held` : `charged ${show(parts)}`;
  }

  /** Releases all holds first. Bills above their holds may use the released amounts. */
  resolve(ways: Way[]): string[] {
    const rests: [string, ChargeRecord, LedgerPrice][] = [];
    const replays = ways.map(({ id, resolution, price }) => {
      const known = this.charges.get(id);
      if (known?.state !== 'held') return true;
      this.#end(known, resolution, price);
      if (resolution === 'settled') rests.push([id, known, price]);
      return false;
    });
    for (const rest of rests) this.#takeRest(...rest);
    return ways.map(({ id }, index) => {
      const known = this.charges.get(id);
      if (!known) return 'no_hold';
      return `${known.state} ${show(this.#takenInAll(id, known))}${replays[index] ? ' replayed' : ''}`;
    });
  }

  expire(account?: number): number {
    const due = [...this.charges.values()].filter(
      (known) =>
        known.state === 'held' &&
        known.expiresAtMs <= this.nowMs &&
        (account === undefined || known.account === account),
    );
    for (const known of due) this.#end(known, 'expired', { usd: 0n, diem: 0n });
    return due.length;
  }

  #end(known: ChargeRecord, state: 'settled' | 'released' | 'expired', price: LedgerPrice): void {
    const held = known.held ?? NONE;
    const cost = state === 'settled' ? price : { usd: 0n, diem: 0n };
    const diem = low(cost.diem, held.diem);
    const rest = low(restInUsd(cost, diem) ?? 0n, held.bundled + held.usd);
    const bundled = low(rest, held.bundled);
    known.state = state;
    known.taken = { diem, bundled, usd: rest - bundled };
    this.#move(known.account, known.day, known.taken, -1n);
  }

  /** Takes the rest beyond the hold, today, as far as free funds and present limits allow. */
  #takeRest(id: string, known: ChargeRecord, price: LedgerPrice): void {
    const { account, key } = known;
    const rest = unpaidPart(price, [
      { currency: 'diem', amount: known.taken.diem },
      { currency: 'usd', amount: known.taken.bundled + known.taken.usd },
    ]);
    if (rest.usd === 0n && rest.diem === 0n) return;
    const free = this.free(account);
    const rooms = [key, key === null ? undefined : this.keys[key]?.parent].map((each) => this.room(each ?? undefined));
    const keyUsd = least(rooms.map(({ usd }) => usd));
    const keyDiem = least(rooms.map(({ diem }) => diem));
    const diem = high(least([rest.diem, free.diem, keyDiem]) ?? 0n, 0n);
    const usd = high(least([restInUsd(rest, diem) ?? 0n, free.bundled + free.usd, keyUsd]) ?? 0n, 0n);
    const bundled = low(free.bundled, usd);
    const taken = { diem, bundled, usd: usd - bundled };
    if (diem > 0n) this.#openDay(account);
    const record = { ...known, day: this.day, held: undefined, taken, refund: undefined };
    this.charges.set(`${id}:rest`, record);
    this.#move(account, this.day, taken, -1n);
  }

  #takenInAll(id: string, { taken }: ChargeRecord): Parts {
    return sumOf(taken, this.charges.get(`${id}:rest`)?.taken ?? NONE);
  }

  refund(id: string, chargeId: string, amount: LedgerPrice | undefined): string {
    const known = this.charges.get(chargeId);
    if (known?.state !== 'settled') return 'no_charge';
    const rest = this.charges.get(`${chargeId}:rest`);
    if (known.refund) {
      const parts = sumOf(known.refund.parts, rest?.refund?.parts ?? NONE);
      return `refunded ${known.refund.id} ${show(parts)} replayed`;
    }
    if (this.refunds.has(id)) return 'conflict';
    const all = this.#takenInAll(chargeId, known);
    const parts = amount === undefined ? all : smaller(all, amount);
    const ofRest = eachLow(rest?.taken ?? NONE, parts);
    const own = sumOf(parts, ofRest, -1n);
    known.refund = { id, parts: own };
    this.refunds.set(id, chargeId);
    this.#move(known.account, known.day, own, 1n);
    if (rest) {
      rest.refund = { id: `${id}:rest`, parts: ofRest };
      this.#move(known.account, rest.day, ofRest, 1n);
    }
    return `refunded ${id} ${show(parts)}`;
  }

  /** Books a top-up, a grant or an adjustment. */
  post(kind: string, id: string, account: number, currency: string, amount: bigint): string {
    const name = `${kind}:${id}`;
    const before = this.posts.get(name);
    if (before !== undefined) return before === account ? 'posted replayed' : 'conflict';
    const purse = this.#purse(account);
    // Reading the diem of today opens the day, whether or not the correction is covered.
    if (currency === 'diem') this.#openDay(account);
    const free = this.free(account);
    const available =
      currency === 'vcu' ? purse.vcu : currency === 'usd' ? free.usd : currency === 'diem' ? free.diem : free.bundled;
    if (available + amount < 0n) return 'insufficient';
    this.posts.set(name, account);
    if (currency === 'usd') purse.usd += amount;
    else if (currency === 'bundled') purse.bundled += amount;
    else if (currency === 'vcu') purse.vcu += amount;
    else this.#move(account, this.day, { ...NONE, diem: amount }, 1n);
    return 'posted';
  }

  /** Spendable amounts: posted less open holds; for diem only those of today. */
  free(account: number): Parts {
    const purse = this.#purse(account);
    const held = this.held(account);
    const today = purse.days.get(this.day)?.posted ?? purse.allocation;
    return {
      diem: today - held.diem,
      bundled: purse.bundled - held.bundled,
      usd: purse.usd - held.usd,
    };
  }

  held(account: number): Parts {
    const total = { ...NONE };
    for (const known of this.charges.values()) {
      if (known.account !== account || known.state !== 'held' || !known.held) continue;
      total.usd += known.held.usd;
      total.bundled += known.held.bundled;
      if (known.day === this.day) total.diem += known.held.diem;
    }
    return total;
  }

  /** Remaining limits of a key in its current period. */
  room(index: number | undefined): { usd?: bigint; diem?: bigint } {
    if (index === undefined) return {};
    const { usd, diem } = this.keys[index]?.limits ?? {};
    const used = this.used(index);
    return {
      ...(usd !== undefined && { usd: usd - used.usd - used.bundled }),
      ...(diem !== undefined && { diem: diem - used.diem }),
    };
  }

  /** Spent and held amounts of a key and its children in its current period. */
  used(index: number): Parts {
    const period: LimitPeriod = this.keys[index]?.limits.period ?? 'EPOCH';
    const start = periodStart(period, this.day) ?? '';
    const total = { ...NONE };
    for (const known of this.charges.values()) {
      if (known.key === null || known.day < start) continue;
      if (known.key !== index && this.keys[known.key]?.parent !== index) continue;
      const now = known.state === 'held' ? (known.held ?? NONE) : known.taken;
      const back = known.refund?.parts ?? NONE;
      total.diem += now.diem - back.diem;
      total.bundled += now.bundled - back.bundled;
      total.usd += now.usd - back.usd;
    }
    return total;
  }

  describe(account: number): Record<string, unknown> {
    const purse = this.#purse(account);
    const allocation = purse.days.get(this.day)?.allocation ?? purse.allocation;
    return { ...this.free(account), vcu: purse.vcu, diemAllocation: allocation, held: this.held(account) };
  }

  #purse(account: number): Purse {
    const purse = this.purses[account];
    if (!purse) throw new Error(`no purse ${account}`);
    return purse;
  }

  #openDay(account: number): void {
    const purse = this.#purse(account);
    if (purse.days.has(this.day)) return;
    purse.days.set(this.day, { allocation: purse.allocation, posted: purse.allocation });
  }

  #move(account: number, day: string, parts: Parts, sign: bigint): void {
    const purse = this.#purse(account);
    purse.usd += sign * parts.usd;
    purse.bundled += sign * parts.bundled;
    const record = purse.days.get(day);
    if (record) record.posted += sign * parts.diem;
  }
}

/** Takes from usd first, then bundled credit, then diem, as if the charge had been smaller. */
function smaller(taken: Parts, amount: LedgerPrice): Parts {
  const usd = low(taken.usd, amount.usd);
  const bundled = low(taken.bundled, amount.usd - usd);
  const rest = amount.usd - usd - bundled;
  const inDiem =
    amount.usd === 0n || taken.usd + taken.bundled === 0n
      ? amount.diem
      : (amount.diem * rest + amount.usd - 1n) / amount.usd;
  return { diem: low(taken.diem, inDiem), bundled, usd };
}

export function show(parts: Parts): string {
  return `${parts.diem}/${parts.bundled}/${parts.usd}`;
}

/** Undefined means no limit. */
function least(limits: (bigint | undefined)[]): bigint | undefined {
  return limits.reduce(
    (one, other) => (one === undefined || other === undefined ? (one ?? other) : low(one, other)),
    undefined,
  );
}

function high(first: bigint, second: bigint): bigint {
  return first > second ? first : second;
}

function sumOf(left: Parts, right: Parts, sign = 1n): Parts {
  return {
    diem: left.diem + sign * right.diem,
    bundled: left.bundled + sign * right.bundled,
    usd: left.usd + sign * right.usd,
  };
}

function eachLow(a: Parts, b: Parts): Parts {
  return { diem: low(a.diem, b.diem), bundled: low(a.bundled, b.bundled), usd: low(a.usd, b.usd) };
}

function low(first: bigint, second: bigint): bigint {
  return first < second ? first : second;
}
