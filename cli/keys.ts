import { type Command, Option } from 'commander';
import { KEY_TYPES, type KeyType, MODEL_PRIVACIES, type ModelPrivacy } from '../domain/caller.ts';
import { LIMIT_PERIODS, type LimitPeriod } from '../domain/ledger.ts';
import { formatNano, type Nano } from '../domain/money.ts';
import { endAnyKey, makeKey } from '../infra/postgres/keyAdministration.ts';
import { type KeyRecord, listKeys } from '../infra/postgres/keys.ts';
import { readAmount, readFuture } from './arguments.ts';
import { chooseAccount, requireUuid } from './chooseAccount.ts';
import { CommandError } from './commandError.ts';
import { list, print, table, time } from './output.ts';
import { withDatabase } from './withDatabase.ts';

interface CreateOptions {
  account?: string;
  type: KeyType;
  description: string;
  expires?: Date;
  limitUsd?: Nano;
  limitDiem?: Nano;
  limitPeriod: LimitPeriod;
  modelPrivacy: ModelPrivacy;
  parent?: string;
  json?: boolean;
}

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('API keys');
  keys
    .command('create')
    .description('make a key; its secret is shown once and stored only as a hash')
    .option('--account <id>', 'whose key (default: the demo account, or the only one)')
    .addOption(new Option('--type <type>', 'what it may do').choices(KEY_TYPES).default('INFERENCE'))
    .option('--description <text>', 'what it is for, up to 64 characters', '')
    .option('--expires <time>', 'ISO date or time after which it is refused', readFuture)
    .option('--limit-usd <amount>', 'most USD and bundled credit it may spend in a period', readAmount)
    .option('--limit-diem <amount>', 'most diem it may spend in a period', readAmount)
    .addOption(
      new Option('--limit-period <period>', 'a UTC day, a UTC month, or for ever')
        .choices(LIMIT_PERIODS)
        .default('EPOCH'),
    )
    .addOption(
      new Option('--model-privacy <which>', 'which models it may call').choices(MODEL_PRIVACIES).default('ALL'),
    )
    .option('--parent <id>', "the key whose child it becomes: both keys' limits hold for it")
    .option('--json', 'print JSON')
    .action(create);
  keys
    .command('list')
    .description('list keys without their secrets')
    .option('--account <id>', 'whose keys (default: the demo account, or the only one)')
    .option('--json', 'print JSON')
    .action(listAll);
  keys
    .command('revoke')
    .description('revoke a key, at once in every running process')
    .argument('<id>', 'id of the key, as `keys list` shows it')
    .option('--json', 'print JSON')
    .action(revoke);
}

async function create(options: CreateOptions): Promise<void> {
  if (options.description.length > 64) throw new CommandError('--description has at most 64 characters');
  if (options.parent !== undefined && options.type === 'ADMIN') {
    throw new CommandError('--parent is for INFERENCE keys: an ADMIN key could make keys that are bound to nothing');
  }
  const parentId = options.parent === undefined ? null : requireUuid(options.parent, 'the id of a key');
  await withDatabase(async (pool, environment) => {
    const { record, secret } = await makeKey(pool, 'operator', {
      accountId: await chooseAccount(pool, environment, options.account),
      keyType: options.type,
      description: options.description,
      limits: { usd: options.limitUsd ?? null, diem: options.limitDiem ?? null },
      limitPeriod: options.limitPeriod,
      modelPrivacy: options.modelPrivacy,
      expiresAt: options.expires ?? null,
      parentId,
    });
    const answer = { ...view(record), secret };
    print(options, { json: answer, text: `${list(answer)}\n\nThe secret is shown only now.` });
  });
}

async function listAll(options: { account?: string; json?: boolean }): Promise<void> {
  await withDatabase(async (pool, environment) => {
    const accountId = await chooseAccount(pool, environment, options.account);
    const keys = (await listKeys(pool, accountId)).map(view);
    print(options, { json: { accountId, keys }, text: table(keys, 'no keys') });
  });
}

async function revoke(id: string, options: { json?: boolean }): Promise<void> {
  const keyId = requireUuid(id, 'the id of a key');
  await withDatabase(async (pool) => {
    // A database trigger notifies running processes on commit.
    const record = await endAnyKey(pool, keyId);
    if (record === undefined) throw new CommandError(`no key ${keyId}; see \`farebox keys list\``);
    print(options, {
      json: { ...view(record), revokedAt: time(record.revokedAt) },
      text: `revoked ${keyId}`,
    });
  });
}

function view(record: KeyRecord) {
  return {
    id: record.id,
    type: record.keyType,
    ends: `…${record.last6}`,
    ...(record.parentId !== null && { parent: record.parentId }),
    description: record.description,
    limitUsd: limitText(record.limits.usd),
    limitDiem: limitText(record.limits.diem),
    limitPeriod: record.limitPeriod,
    modelPrivacy: record.modelPrivacy,
    createdAt: time(record.createdAt),
    expiresAt: time(record.expiresAt),
    lastUsedAt: time(record.lastUsedAt),
  };
}

function limitText(limit: Nano | null): string | null {
  return limit === null ? null : formatNano(limit);
}
