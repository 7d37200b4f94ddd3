/** Converts SVM errors to the JSON of a validator (the `TransactionError` of its JSON-RPC API). */
import { FailedTransactionMetadata, TransactionMetadata } from 'litesvm';

export { FailedTransactionMetadata, TransactionMetadata };

/** `"BlockhashNotFound"` or `{ InstructionError: [0, { Custom: 1 }] }`. */
export type TransactionFault = string | Record<string, unknown>;

/** Error names by the number in the SVM binding. */
const FAULTS = [
  'AccountInUse AccountLoadedTwice AccountNotFound ProgramAccountNotFound InsufficientFundsForFee InvalidAccountForFee',
  'AlreadyProcessed BlockhashNotFound CallChainTooDeep MissingSignatureForFee InvalidAccountIndex SignatureFailure',
  'InvalidProgramForExecution SanitizeFailure ClusterMaintenance AccountBorrowOutstanding WouldExceedMaxBlockCostLimit',
  'UnsupportedVersion InvalidWritableAccount WouldExceedMaxAccountCostLimit WouldExceedAccountDataBlockLimit',
  'TooManyAccountLocks AddressLookupTableNotFound InvalidAddressLookupTableOwner InvalidAddressLookupTableData',
  'InvalidAddressLookupTableIndex InvalidRentPayingAccount WouldExceedMaxVoteCostLimit',
  'WouldExceedAccountDataTotalLimit MaxLoadedAccountsDataSizeExceeded ResanitizationNeeded',
  'InvalidLoadedAccountsDataSizeLimit UnbalancedTransaction ProgramCacheHitMaxLimit CommitCancelled',
]
  .join(' ')
  .split(' ');

const INSTRUCTION_FAULTS = [
  'GenericError InvalidArgument InvalidInstructionData InvalidAccountData AccountDataTooSmall InsufficientFunds',
  'IncorrectProgramId MissingRequiredSignature AccountAlreadyInitialized UninitializedAccount UnbalancedInstruction',
  'ModifiedProgramId ExternalAccountLamportSpend ExternalAccountDataModified ReadonlyLamportChange',
  'ReadonlyDataModified DuplicateAccountIndex ExecutableModified RentEpochModified NotEnoughAccountKeys',
  'AccountDataSizeChanged AccountNotExecutable AccountBorrowFailed AccountBorrowOutstanding',
  'DuplicateAccountOutOfSync InvalidError ExecutableDataModified ExecutableLamportChange',
  'ExecutableAccountNotRentExempt UnsupportedProgramId CallDepth MissingAccount ReentrancyNotAllowed',
  'MaxSeedLengthExceeded InvalidSeeds InvalidRealloc ComputationalBudgetExceeded PrivilegeEscalation',
  'ProgramEnvironmentSetupFailure ProgramFailedToComplete ProgramFailedToCompile Immutable IncorrectAuthority',
  'AccountNotRentExempt InvalidAccountOwner ArithmeticOverflow UnsupportedSysvar IllegalOwner',
  'MaxAccountsDataAllocationsExceeded MaxAccountsExceeded MaxInstructionTraceLengthExceeded',
  'BuiltinProgramsMustConsumeComputeUnits BorshIoError',
]
  .join(' ')
  .split(' ');

export function faultOf(failed: FailedTransactionMetadata): TransactionFault {
  const error = failed.err();
  if (typeof error === 'number') return FAULTS[error] ?? 'SanitizeFailure';
  if ('err' in error) return { InstructionError: [error.index, instructionFault(error.err())] };
  if ('accountIndex' in error) return { InsufficientFundsForRent: { account_index: error.accountIndex } };
  return { DuplicateInstruction: error.index };
}

function instructionFault(error: number | object): TransactionFault {
  if (typeof error === 'number') return INSTRUCTION_FAULTS[error] ?? 'GenericError';
  return 'code' in error ? { Custom: error.code } : 'BorshIoError';
}
