/** Changes to a payment for tests: its instructions, its transfer, one compiled instruction. */
import type { Address, Instruction } from '@solana/kit';
import type { PaymentRefusalCode } from '../../../../providers/payments/paymentNetwork.ts';
import { type Bend, type Compiled, type TransferParts, transferOf, type World } from './solanaWorld.ts';

export type BendRow = readonly [name: string, code: PaymentRefusalCode, bend: Bend];

/** Changes the instructions of a payment. */
export function list(change: (instructions: Instruction[], world: World) => Instruction[]): Bend {
  return { draft: (draft, world) => ({ ...draft, instructions: change(draft.instructions, world) }) };
}

/** Changes parts of the transfer. */
export function transfer(parts: TransferParts | ((world: World) => TransferParts | Promise<TransferParts>)): Bend {
  return {
    async draft(draft, world) {
      const bent = transferOf(world, typeof parts === 'function' ? await parts(world) : parts);
      const { instructions } = draft;
      return { ...draft, instructions: [...instructions.slice(0, 2), bent, ...instructions.slice(3)] };
    },
  };
}

export function at(index: number, instruction: Instruction | ((world: World) => Instruction)): Bend {
  return list((all, world) => all.with(index, typeof instruction === 'function' ? instruction(world) : instruction));
}

export function added(...more: (Instruction | ((world: World) => Instruction))[]): Bend {
  return list((all, world) => [...all, ...more.map((one) => (typeof one === 'function' ? one(world) : one))]);
}

export function to(
  programAddress: Address,
  accounts: Instruction['accounts'] = [],
  data = Buffer.from([1]),
): Instruction {
  return { programAddress, accounts, data };
}

export function instruction(
  message: Compiled,
  index: number,
  change: Partial<Compiled['instructions'][number]>,
): Compiled {
  const instructions = message.instructions.map((each, at) => (at === index ? { ...each, ...change } : each));
  return { ...message, instructions };
}
