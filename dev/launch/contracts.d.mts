export function compileContracts(): Map<string, string>;
